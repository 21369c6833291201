package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// What a person types finds the key that the function has made, and says which one it is.
func TestAKeyIsFoundAsAPersonTypesIt(t *testing.T) {
	onEachEngine(t, func(n *night) {
		long := strings.Repeat("p-", 1_024)
		for stored, typed := range map[string][]string{
			"p-9":                 {"p-9", `"p-9"`, "payments#p-9"},
			"#123":                {"123", "1.23e2", "#123"},
			"##7":                 {"#7", "##7"},
			`#["c-1","p-1"]`:      {`["c-1", "p-1"]`, `#["c-1","p-1"]`},
			`"legacy"`:            {"legacy", `"legacy"`},
			`it's "odd" #1 $HOME`: {`it's "odd" #1 $HOME`},
			long:                  {long},
			"sha256:abc":          {"sha256:abc"},
		} {
			n.complete(stored)

			for _, text := range typed {
				if code := n.idem("show", "--json", "--", text); code != exitDone {
					n.t.Errorf("%s: exit code %d", shorten(text, maxShown), code)

					continue
				}

				var got found
				if err := json.Unmarshal([]byte(n.lastOut), &got); err != nil || got.Typed != stored || got.By == "" {
					n.t.Errorf("%s: found %q by %q, want %q: %v", shorten(text, maxShown), got.Typed, got.By, stored, err)
				}
			}
		}

		n.idem("show", "p-10")
		n.expect(exitNothing, `for p-10, or "p-10"`, `namespace "payments"`)
		n.idem("show", "--exact", `"p-9"`)
		n.expect(exitNothing)
		n.idem("show", "payments#") // nothing stands behind the namespace
		n.expect(exitNothing)
	})
}

// .ci/consumer tests that a release says its own version.
func TestTheToolSaysItsVersion(t *testing.T) {
	t.Parallel()

	var out strings.Builder

	a := &app{out: &out, log: &out, getenv: func(string) string { return "" }}
	if code := a.run(t.Context(), []string{"--version"}); code != exitDone || out.String() != "idem version "+version()+"\n" || version() == "" {
		t.Errorf("exit code %d: %s", code, out.String())
	}
}

