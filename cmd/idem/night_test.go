package main

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestAListShowsTheOldestFirst(t *testing.T) {
	onEachEngine(t, func(n *night) {
		keys := []string{"p-4", "p-1", "p-3", "p-5", "p-2"}
		for _, key := range keys {
			n.fail(key, "no")
			n.clock.Advance(time.Hour)
		}

		n.idem("list", "failed")
		n.expect(exitDone)

		var shown []string

		for line := range strings.Lines(n.lastOut) {
			if fields := strings.Fields(line); fields[0] == "failed" {
				shown = append(shown, fields[3])
			}
		}

		if got, want := strings.Join(shown, " "), strings.Join(keys, " "); got != want {
			t.Errorf("got %s, want %s:\n%s", got, want, n.shown())
		}
	})
}

func TestAListThatHasReadNothingNamesNoCursor(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	n.fail("p-9", "no")
	n.announce("p-8")

	for action, list := range map[string]string{"Scan": "failed", "GetItem": "unsent"} { // the index has no cursor at all
		n.aws.set(func(c *cloud) { c.denied = action })
		n.idem("list", list)
		n.expect(exitError, action, "AccessDenied")
	}

	if strings.Contains(n.shown(), "--cursor") {
		t.Errorf("got\n%s", n.shown())
	}
}

// What is wrong or missing is named as it was typed: the program speaks of its flags, and not of the fields of a package.
func TestAWrongArgumentIsNamedAsItWasTyped(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	n.fail("p-9", "no")
	n.announce("p-8")
	n.announce("p-7")

	for _, test := range []struct {
		want string
		args []string
	}{
		{"--table: must not be empty", []string{"show", "p-9", "--table", ""}},
		{"--namespace: must not be empty", []string{"show", "p-9", "--namespace", ""}},
		{"namespace: must not hold '#'", []string{"show", "p-9", "--namespace", "a#b"}},
		{"name the record in one way", []string{"show"}},
		{"name the record in one way: ", []string{"show", "p-9", "--hash", "sha256:a-IBemZtKSDe"}},
		{"--hash: must be", []string{"show", "--hash", "a-IB"}},
		{"unknown command", []string{"reopn", "p-9"}},
		{"configuration of AWS: failed to get shared", []string{"show", "p-9", "--profile", "nobody"}},
		{"no part of the policy", []string{"policy", "everything"}},
		{"--messages: must not be negative, is -1", []string{"cost", "--messages", "-1"}},
		{"--messages: must be a number, is NaN", []string{"cost", "--messages", "nan"}},
		{"--peak: must be a number, is +Inf", []string{"cost", "--peak", "inf"}},
		{"--budget: must not be negative, infinite or no number, is NaN", []string{"list", "--budget", "nan"}},
		{"--rate: must not be negative, infinite or no number, is +Inf", []string{"list", "--rate", "inf"}},
		{"--budget: must not be negative, infinite or no number, is +Inf", []string{"show", "--hash", "sha256:123456789012", "--budget", "inf"}},
		{"--namespaces: must be left out or have the namespace of the KEY", []string{"audit", "p-1", "--namespaces", "other"}},
		{"--retention: must not be negative, is -1h0m0s", []string{"cost", "--retention", "-1h"}},
		{`"records" for "idem ttl"`, []string{"ttl", "records"}},
		{`"records" for "idem check"`, []string{"check", "records"}},
		{`"records" for "idem cost"`, []string{"cost", "records"}},

		{"--all: must not be joined", []string{"reopen", "p-9", "--all", "--why", "x"}},
		{"--all: must not be joined with keys", []string{"reopen", "--all", "--hash", "x", "--why", "x"}},
		{"--all: must not be joined with keys", []string{"reopen", "--all", "--message", "x", "--why", "x"}},
		{"--all: must not be joined with keys", []string{"reopen", "--all", "--request", "x", "--why", "x"}},

		{"--budget: must not be negative", []string{"list", "--budget", "-1"}},
		{"--rate: must not be negative", []string{"list", "--rate", "-1"}},
		{"--segments: must be 0 to 1000", []string{"list", "--segments", "1001"}},
		{"--cursor: is none of a list with the same", []string{"list", "--cursor", "gQ"}},
		{"--cursor: is none of a list with the same -", []string{"list", "--cursor", "?"}},
		{"--limit: must not be negative", []string{"list", "--limit", "-1"}},
		{"--watch: must not be negative", []string{"list", "--watch", "-1s"}},
		{"--clock-skew: must not be negative", []string{"list", "--clock-skew", "-1s"}},
		{"raise --budget", []string{"list", "unsent", "--budget", "0.1"}},
		{"--since and --retries: are for idem list twice", []string{"list", "failed", "--since", "2h"}},
		{"--retries: are for idem list twice", []string{"list", "failed", "--retries"}},
		{"--since: must not be negative", []string{"list", "twice", "--since", "-2h"}},
		{"twice stands alone", []string{"list", "twice", "failed"}},

		{"--stream-budget: must not be negative", []string{"report", "--stream-budget", "-1"}},
		{"--out: must not be empty", []string{"report", "--out", ""}},

		{"--table: must not be empty", []string{"audit", "--table", ""}},
		{"--namespace: must not be empty", []string{"audit", "p-9", "--namespace", ""}},
		{"--since: must not be negative, is -1h0m0s", []string{"audit", "--since", "-1h"}},
		{"--budget: must not be negative, is -1", []string{"audit", "--budget", "-1"}},
		{"--quiet: must be positive", []string{"audit", "--quiet", "0"}},
		{"name one key: a KEY or --hash", []string{"audit", "p-9", "--hash", "sha256:Nrs9CSgXRKWb"}},
		{"--hash: must be \"sha256:\" and 12", []string{"audit", "--hash", "Nrs9"}},
		{"--lease: must not be negative, and is -1s", []string{"audit", "--lease", "-1s"}},
		{"--resolution: must not be negative, and is -1s", []string{"audit", "--resolution", "-1s"}},
		{"--clock-skew: must not be negative, and is -1s", []string{"audit", "--namespace", "", "--clock-skew", "-1s"}},
		{"--namespaces: \"a#b\" must not contain '#'", []string{"audit", "--namespaces", "a#b"}},
	} {
		n.screen.Reset()
		n.idem(test.args...)
		n.expect(exitError, test.want)

		for _, leaked := range []string{"operate:", "idemddb:", "Selection.", "Options.", "invalid character", "illegal base64"} {
			if strings.Contains(n.shown(), leaked) {
				t.Errorf("%v: %q is on the screen:\n%s", test.args, leaked, n.shown())
			}
		}
	}
}

