package functions_test

import (
	"bytes"
	"crypto/md5"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

// The functions as they are built and deployed, on the template's environment: payments through every end that a message can
// have, the API through every answer, then the relay with what both left unsent, then the auditor with all changes of the
// records. What they send, how long they mean a record to last, and what they write to their logs.
func TestTemplateAgainstTheProgram(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("building and linking programs costs more than all else of this package")
	}

	p := runPrograms(t)

	t.Run("passes on each payment that was accepted, once", func(t *testing.T) {
		t.Parallel()
		checkPassedOn(t, p.cloud, p.asked)
	})
	t.Run("announces each payment that was made, once", func(t *testing.T) {
		t.Parallel()
		checkAnnounced(t, p.cloud)
	})
	t.Run("grants what is sent and nothing more", func(t *testing.T) { t.Parallel(); p.checkRoles(t) })
	t.Run("expires the attribute that is written", func(t *testing.T) { t.Parallel(); p.checkTTL(t) })
	t.Run("keeps its clocks in order", func(t *testing.T) {
		t.Parallel()
		checkClocks(t, p.template, p.cloud.retention(t))
	})
	t.Run("logs a line for each message that ends badly", func(t *testing.T) {
		t.Parallel()
		checkLog(t, p.paid)
		checkAPILog(t, p.asked)
		checkSweepLog(t, p.swept)
		checkAuditLog(t, p.cloud, p.judged)
	})
	t.Run("logs nothing of what is in a message", func(t *testing.T) {
		t.Parallel()
		checkSecrets(t, p.paid)
		checkSecrets(t, p.asked)
		checkSecrets(t, p.swept)
		checkSecrets(t, p.judged)
	})
	t.Run("writes the metrics of each batch and sweep, and has alarms on none but these", func(t *testing.T) {
		t.Parallel()
		checkMetrics(t, p.paid)
		checkAlarmedMetrics(t, p.template, p.paid, p.asked, p.swept, p.judged)
		checkShownMetrics(t, p.template, p.paid, p.asked, p.swept, p.judged)
		checkAuditMetrics(t, p.cloud, p.judged)
	})
	t.Run("has queries for what is in the logs", func(t *testing.T) {
		t.Parallel()
		checkQueries(t, p.template, p.paid)
	})
}

// programs is what the functions did.
type programs struct {
	template template
	cloud    *fakeAWS

	paid, asked, swept, judged            story // of payments, the API, the relay and the auditor
	ofPayments, ofAPI, ofRelay, ofAuditor map[string]map[string]bool
}

// runPrograms runs the functions, and demands their answers.
func runPrograms(t *testing.T) *programs {
	t.Helper()

	p := &programs{template: readTemplate(t), cloud: newAWS(t)}

	p.paid = p.cloud.payments(t, p.template)
	p.ofPayments = p.cloud.takeActions()
	p.asked = p.cloud.api(t, p.template)
	p.ofAPI = p.cloud.takeActions()
	p.swept = p.cloud.relay(t, p.template)
	p.ofRelay = p.cloud.takeActions()
	p.judged = p.cloud.audit(t, p.template)
	p.ofAuditor = p.cloud.takeActions()

	failed := `{"batchItemFailures":[{"itemIdentifier":"m-1"}]}`
	done := `{"batchItemFailures":[]}`
	three := `{"batchItemFailures":[{"itemIdentifier":"m-1"},{"itemIdentifier":"m-2"},{"itemIdentifier":"m-3"}]}`

	if diff := cmp.Diff([]string{failed, done, done, three, failed, done, failed, failed, failed, done, done, done}, p.paid.answers); diff != "" {
		t.Fatalf("answers (-want +got):\n%s\n%s", diff, p.paid.printed)
	}

	if len(p.swept.answers) != 2 || p.swept.answers[0] != "null" || !strings.Contains(p.swept.answers[1], "incomplete") {
		t.Fatalf("answers of the relay: %q, want none and an error\n%s", p.swept.answers, p.swept.printed)
	}

	if diff := cmp.Diff([]int{202, 202, 422, 400, 400, 401, 202, 202, 409}, statuses(t, p.asked)); diff != "" {
		t.Fatalf("statuses of the API (-want +got):\n%s\n%s", diff, p.asked.printed)
	}

	return p
}