// A list reads in several segments, so its connections are to be kept.
func TestTheToolHasTheClientOfTheLibrary(t *testing.T) {
	t.Parallel()

	a := &app{getenv: func(string) string { return "" }}
	a.flags.region = "eu-west-1"

	cfg, err := a.awsConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	if got, want := fmt.Sprintf("%T", cfg.HTTPClient), fmt.Sprintf("%T", idemddb.HTTPClient()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A text of another language is shown as it is; what a terminal would obey is not.
func TestAShortTextIsShownWithoutWhatATerminalObeys(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]string{
		"Zürich, 100 €": "Zürich, 100 €", "Žižkov ☕": "Žižkov ☕", "\x1b[2Jgone\n": " [2Jgone ", "\u009b2J\x7f": " 2J ", "caf\xe9": "caf\uFFFD",
		"a long text of 26 characters": "a long text of 26 cha… (28 bytes)", "a text that ends in an Ü": "a text that ends in a… (25 bytes)",
	} {
		if got := shorten(text, 21); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// A variable of the environment, perhaps of another day, does not send a change elsewhere than was typed.
func TestTheEndpointThatIsTypedIsUsed(t *testing.T) {
	const typed, ofTables, ofAll = "http://127.0.0.1:1", "http://127.0.0.1:2", "http://127.0.0.1:3"

	for _, test := range []struct{ typed, ofTables, ofAll, tables, streams string }{
		{typed, ofTables, ofAll, typed, typed},
		{typed, "", ofAll, typed, typed},
		{"", ofTables, ofAll, ofTables, ofAll},
		{"", ofTables, "", ofTables, ofTables},
		{"", "", ofAll, ofAll, ofAll},
	} {
		for name, value := range map[string]string{"AWS_ENDPOINT_URL_DYNAMODB": test.ofTables, "AWS_ENDPOINT_URL": test.ofAll} {
			if t.Setenv(name, value); value == "" { // an empty one is one that is set
				if err := os.Unsetenv(name); err != nil {
					t.Fatal(err)
				}
			}
		}

		a := &app{getenv: os.Getenv}
		a.flags.region, a.flags.endpoint = "eu-west-1", test.typed

		cfg, err := a.awsConfig(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		d := connect(cfg)

		tables, streams := aws.ToString(d.client.Options().BaseEndpoint), aws.ToString(streamsOf(d).Options().BaseEndpoint)
		if tables != test.tables || streams != test.streams {
			t.Errorf("%+v: got %s, and %s for streams", test, tables, streams)
		}
	}
}

// An endpoint on this machine takes any credentials. AWS is never asked with borrowed ones, and what somebody has chosen is used.
func TestCredentialsAreBorrowedOnlyWhereNobodyGaveSome(t *testing.T) {
	t.Parallel()

	const local = "http://127.0.0.1:1"

	for name, test := range map[string]struct {
		endpoint, profile string
		env               map[string]string
		borrowed          bool
	}{
		"on this machine":                   {local, "", nil, true},
		"of AWS":                            {"https://dynamodb.eu-west-1.amazonaws.com", "", nil, false},
		"with an access key":                {local, "", map[string]string{"AWS_ACCESS_KEY_ID": "mine"}, false},
		"with a profile that is typed":      {local, "mine", nil, false},
		"with a profile of the environment": {local, "", map[string]string{"AWS_PROFILE": "mine"}, false},
	} {
		a := &app{getenv: func(name string) string { return test.env[name] }}
		a.flags.region, a.flags.endpoint, a.flags.profile = "eu-west-1", test.endpoint, test.profile

		if _, err := a.awsConfig(t.Context()); err != nil && test.profile == "" { // there is no such profile
			t.Errorf("%s: %v", name, err)
		}

		if a.borrowed != test.borrowed {
			t.Errorf("%s: borrowed: %v, want %v", name, a.borrowed, test.borrowed)
		}
	}
}

// A Region that somebody has chosen is used, also where any would do: DynamoDB Local has a database for each.
func TestTheRegionIsTheOneThatWasChosen(t *testing.T) {
	t.Parallel()

	const local, remote = "http://127.0.0.1:1", "https://dynamodb.eu-west-1.amazonaws.com"

	for _, test := range []struct{ endpoint, typed, configured, want string }{
		{local, "eu-west-1", "eu-west-2", "eu-west-1"},
		{local, "", "eu-west-2", "eu-west-2"},
		{local, "", "", "us-east-1"},
		{remote, "", "eu-west-2", "eu-west-2"},
		{remote, "", "", ""},
	} {
		a := &app{getenv: func(string) string { return "" }}
		a.flags.endpoint, a.flags.region = test.endpoint, test.typed

		if got, err := a.region(test.configured); got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%+v: got %q, %v", test, got, err)
		}
	}
}

// A command that idem shows is typed again as it stands.
func TestAnArgumentIsQuotedForTheShell(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]string{
		"p-9": "p-9", "azAZ09_./:@+=,%": "azAZ09_./:@+=,%", "": "''", "it's": `'it'\''s'`,
		"a b": "'a b'", "a;b": "'a;b'", "a`b": "'a`b'", "a[b": "'a[b'", "a{b": "'a{b'", "a~b": "'a~b'", "Zürich": "'Zürich'",
	} {
		if got := quote(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// The beginning of the place says what a target is, and nothing is sent to a place of another kind.
func TestATargetIsAQueueATopicOrAnEventBus(t *testing.T) {
	t.Parallel()

	const queue = "https://sqs.eu-west-1.amazonaws.com/111122223333/payments"

	cfg := aws.Config{Region: "eu-west-1"}

	for target, like := range map[string]idemddb.Sender{
		queue:                  outbox.SQS(sqs.NewFromConfig(cfg), queue),
		"http://localhost/q":   outbox.SQS(sqs.NewFromConfig(cfg), queue),
		"arn:aws:sns:r:1:t":    outbox.SNS(sns.NewFromConfig(cfg), "arn"),
		"events:bus,shop,Paid": outbox.EventBridge(eventbridge.NewFromConfig(cfg), "bus", "shop", "Paid"),
	} {
		made, err := senders(cfg, []string{"captured=" + target})
		if got, want := fmt.Sprintf("%T", made["captured"]), fmt.Sprintf("%T", like); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", target, got, err, want)
		}
	}

	for target, want := range map[string]string{
		"captured": "must be NAME=WHERE", "captured=": "must be NAME=WHERE", "=" + queue: "must be NAME=WHERE",
		"captured=arn:aws:sqs:r:1:q": "WHERE must be", "captured=payments": "WHERE must be", "captured=bus:sns:t": "WHERE must be",
		"captured=events:bus": "an event bus is", "captured=events:bus,shop,Paid,more": "an event bus is",
		"captured=events:,shop,Paid": "an event bus is",
	} {
		if _, err := senders(cfg, []string{target}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", target, err, want)
		}
	}
}

// deskOf is a desk whose endpoint gives the same answer to each request.
func deskOf(t *testing.T, content string) *desk {
	t.Helper()

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if strings.Contains(content, "__type") {
			w.WriteHeader(http.StatusBadRequest)
		}

		fmt.Fprint(w, content)
	}))
	t.Cleanup(server.Close)

	d := connect(aws.Config{
		Region: "eu-west-1", BaseEndpoint: &server.URL, HTTPClient: server.Client(), Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	})

	a := &app{now: time.Now}
	a.flags.table, a.flags.namespace = "records", "payments"

	if err := a.openRecords(d, nil); err != nil {
		t.Fatal(err)
	}

	return d
}

// DynamoDB counts the items of a table every six hours, and a table that is new has none for so long.
func TestProgressNamesTheSizeThatIsKnown(t *testing.T) {
	t.Parallel()

	for answer, want := range map[string]struct {
		text  string
		count int64
	}{
		`{"Table":{"ItemCount":12}}`: {" of about 12", 12}, `{"Table":{"ItemCount":0}}`: {}, `{"Table":{}}`: {}, `{}`: {},
		`{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"}`: {},
	} {
		d := deskOf(t, answer)
		if text, count := size(t.Context(), d), items(t.Context(), d); text != want.text || count != want.count {
			t.Errorf("%s: got %q and %d, want %+v", answer, text, count, want)
		}
	}
}

// A change of a key that can be read in two ways is refused: it might be the wrong one.
func TestAnAmbiguousKeyIsNotChanged(t *testing.T) {
	onEachEngine(t, func(n *night) {
		n.fail("p-9", "one")
		n.fail(`"p-9"`, "two")

		n.idem("reopen", "p-9", "--why", "mended", "--yes")
		n.expect(exitRefused, "--exact")
		n.idem("reopen", "p-9", "--why", "mended", "--yes", "--exact")
		n.expect(exitDone)
		n.idem("show", `"p-9"`, "--exact")
		n.expect(exitDone, "FAILED")
	})
}

// The files that people have: an event of the function's, a message of receive-message.
func TestAKeyIsFoundByItsMessage(t *testing.T) {
	onEachEngine(t, func(n *night) {
		m := events.SQSMessage{
			MessageId: "059f36b4", EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:payments", Body: `{"paymentId":"p-9","customer":{"id":7}}`,
			MessageAttributes: map[string]events.SQSMessageAttribute{"order": {DataType: "String", StringValue: new("o-1")}},
			Attributes:        map[string]string{"MessageDeduplicationId": "d-1", "MessageGroupId": "g-1"},
		}

		event, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{m}})
		if err != nil {
			n.t.Fatal(err)
		}

		file := filepath.Join(n.dir, "event.json")
		if err := os.WriteFile(file, event, 0o600); err != nil {
			n.t.Fatal(err)
		}

		both, err := lambdawrap.Body("paymentId", "customer.id")
		if err != nil {
			n.t.Fatal(err)
		}

		for flags, pick := range map[string]lambdawrap.KeyFunc{
			"": lambdawrap.MessageID, "--key deduplication-id": lambdawrap.DeduplicationID, "--key attribute:order": lambdawrap.Attribute("order"),
			"--path paymentId --path customer.id": both,
		} {
			key, err := pick(n.t.Context(), m)
			if err != nil {
				n.t.Fatal(err)
			}

			n.complete(key)

			if code := n.idem(append([]string{"show", "--json", "--message", file}, strings.Fields(flags)...)...); code != exitDone {
				n.t.Errorf("%s: exit code %d:\n%s", flags, code, n.shown())
			}

			var got found
			if err := json.Unmarshal([]byte(n.lastOut), &got); err != nil || got.Typed != key {
				n.t.Errorf("%s: found %q, want %q: %v", flags, got.Typed, key, err)
			}
		}

		n.idem("show", "--message", file, "--path", "orderId")
		n.expect(exitError, "orderId")
		n.idem("show", "--message", file, "--key", "body")
		n.expect(exitError, "must be message-id")
	})
}

