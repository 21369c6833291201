package audit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/audit"
)

// Each rule that one change can break is broken on purpose.
func TestJudgeFindsWhatBreaksARule(t *testing.T) {
	t.Parallel()

	later := start + 10*ttl*second
	takeoverAt := func(changes attributes) attributes { return but(takenOver(), changes) }

	for name, c := range map[string]struct {
		before, after attributes
		at            int64
		kind          audit.Kind
		rule          audit.Rule
		attribute     string
	}{
		"the two images are of different items": {
			claimed(), but(takenOver(), attributes{"pk": text("payments#p-2")}), start + 40*second, audit.Takeover, audit.RuleKey, "pk",
		},
		"a digest that is none": {
			nil, but(claimed(), attributes{"pk": text("payments#sha256:abc")}), start, audit.NewClaim, audit.RuleKey, "pk",
		},
		"a key that is too long": {
			nil, but(claimed(), attributes{"pk": text("payments#" + strings.Repeat("k", 1025))}), start, audit.NewClaim, audit.RuleKey, "pk",
		},
		"a part with another key": {
			nil, but(partOfResult(), attributes{"pk": partKey("27")}), start, audit.ResultPut, audit.RuleKey, "pk",
		},
		"a part with the key of another image": {
			but(partOfResult(), attributes{"pk": partKey("1")}), partOfResult(), start, audit.ResultPut,
			audit.RuleKey, "pk",
		},
		"a part without an end":            {nil, but(partOfResult(), attributes{"exp": nil}), start, audit.ResultPut, audit.RuleForm, "exp"},
		"a part that is a text":            {nil, but(partOfResult(), attributes{"part": text("a")}), start, audit.ResultPut, audit.RuleForm, "part"},
		"a part that is a nil":             {nil, but(partOfResult(), attributes{"part": (*types.AttributeValueMemberB)(nil)}), start, audit.ResultPut, audit.RuleForm, "part"},
		"a part that is too long":          {nil, but(partOfResult(), attributes{"part": &types.AttributeValueMemberB{Value: make([]byte, 390<<10+1)}}), start, audit.ResultPut, audit.RuleForm, "part"},
		"a part that changes":              {but(partOfResult(), attributes{"part": text("a")}), partOfResult(), start, audit.ResultPut, audit.RuleStays, "part"},
		"a part that ends with its record": {nil, but(partOfResult(), attributes{"exp": num(start/1000 + ttl)}), start, audit.ResultPut, audit.RuleTooLate, "exp"},
		"a part with a state":              {nil, but(partOfResult(), attributes{"st": text("COMPLETED")}), start, audit.ResultPut, audit.RuleState, "st"},
		"a record with a part in it":       {nil, but(claimed(), attributes{"part": num(1)}), start, audit.NewClaim, audit.RuleForm, "part"},
		"another format version":           {nil, but(claimed(), attributes{"v": num(2)}), start, audit.NewClaim, audit.RuleVersion, "v"},
		"a write on another format version": {
			but(done(), attributes{"v": num(2)}), but(anew(), attributes{"v": num(2)}), later, audit.AnewByClaim, audit.RuleSets, "v",
		},
		"a takeover of another format version": {but(claimed(), attributes{"v": num(2)}), takenOver(), start + 40*second, audit.Takeover, audit.RuleCondition, "v"},
		"an attempt as text":                   {nil, but(claimed(), attributes{"att": text("1")}), start, audit.NewClaim, audit.RuleForm, "att"},
		"an error that is too long": {
			claimed(), but(released(), attributes{"err": text(strings.Repeat("e", 257))}), start + second, audit.Release, audit.RuleForm, "err",
		},
		"a token that is none":       {nil, but(claimed(), attributes{"own": text("request/abc")}), start, audit.NewClaim, audit.RuleForm, "own"},
		"a fingerprint that is none": {nil, but(claimed(), attributes{"fp": text("1:abc")}), start, audit.NewClaim, audit.RuleForm, "fp"},
		"a message without a target": {
			claimed(), but(unsent(), attributes{"outbox": list(&types.AttributeValueMemberM{Value: attributes{"i": num(0), "body": text("b")}})}),
			start + second, audit.CompletionWithEffects, audit.RuleForm, "outbox",
		},
		"a message twice": {claimed(), but(unsent(), attributes{"outbox": list(message(0, ""), message(0, ""))}), start + second, audit.CompletionWithEffects, audit.RuleForm, "outbox"},
		"a sealed message that shows its group": {
			claimed(), but(unsent(), attributes{"outbox": list(sealedMessage(0, attributes{"group": text("g")}))}),
			start + second, audit.CompletionWithEffects, audit.RuleForm, "outbox",
		},
		"a sealed result that was not kept": {
			claimed(), but(done(), attributes{"res": &types.AttributeValueMemberM{Value: attributes{"sealed": &types.AttributeValueMemberNULL{Value: true}}}}),
			start + second, audit.Completion, audit.RuleForm, "res",
		},
		"a result that is sealed twice": {
			claimed(), but(done(), attributes{"res": &types.AttributeValueMemberM{Value: attributes{
				"sealed": &types.AttributeValueMemberM{Value: attributes{"sealed": blob("bytes")}},
			}}}), start + second, audit.Completion, audit.RuleForm, "res",
		},
		"an empty outbox":            {unsent(), but(unsent(), attributes{"outbox": list()}), start + 2*second, audit.Removal, audit.RuleForm, "outbox"},
		"a result in progress":       {claimed(), but(takenOver(), attributes{"res": blob("r")}), start + 40*second, audit.Takeover, audit.RuleState, "res"},
		"a completion with err":      {but(claimed(), attributes{"err": text("e")}), but(done(), attributes{"err": text("e")}), start + second, audit.Completion, audit.RuleState, "err"},
		"a completion without done":  {claimed(), but(done(), attributes{"done": nil}), start + second, audit.Completion, audit.RuleState, "done"},
		"a failure without err":      {claimed(), but(failed(), attributes{"err": nil}), start + second, audit.Failure, audit.RuleState, "err"},
		"an outbox without due":      {claimed(), but(unsent(), attributes{"due": nil}), start + second, audit.CompletionWithEffects, audit.RuleState, "due"},
		"an outbox without its end":  {claimed(), but(unsent(), attributes{"ends": nil}), start + second, audit.CompletionWithEffects, audit.RuleState, "ends"},
		"messages, and Time to Live": {claimed(), but(unsent(), attributes{"exp": num(start/1000 + ttl)}), start + second, audit.CompletionWithEffects, audit.RuleState, "exp"},
		"no messages, and no Time to Live": {
			claimed(), but(done(), attributes{"exp": num(far)}), start + second, audit.Completion, audit.RuleState, "exp",
		},
		"a lease that ends after its record": {nil, but(claimed(), attributes{"exp": num(start/1000 + 30)}), start, audit.NewClaim, audit.RuleState, "lease"},
		"due is another time":                {claimed(), but(unsent(), attributes{"due": num(start)}), start + second, audit.CompletionWithEffects, audit.RuleState, "due"},
		"the shard of another namespace":     {claimed(), but(unsent(), attributes{"due_ns": text("orders#1")}), start + second, audit.CompletionWithEffects, audit.RuleState, "due_ns"},
		"a completion drops another program's attribute": {
			but(claimed(), attributes{"note": text("n")}), done(), start + second, audit.Completion, audit.RuleStays, "note",
		},
		"a new claim with an attribute of another program": {nil, but(claimed(), attributes{"note": text("n")}), start, audit.NewClaim, audit.RuleStays, "note"},
		"a record made anew keeps an attribute": {
			but(done(), attributes{"note": text("n")}), but(anew(), attributes{"note": text("n")}), later, audit.AnewByClaim, audit.RuleStays, "note",
		},
		"a record made anew keeps tookat": {but(done(), attributes{"tookat": num(9)}), but(anew(), attributes{"tookat": num(9)}), later, audit.AnewByClaim, audit.RuleStays, "tookat"},
		"an unfenced completion": {
			takenOver(), but(takenOver(), attributes{
				"st": text("COMPLETED"), "done": num(start + 50*second), "exp": num(start/1000 + 50 + ttl), "tookat": num(start + 30*second), "own": owner("W1"),
			}), start + 50*second, audit.Completion, audit.RuleStays, "own",
		},
		"a takeover without a higher fence":    {claimed(), takeoverAt(attributes{"fence": num(start + 1)}), start + 40*second, audit.Takeover, audit.RuleSets, "fence"},
		"a takeover that forgets took":         {claimed(), takeoverAt(attributes{"took": num(0)}), start + 40*second, audit.Takeover, audit.RuleSets, "took"},
		"a takeover that drops err":            {but(claimed(), attributes{"err": text("e")}), takenOver(), start + 40*second, audit.Takeover, audit.RuleStays, "err"},
		"a takeover with its trace as ptrace":  {claimed(), takeoverAt(attributes{"trace": text(trace1), "ptrace": text(trace1)}), start + 40*second, audit.Takeover, audit.RuleSets, "ptrace"},
		"a commit that sets ptrace":            {nil, but(newCommit(), attributes{"trace": text(trace1), "ptrace": text("")}), start + second, audit.Commit, audit.RuleSets, "ptrace"},
		"a commit whose lease is not its time": {nil, but(newCommit(), attributes{"lease": num(start + 30*second)}), start + second, audit.Commit, audit.RuleSets, "lease"},
		"a first claim whose fence is 1":       {nil, but(claimed(), attributes{"fence": num(1)}), start, audit.NewClaim, audit.RuleSets, "fence"},
		"a first claim as second attempt":      {nil, but(claimed(), attributes{"att": num(2)}), start, audit.NewClaim, audit.RuleSets, "att"},
		"a completion that forgets tookat": {
			takenOver(), but(takenOver(), attributes{"st": text("COMPLETED"), "done": num(start + 50*second), "exp": num(start/1000 + 50 + ttl)}),
			start + 50*second, audit.Completion, audit.RuleSets, "tookat",
		},
		"a reopening that forgets took": {
			failed(), but(failed(), attributes{"st": text("INPROGRESS"), "fence": num(start + 2), "lease": num(0), "att": num(0)}),
			start + 60*second, audit.Reopen, audit.RuleSets, "took",
		},
		"a return that stays held":      {claimed(), but(claimed(), attributes{"lease": num(-1), "att": num(0)}), start + second, audit.Return, audit.RuleSets, "lease"},
		"a removal that lowers the end": {unsent(), but(done(), attributes{"tx": text(txA), "exp": num(start/1000 + ttl)}), start + 2*second, audit.Removal, audit.RuleSets, "exp"},
		"a removal that moves ends":     {unsent(), but(unsent(), attributes{"outbox": list(message(2, "")), "ends": num(start/1000 + 5*ttl)}), start + 2*second, audit.Removal, audit.RuleSets, "ends"},
		"a removal that changes a message": {
			unsent(), but(unsent(), attributes{"outbox": list(&types.AttributeValueMemberM{Value: attributes{"i": num(0), "to": text("other"), "body": text("b")}})}),
			start + 2*second, audit.Removal, audit.RuleCondition, "outbox",
		},
		"a removal of another completion": {unsent(), but(unsent(), attributes{"outbox": list(message(2, "")), "tx": text(digits + "T2")}), start + 2*second, audit.Removal, audit.RuleStays, "tx"},
		"an operator's release under NoTakeover that makes the next claim end the key": {
			but(claimed(), attributes{"nt": num(1)}), but(claimed(), attributes{"nt": num(1), "lease": num(-1), "op": op("release", start)}), start,
			audit.OperatorRelease, audit.RuleSets, "lease",
		},
		"an operator's release that does not say so": {claimed(), but(claimed(), attributes{"lease": num(-1)}), start, audit.OperatorRelease, audit.RuleSets, "op"},
		"a stamp that says release":                  {done(), but(done(), attributes{"op": op("release", start)}), start, audit.Stamp, audit.RuleSets, "op"},
		"a takeover with NoTakeover":                 {claimed(), takeoverAt(attributes{"nt": num(1)}), start + 40*second, audit.Takeover, audit.RuleCondition, "nt"},
		"a takeover with another fingerprint": {
			but(claimed(), attributes{"fp": text(printA)}), takeoverAt(attributes{"fp": text(printB)}), start + 40*second, audit.Takeover, audit.RuleCondition, "fp",
		},
		"a completion of a released claim": {
			released(), but(done(), attributes{"lease": num(0)}), start + 2*second, audit.Completion, audit.RuleCondition, "lease",
		},
		"an extension of a released claim": {released(), but(released(), attributes{"lease": num(start + 30*second)}), start + 2*second, audit.Extension, audit.RuleCondition, "lease"},
		"a completion of a failed key":     {failed(), but(done(), nil), start + 2*second, audit.Completion, audit.RuleCondition, "st"},
		"a second completion":              {done(), but(done(), attributes{"done": num(start + 2*second), "res": blob("again")}), start + 2*second, audit.Completion, audit.RuleCondition, "st"},
		"a failure of a completed key":     {done(), but(done(), attributes{"st": text("FAILED"), "err": text("e"), "done": nil, "res": nil}), start + 2*second, audit.Failure, audit.RuleCondition, "st"},
		"a reopening of a completed key": {
			done(), but(claimed(), attributes{"lease": num(0), "att": num(0), "fence": num(start + 2), "took": num(-1)}), start + 2*second,
			audit.Reopen, audit.RuleCondition, "st",
		},
		"a completion that creates the item":           {nil, done(), start + second, audit.Commit, audit.RuleSets, "tx"},
		"a message put back into a record without any": {but(done(), attributes{"tx": text(txA)}), but(unsent(), attributes{"ends": nil, "exp": done()["exp"]}), start + 2*second, audit.Removal, audit.RuleCondition, "outbox"},
		"a takeover of a claim that is held": {
			claimed(), takeoverAt(attributes{"lease": num(start + 59*second), "exp": num(start/1000 + 29 + ttl)}), start + 29*second,
			audit.Takeover, audit.RuleLease, "lease",
		},
		"a give-up of a claim that is held": {
			takenOver(), but(takenOver(), attributes{"st": text("FAILED"), "err": text("e")}), start + 50*second, audit.GiveUp, audit.RuleLease, "lease",
		},
		"a record made anew before its end": {but(done(), attributes{"exp": num(later/1000 + 9)}), anew(), later, audit.AnewByClaim, audit.RuleEnd, "exp"},
		"a record made anew while it is held": {
			but(claimed(), attributes{"lease": num(later + 20*second)}), anew(), later, audit.AnewByClaim, audit.RuleLease, "lease",
		},
		"a claim by update past the end": {released(), but(takenOver(), attributes{
			"prev": num(0), "took": num(0), "err": text("the bank is away"), "lease": num(later + 30*second), "exp": num(later/1000 + ttl),
		}), later, audit.ClaimAgain, audit.RulePastEnd, "exp"},
		"a clock that is ahead":           {nil, claimed(), start - 2*second, audit.NewClaim, audit.RuleAhead, "born"},
		"a clock that is ahead, by done":  {claimed(), done(), start - 2*second, audit.Completion, audit.RuleAhead, "done"},
		"a clock that is ahead, by lease": {claimed(), takenOver(), start + 30*second + 500, audit.Takeover, audit.RuleAhead, "lease"},
		"an operator's clock that is ahead": {
			claimed(), but(claimed(), attributes{"lease": num(-1), "op": op("release", start+2*second)}), start, audit.OperatorRelease, audit.RuleAhead, "op",
		},
		"a sender's clock that is ahead": {
			unsent(), but(done(), attributes{"tx": text(txA), "exp": num(start/1000 + 10*ttl)}), start + ttl*second, audit.Removal, audit.RuleAhead, "exp",
		},
		"a request that is too old": {nil, claimed(), start + 1000*second, audit.NewClaim, audit.RuleTooLate, "born"},
		"a deletion by somebody":    {done(), nil, start, audit.Deletion, audit.RuleDeletion, ""},
		"a deletion after a send":   {but(done(), attributes{"op": op("send", start)}), nil, start, audit.Deletion, audit.RuleDeletion, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got := audit.Judge(audit.Change{Before: c.before, After: c.after, Time: at(c.at)}, audit.Options{Lease: 30 * time.Second})
			isFound := false

			for _, v := range got.Violations {
				isFound = isFound || v.Rule == c.rule && v.Attribute == c.attribute
			}

			if got.Kind != c.kind || !isFound {
				t.Errorf("got %q, want %q with %s %s%s", got.Kind, c.kind, c.rule, c.attribute, told(got.Violations))
			}
		})
	}
}