func (p *programs) checkRoles(t *testing.T) {
	t.Helper()

	checkActions(t, p.template.statements("PaymentsRole"), p.ofPayments, map[string][]string{
		"PaymentsQueue.Arn": {"sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"},
		"PaymentsLogs.Arn":  {"logs:CreateLogStream", "logs:PutLogEvents"},
	})
	checkActions(t, p.template.statements("ApiRole"), p.ofAPI, map[string][]string{
		"ApiLogs.Arn": {"logs:CreateLogStream", "logs:PutLogEvents"},
		// PartiQL: several requests at a time. GetItem: of an answer of more than 32 KB, which this API does not have, and one that is
		// made of it may
		"RecordTable.Arn": {"dynamodb:PartiQLInsert", "dynamodb:PartiQLUpdate", "dynamodb:PartiQLSelect", "dynamodb:GetItem"},
	})
	checkActions(t, p.template.statements("RelayRole"), p.ofRelay, map[string][]string{
		"RelayLogs.Arn": {"logs:CreateLogStream", "logs:PutLogEvents"},
	})
	checkActions(t, p.template.statements("AuditorRole"), p.ofAuditor, map[string][]string{
		"RecordTable.StreamArn": {"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams"},
		"AuditorLogs.Arn":       {"logs:CreateLogStream", "logs:PutLogEvents"},
	})
}

func (p *programs) checkTTL(t *testing.T) {
	t.Helper()

	ttl := p.template.Resources["RecordTable"].Properties.TimeToLiveSpecification
	schema := idemddbtest.CreateTable("records", "")

	if !ttl.Enabled || ttl.AttributeName != "exp" {
		t.Errorf("TTL on %q, enabled %v: want exp, true", ttl.AttributeName, ttl.Enabled)
	}

	for _, item := range p.cloud.db.Items("RecordTable") {
		if _, ok := item[ttl.AttributeName].(*types.AttributeValueMemberN); !ok {
			t.Errorf("a record has no number in %q, the template's TTL attribute: %v", ttl.AttributeName, item)
		}

		if _, ok := item[*schema.KeySchema[0].AttributeName]; !ok {
			t.Errorf("a record has no key %q", *schema.KeySchema[0].AttributeName)
		}
	}
}

// checkActions compares what a role grants with what was sent, and with what Lambda does on the function's behalf.
func checkActions(t *testing.T, granted []statement, sent map[string]map[string]bool, want map[string][]string) {
	t.Helper()

	got := map[string][]string{}

	for _, s := range granted {
		if s.Condition == "" {
			got[s.Resource[0]] = append(got[s.Resource[0]], s.Action...)
		}
	}

	for resource, actions := range sent {
		want[resource] = slices.AppendSeq(want[resource], maps.Keys(actions))
	}

	for _, actions := range []map[string][]string{got, want} {
		for _, list := range actions {
			slices.Sort(list)
		}
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("actions by resource (-sent by the code +granted by the template):\n%s", diff)
	}
}

// checkAnnounced wants an announcement for each entry in the ledger, under one id each, but for the one that was parked.
func checkAnnounced(t *testing.T, cloud *fakeAWS) {
	t.Helper()

	entries := 0

	for _, item := range cloud.db.Items("LedgerTable") {
		if key, _ := item["pk"].(*types.AttributeValueMemberS); strings.HasPrefix(key.Value, "payment#") {
			entries++
		}
	}

	ids := slices.Sorted(slices.Values(cloud.sent[capturedARN]))
	if got := len(slices.Compact(slices.Clone(ids))); got != entries-1 || len(ids) != got {
		t.Errorf("%d entries, announced %v: want one for each, and one is parked", entries, ids)
	}
}