func TestAKeyIsFoundByALogLine(t *testing.T) {
	onEachEngine(t, func(n *night) {
		hashed := n.worker(&idemddb.Options{HashKeys: true})
		if _, _, err := hashed.Claim(n.t.Context(), "anna@example.com", nil); err != nil {
			n.t.Fatal(err)
		}

		n.claim("p-9", "8f6e1c1e")

		n.idem("show", "--hash", record.KeyHash("p-9"))
		n.expect(exitDone, "payments#p-9")
		n.idem("show", "--request", "8f6e1c1e")
		n.expect(exitDone, "last worker    8f6e1c1e")
		n.idem("show", "--hash", record.KeyHash("anna@example.com"))
		n.expect(exitDone, "idem release --why '…' --hash "+record.KeyHash("anna@example.com"))
		n.idem("show", "--hash-keys", "anna@example.com")
		n.expect(exitDone, "found by       the key as given")
		n.idem("fail", "--hash", record.KeyHash("anna@example.com"), "--why", "cancelled", "--yes")
		n.expect(exitDone, ": failed")
		n.idem("show", "--hash", "sha256:AAAAAAAAAAAA")
		n.expect(exitNothing)
	})
}

// Two operators look at the same time, and the change of one of them is refused.
func TestTwoOperatorsAtOnce(t *testing.T) {
	onEachEngine(t, func(n *night) {
		n.fail("p-9", "no such account")

		// The second one answers while the first one is still asked.
		first := &slowAnswer{text: "y\n", before: func() {
			n.idem("reopen", "p-9", "--why", "the account is open", "--by", "ben", "--yes")
			n.expect(exitDone)
		}}
		n.enter(first, "reopen", "p-9", "--why", "the account is open")
		n.expect(exitRefused, "changed meanwhile, look again", "it is released; the last change by an operator is reopen by ben")
	})
}