func TestTimeToLiveDeletesOnlyWhatIsPastItsEnd(t *testing.T) {
	t.Parallel()

	end := start + (ttl+1)*second

	for name, c := range map[string]struct {
		change  audit.Change
		options audit.Options
		isFound bool
	}{
		"at the end":                               {audit.Change{Before: done(), Time: at(end)}, audit.Options{}, false},
		"before the end":                           {audit.Change{Before: done(), Time: at(end - second)}, audit.Options{}, true},
		"in the second before the end":             {audit.Change{Before: done(), Time: at(end - second)}, audit.Options{Resolution: time.Second}, false},
		"with messages":                            {audit.Change{Before: unsent(), Time: at(end)}, audit.Options{}, true},
		"with messages, when times are not judged": {audit.Change{Before: parked()}, audit.Options{}, true},
		"when the time is not known":               {audit.Change{Before: done()}, audit.Options{}, false},
		"when times are not judged":                {audit.Change{Before: done(), Time: at(start)}, audit.Options{Untimed: true}, false},
	} {
		c.change.ByTimeToLive = true

		got := audit.Judge(c.change, c.options)
		if got.Kind != audit.TimeToLive || has(got.Violations, audit.RuleTimeToLive) != c.isFound || len(got.Violations) > 1 {
			t.Errorf("%s: got %q%s", name, got.Kind, told(got.Violations))
		}
	}
}