func checkClocks(t *testing.T, template template, retention time.Duration) {
	t.Helper()

	var (
		queue    = template.Resources["PaymentsQueue"].Properties
		receives = template.Parameters["MaxReceiveCount"]
		timeouts = template.Parameters["FunctionTimeout"]
		windows  = template.Parameters["BatchingWindow"]
		oldest   = template.Parameters["OldestMessageSeconds"]

		usual   = seconds(timeouts.Default.int(t)) // the function's time-out
		kept    = seconds(queue.MessageRetentionPeriod)
		letters = seconds(template.Resources["PaymentsDeadLetters"].Properties.MessageRetentionPeriod)
		longest time.Duration // that a message is hidden
	)

	if got, want := queue.VisibilityTimeout, text("[Clocks, FunctionTimeout, BatchingWindow]"); got != want {
		t.Errorf("messages are hidden for %s, want %s", got, want)
	}

	if diff := cmp.Diff(slices.Sorted(maps.Keys(template.Mappings.Clocks)), slices.Sorted(slices.Values(timeouts.AllowedValues))); diff != "" {
		t.Errorf("time-outs (-in Clocks +allowed):\n%s", diff)
	}

	for timeout, clocks := range template.Mappings.Clocks {
		n := seconds(text(timeout).int(t))

		if diff := cmp.Diff(slices.Sorted(maps.Keys(clocks)), slices.Sorted(slices.Values(windows.AllowedValues))); diff != "" {
			t.Errorf("batching windows (-in Clocks +allowed):\n%s", diff)
		}

		for window, hidden := range clocks {
			longest = max(longest, seconds(hidden))

			if got, want := seconds(hidden), 6*n+seconds(text(window).int(t)); got != want {
				t.Errorf("a time-out of %v hides messages for %v, want six times that and the batching window of %s s: %v", n, got, window, want)
			}
		}
	}

	hidden := seconds(template.Mappings.Clocks[string(timeouts.Default)][string(windows.Default)])

	for _, c := range []struct {
		why         string
		short, long time.Duration
	}{
		{"the pause of a payment ends before the function is stopped", time.Duration(template.Parameters["PauseMs"].MaxValue) * time.Millisecond, usual},
		{"the outage that the template states ends before a payment is a dead letter", outlasted, shortestRetryTime(receives.Default.int(t))},
		{"8 receives outlast 2 minutes", 2 * time.Minute, shortestRetryTime(8)},
		{"10 receives outlast 8 minutes", 8 * time.Minute, shortestRetryTime(10)},
		{"12 receives outlast 23 minutes", 23 * time.Minute, shortestRetryTime(12)},
		{"three receives, after which SQS leaves a message out of the age, before the alarm on it", 3 * hidden, seconds(oldest.Default.int(t))},
		{"so with all time-outs that may have that alarm", 3 * seconds(template.Mappings.Clocks["60"]["20"]), seconds(oldest.Default.int(t))},
		{"the alarm on the oldest message comes before its end, whatever it is set to", seconds(oldest.MaxValue), kept},
		{"a message is received as often as it may before its retention ends", time.Duration(receives.MaxValue) * longest, kept},
		{"a message that moves to the dead-letter queue, where its age goes on, has time left", kept, letters},
		{"a sweep ends before the next one begins", seconds(text(template.functions["Relay"].Timeout).int(t)), time.Minute},
		{"an announcement that was not sent at once is swept before it raises an alarm", 2 * time.Minute, seconds(template.Parameters["OldestUnsentSeconds"].Default.int(t))},
		{"the alarm on the oldest unsent comes before it is parked", seconds(template.Parameters["OldestUnsentSeconds"].MaxValue), 7 * 24 * time.Hour},
		{"a record outlives a dead letter that is redriven on its last day and waits in the queue again", letters + kept, retention},
	} {
		if c.short <= 0 || c.short >= c.long {
			t.Errorf("%s: %v against %v", c.why, c.short, c.long)
		}
	}

	checkRules(t, template)
}