// A worker that hangs goes on renewing its lease while the operator is asked. That is no reason to look again, but another claim
// is.
func TestAClaimThatWasOnlyRenewedIsChangedAllTheSame(t *testing.T) {
	onEachEngine(t, func(n *night) {
		for change, outcome := range map[string]string{"release": "released", "fail": "failed", "forget": "deleted"} {
			var worker *idemddb.Claim

			meanwhile := func() {
				n.clock.Advance(time.Second)

				if err := worker.Extend(n.t.Context()); err != nil {
					n.t.Fatal(err)
				}
			}

			worker = n.claim(change, "req-1")
			n.enter(&slowAnswer{text: "y\n", before: meanwhile}, change, change, "--why", "its worker hangs")
			n.expect(exitDone, outcome)

			if err := worker.Extend(n.t.Context()); !errors.Is(err, idemddb.ErrFenced) {
				n.t.Errorf("after %s the worker renews its lease: %v", change, err)
			}

			taken := change + "-taken"
			worker = n.claim(taken, "req-1")
			n.enter(&slowAnswer{text: "y\n", before: func() {
				if err := worker.Release(n.t.Context(), nil); err != nil {
					n.t.Fatal(err)
				}

				n.clock.Advance(time.Second)
				n.claim(taken, "req-2")
			}}, change, taken, "--why", "its worker hangs")
			n.expect(exitRefused, "changed meanwhile, look again", "it is held")
		}
	})
}