// Each segment of a part's key has its form: the digest of the key, the owner token, the digest of the result, and the number.
func TestAPartIsWhereTheRecordLooksForIt(t *testing.T) {
	t.Parallel()

	right := partKey("2").(*types.AttributeValueMemberS).Value
	for _, segment := range []struct{ old, wrong string }{
		{"glTDKakoUPbVOd03b0gW7idkUX2l4CNVFK9DMWRIDXo", strings.Repeat("!", 43)},
		{"Q5B7ZK4X2M6R3T1V8Y9W0NHJCE", "Q5B7"},
		{"/B_tPM6o8jVSt3Ee9", "/B_tPM"},
		{"/B_tPM6o8jVSt3Ee9", ""},
		{"/2", "/two"},
		{"/2", "/0"},
		{"/2", "/27"},
	} {
		key := strings.Replace(right, segment.old, segment.wrong, 1)
		if key == right {
			t.Fatalf("%s is not in the key", segment.old)
		}

		got := audit.Judge(audit.Change{After: but(partOfResult(), attributes{"pk": text(key)}), Time: at(start)}, audit.Options{})
		if len(got.Violations) != 1 || got.Violations[0].Rule != audit.RuleKey {
			t.Errorf("%s: got %q%s, want a violation of the rule of keys", key, got.Kind, told(got.Violations))
		}
	}
}