// checkRules compares what a deployment is refused for.
func checkRules(t *testing.T, template template) {
	t.Helper()

	got := map[string][]text{}

	for name, rule := range template.Rules {
		got[name] = []text{rule.RuleCondition}
		for _, a := range rule.Assertions {
			got[name] = append(got[name], a.Assert)
		}
	}

	want := map[string][]text{
		"FewReceivesAreForTests":         {"[[FunctionTimeout, 5]]", "[[Fn::Contains, [[1, 2, 3, 4, 5, 6, 7], MaxReceiveCount]]]"},
		"ProductionIsNoTest":             {"[DeletionProtection, true]", "[PauseMs, 0]", "[[FunctionTimeout, 5]]", "[UnverifiedCaller, ]", "[[AlarmTopicArn, ]]"},
		"LargeBatchesAreCollected":       {"[[Fn::Contains, [[1, 2, 5, 10], BatchSize]]]", "[[BatchingWindow, 0]]"},
		"LongTimeoutsRaiseTheAlarmLater": {"[Fn::Contains, [[120, 180, 300, 600, 900], FunctionTimeout]]", "[[OldestMessageSeconds, 1800]]"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// fakeAWS answers as DynamoDB does, takes what other services are sent, and remembers the IAM actions that this took, by
// resource.
type fakeAWS struct {
	db     *idemddbtest.DB
	server *httptest.Server

	mu       sync.Mutex
	actions  map[string]map[string]bool
	faults   map[string]string // :: resource → the error that requests to it get
	cut      string            // the resource whose next answer is cut in the middle
	atLedger func()            // called once, when a payment is about to be added to its account

	sent map[string][]string // :: queue's resource → the ids of the messages that it accepted

	changes []audit.Change // of the table of records, as its stream has them
	edits   int            // of them, those that a test made by hand
}

func newAWS(t *testing.T) *fakeAWS {
	t.Helper()

	db := audited.Tables(t, nil, idemddbtest.CreateTable("RecordTable", "unsent"), idemddbtest.CreateTable("LedgerTable", ""))
	a := &fakeAWS{db: db, faults: map[string]string{}, actions: map[string]map[string]bool{}, sent: map[string][]string{}}

	judged := audited.DB(t, a.db, nil, audit.Options{})
	a.db.OnChange(func(c idemddbtest.Change) {
		judged.See(c)

		if c.Table == "RecordTable" {
			a.changes = append(a.changes, audit.Change{Before: c.Before, After: c.After, Time: c.Time, ByTimeToLive: c.ByTimeToLive})
		}
	})

	a.server = httptest.NewServer(a)
	t.Cleanup(a.server.Close)

	return a
}

func (a *fakeAWS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet { // by Warm: it is not signed, and needs no action
		return
	}

	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	needs := needed(r.Header.Get("X-Amz-Target"), body)

	a.mu.Lock()
	defer a.mu.Unlock()

	var (
		fault string
		cut   bool
	)

	for _, n := range needs {
		if a.actions[n.resource] == nil {
			a.actions[n.resource] = map[string]bool{}
		}

		a.actions[n.resource][n.action] = true

		if f := a.faults[n.resource]; f != "" {
			fault = f
		}

		if n.resource == a.cut {
			a.cut, cut = "", true
		}

		if n.resource == ledgerARN && a.atLedger != nil {
			a.atLedger()
			a.atLedger = nil
		}
	}

	switch {
	case cut:
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"Item`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler) // net/http closes the connection
	case fault != "":
		reply := fmt.Appendf(nil, `{"__type":"com.amazonaws.dynamodb.v20120810#%s"}`, fault)
		w.Header().Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(reply)), 10)) // without this header the SDK logs a warning
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(reply)
	case strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".SendMessageBatch"):
		_, _ = w.Write(a.accept(needs[0].resource, body))
	case strings.HasPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_"):
		a.db.Handler().ServeHTTP(w, r)
	default:
		_, _ = io.WriteString(w, "{}")
	}
}