// slowAnswer is a person who thinks before the answer.
type slowAnswer struct {
	text   string
	before func()
}

func (s *slowAnswer) Read(p []byte) (int, error) {
	if s.before != nil {
		s.before()
		s.before = nil
	}

	count := copy(p, s.text)
	s.text = s.text[count:]

	if count == 0 {
		return 0, errors.New("nothing more is typed")
	}

	return count, nil
}

func TestAChangeAsksBefore(t *testing.T) {
	onEachEngine(t, func(n *night) {
		n.claim("p-9", "")

		n.enter(strings.NewReader("its process hangs\nn\n"), "release", "p-9")
		n.expect(exitRefused, "Why?", "Release it: let the next delivery run the work? [y/N]", "nothing was changed", "WARNING: Its worker may still live")
		n.idem("release", "p-9", "--why", "it hangs")
		n.expect(exitRefused, "there is nobody to ask")
		n.idem("release", "p-9", "--yes")
		n.expect(exitError, "--why: must not be empty")
		n.enter(strings.NewReader("its process hangs\n\n"), "release", "p-9")
		n.expect(exitRefused)
		n.idem("release", "p-9", "--dry-run")
		n.expect(exitDone, "Nothing was changed")
		n.idem("release", "p-9", "--dry-run", "--yes", "--why", "it hangs")
		n.expect(exitDone)
		n.idem("show", "p-9")
		n.expect(exitDone, "HELD")
		n.enter(strings.NewReader("its process hangs\nyes\n"), "release", "p-9")
		n.expect(exitDone, "payments#p-9: released")
		n.idem("show", "p-9")
		n.expect(exitDone, "last change    release by anna, 2026-01-02 03:00:00Z (now): its process hangs")
		n.idem("release", "p-9", "--why", "again", "--yes")
		n.expect(exitRefused, "it is released, and only a claim that a worker holds can be released")
	})
}

func TestManyKeysAtOnce(t *testing.T) {
	onEachEngine(t, func(n *night) {
		for _, key := range []string{"p-1", "p-2", "p-3", "p-4"} {
			n.fail(key, "account anna is closed")
		}

		n.fail("p-5", "amount: must be above 0")
		n.complete("p-6")

		n.idem("reopen", "--all", "--cause", "anna is closed", "--why", "it is open", "--dry-run")
		n.expect(exitDone, "… and 1 more")
		n.enter(strings.NewReader("y\n"), "reopen", "--all", "--cause", "anna is closed", "--why", "it is open")
		n.expect(exitDone, "Reopen each of these 4: let it be claimed again")
		n.idem("list", "failed", "--json")
		n.expect(exitDone)

		if lines := strings.Count(n.lastOut, "\n"); lines != 1 || !strings.Contains(n.lastOut, `"key":"p-5"`) {
			n.t.Errorf("still failed:\n%s", n.lastOut)
		}

		n.idem("reopen", "--all", "--cause", "anna is closed", "--why", "it is open", "--yes")
		n.expect(exitNothing)
		n.idem("reopen", "--all", "--why", "x", "--yes", "--budget", "0.1")
		n.expect(exitError, "this would not be all")
		n.idem("show", "--request", "nobody", "--budget", "0.1")
		n.expect(exitError, "--budget: ended before the whole table was read, and what was read has no such record; raise it")
		n.idem("reopen", "p-6", "p-5", "--why", "both", "--yes")
		n.expect(exitRefused, "payments#p-6: not changed", "payments#p-5: open")
	})
}