// The names of a table's attributes are those of the options, and an attribute of the page's name is then another program's.
func TestAttributesHaveTheNamesOfTheTable(t *testing.T) {
	t.Parallel()

	options := audit.Options{PartitionKey: "id", SortKey: "kind", TTLAttribute: "ttl"}
	rename := func(record attributes, kind string) attributes {
		return but(record, attributes{
			"pk": nil, "exp": nil, "id": record["pk"], "ttl": record["exp"], "kind": text(kind),
		})
	}
	before, after := rename(claimed(), "idemddb"), rename(takenOver(), "idemddb")

	got := audit.Judge(audit.Change{Before: before, After: after, Time: at(start + 40*second)}, options)
	if got.Kind != audit.Takeover || len(got.Violations) > 0 || got.Partition != "payments#p-1" {
		t.Errorf("got %q of %q%s", got.Kind, got.Partition, told(got.Violations))
	}

	got = audit.Judge(audit.Change{Before: before, After: but(after, attributes{"ttl": nil, "exp": num(1)}), Time: at(start + 40*second)}, options)
	if len(got.Violations) != 2 || got.Violations[0].Attribute != "ttl" || got.Violations[1].Attribute != "exp" {
		t.Errorf("got %s", told(got.Violations))
	}

	got = audit.Judge(audit.Change{After: rename(claimed(), "invoice"), Time: at(start)}, options)
	if got.Kind != audit.NoRecord {
		t.Errorf("an item with another sort key: got %q", got.Kind)
	}
}