// DynamoDB Local has a database for each access key, so the table of others is not there.
func TestAMissingTableBehindBorrowedCredentialsSaysSo(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	n.idem("show", "p-9")
	n.expect(exitNothing)

	if strings.Contains(n.shown(), "-sharedDb") {
		t.Errorf("the table is there:\n%s", n.shown())
	}

	n.idem("show", "p-9", "--table", "another")
	n.expect(exitError, "ResourceNotFoundException", `access key "local"`, "AWS_ACCESS_KEY_ID", "-sharedDb")
}

// Whoever has given credentials reads nothing of others.
func TestAMissingTableBehindOtherCredentialsIsJustMissing(t *testing.T) {
	n := newNight(t, idemddbtest.New(nil).Handler())

	t.Setenv("AWS_ACCESS_KEY_ID", "mine")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "mine")

	var log strings.Builder

	a := &app{log: &log, getenv: os.Getenv}
	code := a.run(t.Context(), []string{"show", "p-9", "--table", "another", "--namespace", "payments", "--endpoint-url", n.aws.endpoint})

	if said := log.String(); code != exitError || !strings.Contains(said, "ResourceNotFoundException") || strings.Contains(said, "-sharedDb") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

func TestTTLIsOnlyShownWithDryRun(t *testing.T) {
	t.Parallel()

	for name, on := range map[string]*types.TimeToLiveDescription{
		"off":               {TimeToLiveStatus: types.TimeToLiveStatusDisabled},
		"another attribute": {TimeToLiveStatus: types.TimeToLiveStatusEnabled, AttributeName: new("ttl")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			n := newNight(t, ttlEngine(t, on))
			n.idem("ttl", "--dry-run")
			n.expect(exitDone, "time to live", "Nothing was changed (--dry-run).")
		})
	}
}

// ttlEngine is a table whose Time to Live can be described and must not be changed.
func ttlEngine(t *testing.T, on *types.TimeToLiveDescription) http.Handler {
	t.Helper()

	engine := idemddbtest.New(nil).Handler()

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch _, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); action {
		case "DescribeTimeToLive":
			answer(w, http.StatusOK, dynamodb.DescribeTimeToLiveOutput{TimeToLiveDescription: on})
		case "UpdateTimeToLive":
			t.Error("Time to Live is changed")
			answer(w, http.StatusBadRequest, map[string]string{})
		default:
			engine.ServeHTTP(w, r)
		}
	})
}