// By a clock that is wrong, a worker that lives looks as if it had died.
func TestAWrongClockDoesNotSelectWhoIsStuck(t *testing.T) {
	onEachEngine(t, func(n *night) {
		n.fail("p-8", "no")
		n.claim("p-9", "")
		n.clock.Advance(time.Hour)

		n.aws.set(func(c *cloud) { c.late = -time.Hour })
		n.idem("reopen", "--all", "--why", "the clock does not say what is failed", "--yes")
		n.expect(exitDone, "may be held", "payments#p-8: open")
		n.idem("release", "--all", "--why", "they died", "--yes")
		n.expect(exitRefused, "this machine's clock is off by about")
		n.idem("release", "p-9", "--why", "it died", "--dry-run")
		n.expect(exitDone, "may be held")

		n.aws.set(func(c *cloud) { c.late = 0 })
		n.idem("release", "--all", "--why", "they died", "--yes")
		n.expect(exitDone, "payments#p-9: released")
	})
}

func TestARecordWithMessagesIsNotForgotten(t *testing.T) {
	onEachEngine(t, func(n *night) {
		n.announce("p-9")
		n.complete("p-8")
		n.idem("send", "p-8", "--why", "a test", "--yes")
		n.expect(exitRefused, "payments#p-8: not changed", "it has no messages that are not sent")
		n.idem("forget", "p-9", "--why", "a test", "--yes")
		n.expect(exitRefused, "not changed", "messages that are not sent")
		n.idem("send", "p-9", "--why", "a test", "--yes")
		n.expect(exitError, "0 sent, 1 left", "no sender for the target")
		n.idem("send", "p-9", "--why", "a test", "--yes", "--target", "captured")
		n.expect(exitError, "must be NAME=WHERE")
		n.idem("forget", "p-9", "--why", "a test", "--yes", "--lose-messages")
		n.expect(exitDone, "payments#p-9: deleted")
		n.idem("show", "p-9")
		n.expect(exitNothing)
	})
}

func TestListStopsAndGoesOn(t *testing.T) {
	onEachEngine(t, func(n *night) {
		for i := range 40 {
			n.fail("p-"+string(rune('A'+i)), "no")
		}

		seen := map[string]bool{}
		args := []string{"list", "failed", "--json", "--budget", "4", "--segments", "2"}

		for calls := 0; ; calls++ {
			if n.idem(args...) == exitError || calls > 50 {
				n.t.Fatal(n.shown())
			}

			for line := range strings.Lines(n.lastOut) {
				seen[line] = true
			}

			_, cursor, more := strings.Cut(n.screen.String(), "and: --cursor ")
			n.screen.Reset()

			if !more {
				break
			}

			args = append(args[:7], "--cursor", strings.TrimSpace(cursor))
		}

		if len(seen) != 40 {
			n.t.Errorf("%d of 40", len(seen))
		}

		n.idem("list", "failed", "--limit", "3")
		n.expect(exitDone, "3 found", "raise --limit")
		n.idem("list", "stuck")
		n.expect(exitNothing)
		n.idem("list", "broken")
		n.expect(exitError, `"broken" is no status`)
		n.idem("list", "unsent", "failed")
		n.expect(exitError, "stands alone")
	})
}