func TestWhatIsARecord(t *testing.T) {
	t.Parallel()

	odd := attributes{"pk": text("payments#p-1"), "st": text("COMPLETED"), "exp": num(1)}

	for name, c := range map[string]struct {
		item       attributes
		namespaces []string
		isRecord   bool
	}{
		"the shape of a record":                       {claimed(), nil, true},
		"a record that somebody has damaged":          {but(claimed(), attributes{"st": nil, "v": nil}), nil, true},
		"a remainder":                                 {odd, nil, false},
		"a remainder in a namespace":                  {odd, []string{"orders", "payments"}, true},
		"the shape of a record, in another namespace": {claimed(), []string{"orders"}, false},
		"a partition key that is no string":           {but(claimed(), attributes{"pk": num(1)}), nil, false},
	} {
		got := audit.Judge(audit.Change{After: c.item, Time: at(start)}, audit.Options{Namespaces: c.namespaces})
		if isRecord := got.Kind != audit.NoRecord; isRecord != c.isRecord {
			t.Errorf("%s: got %q", name, got.Kind)
		}
	}
}

// A text has no key, no payload and no text of a failure, because it goes into logs.
func TestTextsHaveNoPayload(t *testing.T) {
	t.Parallel()

	change := audit.Change{Before: but(unsent(), attributes{"note": text("secret")}), After: but(failed(), attributes{
		"pk": text("payments#secret"), "err": text("secret"), "res": text("secret"), "outbox": text("secret"), "op": text("secret"), "v": text("secret"),
	}), Time: at(start)}
	checker := newChecker(t, audit.Options{})
	got := checker.Check(change)

	if len(got.Violations) < 5 {
		t.Errorf("too few are found:%s", told(got.Violations))
	}

	for _, s := range []string{told(got.Violations), checker.Report().Err().Error(), checker.Story("payments#secret"), checker.Report().String()} {
		if s == "" || strings.Contains(s, "secret") {
			t.Errorf("got %q", s)
		}
	}
}