// accept takes messages as a queue of SQS does.
func (a *fakeAWS) accept(queue string, body []byte) []byte {
	var in struct {
		Entries []struct {
			ID                string `json:"Id"`
			MessageBody       string
			MessageAttributes map[string]struct{ StringValue string }
		}
	}

	_ = json.Unmarshal(body, &in)
	accepted := []map[string]string{}

	for _, e := range in.Entries {
		a.sent[queue] = append(a.sent[queue], e.MessageAttributes["idemddb-id"].StringValue)
		accepted = append(accepted, map[string]string{
			"Id": e.ID, "MessageId": "m", "MD5OfMessageBody": fmt.Sprintf("%x", md5.Sum([]byte(e.MessageBody))),
		})
	}

	out, err := json.Marshal(map[string][]map[string]string{"Successful": accepted})
	if err != nil {
		panic(err) // a text can always be encoded
	}

	return out
}

// takeActions returns the actions so far, and forgets them.
func (a *fakeAWS) takeActions() map[string]map[string]bool {
	a.mu.Lock()
	defer a.mu.Unlock()

	actions := a.actions
	a.actions = map[string]map[string]bool{}

	return actions
}

const (
	recordsARN  = "RecordTable.Arn"
	ledgerARN   = "LedgerTable.Arn"
	capturedARN = "CapturedQueue.Arn"
	paymentsARN = "PaymentsQueue.Arn"
	indexARN    = "${RecordTable.Arn}/index/unsent"
)

type need struct{ resource, action string }

var partiQL = regexp.MustCompile(`(?i)^\s*(INSERT INTO|UPDATE|DELETE FROM|SELECT .* FROM)\s+"?([^"\s.]+)`)

// needed are the actions that a request takes.
func needed(target string, body []byte) []need {
	var in struct {
		TableName, QueueUrl, IndexName string //nolint:revive // as they are sent
		Statement                      string
		Statements                     []struct{ Statement string }
		TransactItems                  []map[string]struct{ TableName string }
	}

	_ = json.Unmarshal(body, &in)
	service, operation, _ := strings.Cut(target, ".")

	if service == "AmazonSQS" {
		queue := path.Base(in.QueueUrl) + ".Arn"
		if strings.HasSuffix(in.QueueUrl, "/payments") { // the one of the events
			queue = paymentsARN
		}

		return []need{{queue, "sqs:" + strings.TrimSuffix(operation, "Batch")}} // as IAM calls it
	}

	if !strings.HasPrefix(service, "DynamoDB_") {
		return []need{{"?", target}}
	}

	switch operation {
	case "Query":
		return []need{{"${" + in.TableName + ".Arn}/index/" + in.IndexName, "dynamodb:Query"}}
	case "TransactWriteItems": // needs the actions of its parts
		var needs []need

		for _, part := range in.TransactItems {
			for kind, item := range part {
				needs = append(needs, need{item.TableName + ".Arn", "dynamodb:" + strings.TrimSuffix(kind, "Item") + "Item"})
			}
		}

		return needs
	case "BatchExecuteStatement", "ExecuteStatement": // need those of their statements
		var needs []need

		for _, s := range append(in.Statements, struct{ Statement string }{in.Statement}) {
			if m := partiQL.FindStringSubmatch(s.Statement); m != nil {
				verb := strings.Fields(strings.ToLower(m[1]))[0]
				needs = append(needs, need{m[2] + ".Arn", "dynamodb:PartiQL" + strings.ToUpper(verb[:1]) + verb[1:]})
			}
		}

		return needs
	default:
		return []need{{in.TableName + ".Arn", "dynamodb:" + operation}}
	}
}