func TestThePolicyHasTheActionsThatAreUsed(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	n.idem("policy", "forget", "--table", "records", "--region", "eu-west-1", "--account", "111122223333")
	n.expect(exitDone, `"Action":["dynamodb:GetItem","dynamodb:UpdateItem","dynamodb:DeleteItem"]`, `"arn:aws:dynamodb:eu-west-1:111122223333:table/records"`)
	n.idem("policy", "check", "send", "--function", "pay", "--queue", "orders", "--dead-letter-queue", "dead")
	n.expect(exitDone, `"arn:aws:lambda:*:*:function:pay"`, `["arn:aws:sqs:*:*:orders"]`, `["arn:aws:sqs:*:*:orders","arn:aws:sqs:*:*:dead"]`)

	// Each action that is denied is one of its policy.
	n.fail("p-9", "no")

	for action, args := range map[string][]string{
		"GetItem": {"show", "p-9"}, "Scan": {"list"}, "Query": {"list", "unsent"}, "UpdateItem": {"reopen", "p-9", "--why", "x", "--yes"},
		"DeleteItem": {"forget", "p-9", "--why", "x", "--yes"},
	} {
		n.aws.set(func(c *cloud) { c.denied = action })
		n.idem(args...)
		n.expect(exitError, "AccessDeniedException")

		n.idem("policy")

		if !strings.Contains(n.lastOut, `"dynamodb:`+action+`"`) {
			t.Errorf("%s is in no policy:\n%s", action, n.lastOut)
		}
	}
}

func TestTheCostOfAMonth(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())

	// docs/cost.md: a million messages cost $1.25 on their first run, and $0.625 as duplicates.
	n.idem("cost", "--table", "", "--messages", "1e6", "--duplicates", "1e6")
	n.expect(exitDone, "3000000 WCU", "$1.88")
	n.idem("cost", "--table", "", "--messages", "1e6", "--exact")
	n.expect(exitDone, "4000000 WCU", "$2.50")
	n.idem("cost", "--table", "", "--messages", "1e6", "--exact", "--announcement", "1024")
	n.expect(exitDone, "10000000 WCU")
	n.idem("cost", "--messages", "1e6", "--json")
	n.expect(exitDone, `"write_units":2000000`)
	// A small result is in its record, so that it is stored once.
	n.idem("cost", "--table", "", "--messages", "1073741824", "--retention", "720h", "--result", "1000", "--json")
	n.expect(exitDone, `"stored_gb":1400,`)

	for _, flag := range []string{"--messages", "--duplicates", "--peak", "--result", "--announcement"} {
		n.idem("cost", "--table", "", flag, "-1")
		n.expect(exitError, flag+": must not be negative, is -1")
	}

	for peak, want := range map[string]string{
		"1000":  "The peak is 2000 write units a second; a new table takes 4000.",
		"10000": "For the peak ask for a WarmThroughput of 20000 write units a second: a new table takes 4000.",
		"30000": "a WarmThroughput of 60000 write units a second, and AWS for more than the quota of 40000 for a table.",
	} {
		n.idem("cost", "--table", "", "--peak", peak)
		n.expect(exitDone, want)
	}
}

// A table whose size DynamoDB has not counted yet has records of the usual size.
func TestTheCostOfATableWithoutASizeIsAssumed(t *testing.T) {
	t.Parallel()

	for answer, want := range map[string]string{
		`{"Table":{"ItemCount":2,"TableSizeBytes":5000}}`: "records of 2500 bytes",
		`{"Table":{"ItemCount":0,"TableSizeBytes":0}}`:    "a record of 300 bytes is assumed",
		`{"Table":{"ItemCount":2}}`:                       "a record of 300 bytes is assumed",
		`{"Table":{"TableSizeBytes":5000}}`:               "a record of 300 bytes is assumed",
		`{}`:                                              "a record of 300 bytes is assumed",
	} {
		n := newNight(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }))
		n.idem("cost", "--messages", "1")
		n.expect(exitDone, want)
	}
}