// The page does not say how the time in op is written.
func TestTheTimeOfAnOperatorIsANumberOrAText(t *testing.T) {
	t.Parallel()

	const before, after = `{"what":"send","by":"anna","why":"","id":"1","at":`, `}`

	for at, isTime := range map[string]bool{
		"1893456000000": true, `"2030-01-01T00:00:00Z"`: true, `"2030-01-01T00:00:00.5Z"`: true, `"today"`: false, "0": false, "null": false, "[]": false,
	} {
		record := but(done(), attributes{"op": text(before + at + after)})

		got := audit.Judge(audit.Change{Before: done(), After: record, Time: time.UnixMilli(start + 500)}, audit.Options{})
		if isTime != (len(got.Violations) == 0) {
			t.Errorf("%s: got %q%s", at, got.Kind, told(got.Violations))
		}
	}

	for _, bad := range []string{`{}`, `{"what":"send","by":"anna","why":"","id":"","at":1}`, before + `1,"more":1` + after, before + "1" + after + "x", ""} {
		record := but(done(), attributes{"op": text(bad)})
		if got := audit.Judge(audit.Change{Before: done(), After: record}, audit.Options{}); !has(got.Violations, audit.RuleForm) {
			t.Errorf("%s: got %q%s", bad, got.Kind, told(got.Violations))
		}
	}
}