func TestCompletionIsThere(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if n.idem("completion", shell) != exitDone || len(n.lastOut) < 1_000 {
			t.Errorf("%s: %s", shell, n.shown())
		}
	}
}

func TestWatchListsUntilItIsInterrupted(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	n.fail("p-9", "no")
	n.idem("list", "failed", "--watch", "1ns", "--budget", "-1")
	n.expect(exitError, "--budget: must not be negative")

	n.aws.set(func(c *cloud) { c.scans = 3 })
	n.idem("list", "failed", "--watch", "1ms", "--segments", "1")
	n.expect(exitDone, "next in 1ms")

	if strings.Count(n.lastOut, "p-9") < 2 {
		t.Errorf("listed once:\n%s", n.shown())
	}

	n.screen.Reset()
	n.aws.set(func(c *cloud) { c.scans = 3 })
	n.idem("list", "stuck", "--watch", "1ms", "--segments", "1") // there is none yet
	n.expect(exitDone, "next in 1ms")

	if strings.Count(n.screen.String(), "next in") < 2 {
		t.Errorf("listed once:\n%s", n.shown())
	}
}

// A list that takes long says how far it is.
func TestAListThatTakesLongTellsItsProgress(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	n.fail("p-9", "no")

	n.aws.set(func(c *cloud) { c.slow = 1100 * time.Millisecond })

	for _, args := range [][]string{{"list", "failed"}, {"report", "--out", "-", "--no-stream"}} {
		n.screen.Reset()
		n.idem(append(args, "--segments", "1")...)
		n.expect(exitDone)

		if !strings.Contains(n.screen.String(), "read 1 records") || !strings.Contains(n.screen.String(), "found 1, 0.5 read units") {
			t.Errorf("no progress:\n%s", n.screen.String())
		}
	}
}

func TestForgetWarnsOfWhatMayStillArrive(t *testing.T) {
	onEachEngine(t, func(n *night) {
		n.complete("p-9")
		n.idem("forget", "p-9", "--why", "x", "--dry-run")
		n.expect(exitDone, "may write them again")

		n.screen.Reset()
		n.clock.Advance(lateRequest)
		n.idem("forget", "p-9", "--why", "x", "--dry-run")
		n.expect(exitDone)

		if strings.Contains(n.shown(), "WARNING") {
			n.t.Errorf("a warning:\n%s", n.shown())
		}

		n.claim("p-8", "")
		n.idem("forget", "p-8", "--why", "x", "--dry-run")
		n.expect(exitDone, "may then run twice at the same time")
	})
}

// The alarms and the pages name commands that exist, with flags that exist.
func TestWhatThePagesNameExists(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	named := regexp.MustCompile("idem (" + `[a-z]+)((?: [a-zA-Z0-9:#$"'*…._/-]+)*)`)
	count := 0

	for _, file := range []string{"template.yaml", "README.md", "docs/operations.md", "docs/audit.md", "docs/outbox.md", "docs/what-a-message-becomes.md", "docs/http.md", "docs/kinesis.md", "docs/dynamodb-stream.md"} {
		page, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}

		for line := range strings.Lines(string(page)) {
			code := strings.Contains(line, "`idem ") || strings.Contains(line, "$ idem ") || strings.HasSuffix(file, ".yaml")
			for _, m := range named.FindAllStringSubmatch(line, -1) {
				if !code {
					continue
				}

				count++

				if n.idem(m[1], "--help") != exitDone || !strings.Contains(n.lastOut, "idem "+m[1]) {
					t.Errorf("%s: there is no command %q", file, m[1])
				}

				for _, flag := range regexp.MustCompile(`--[a-z-]+`).FindAllString(m[2], -1) {
					if !strings.Contains(n.lastOut, flag) {
						t.Errorf("%s: idem %s has no %s", file, m[1], flag)
					}
				}
			}
		}
	}

	if count < 30 {
		t.Errorf("only %d were found: are they still read?", count)
	}
}
