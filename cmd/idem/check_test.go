package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const queueARN = "arn:aws:sqs:us-east-1:111122223333:payments"

// payments is a function behind a queue, as the sample deploys it.
func (n *night) payments() {
	n.behindQueue("payments", 60, []string{"ReportBatchItemFailures"}, map[string]string{
		"VisibilityTimeout": "360", "MessageRetentionPeriod": "345600", "RedrivePolicy": `{"deadLetterTargetArn":"` + queueARN + `-dead","maxReceiveCount":5}`,
	}, "1209600")

	n.timeToLive("exp", true)
}

// behindQueue is a function with these times, whose queue has these attributes.
func (n *night) behindQueue(function string, timeout int, reports []string, queue map[string]string, lettersKept string) {
	n.aws.set(func(c *cloud) {
		c.lambda = map[string]any{
			"functions/" + function + "/configuration": map[string]any{"FunctionName": function, "Timeout": timeout},
			"event-source-mappings": map[string]any{"EventSourceMappings": []map[string]any{{
				"EventSourceArn": queueARN, "State": "Enabled", "FunctionResponseTypes": reports,
			}}},
		}
		c.queues = map[string]map[string]string{"payments": queue, "payments-dead": {"MessageRetentionPeriod": lettersKept}}
	})
}

// timeToLive turns Time to Live on for an attribute.
func (n *night) timeToLive(attribute string, isOn bool) {
	n.t.Helper()

	if _, err := n.client.UpdateTimeToLive(n.t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName: &n.table, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &attribute, Enabled: &isOn},
	}); err != nil {
		n.t.Fatal(err)
	}
}

// described has the table described with another field.
func described(field string, value any) func(*night) {
	return func(n *night) { n.aws.described = map[string]any{field: value} }
}

// streamOf is a stream that shows this of a change.
func streamOf(view string) func(*night) {
	return described("StreamSpecification", map[string]any{"StreamEnabled": true, "StreamViewType": view})
}

// replicated is a table with replicas of this consistency.
func replicated(consistency string) func(*night) {
	return func(n *night) {
		n.aws.described = map[string]any{"MultiRegionConsistency": consistency, "Replicas": replicas}
	}
}

func TestCheckFindsEachFault(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		wrong func(n *night)
		flags []string
		code  int
		want  string
	}{
		"all is well":            {nil, nil, exitDone, "ok     retention: records answer for 30d0h, a message of payments comes back for 18d0h at most"},
		"another key":            {nil, []string{"--partition-key", "id"}, exitRefused, `FAULT  key: the table has "pk:HASH:S", the options say "id:HASH:S"`},
		"no sort key":            {nil, []string{"--sort-key", "sk"}, exitRefused, `FAULT  key: the table has "pk:HASH:S", the options say "pk:HASH:S sk:RANGE:S"`},
		"no index":               {nil, []string{"--unsent-index", "outbox"}, exitRefused, `FAULT  index: "outbox" is missing; there are: unsent`},
		"nobody names the index": {nil, []string{"--unsent-index", ""}, exitDone, `ok     index: "unsent" finds the unsent messages; idem list unsent needs --unsent-index unsent`},
		"no table":               {nil, []string{"--table", "nowhere"}, exitRefused, `FAULT  table: "nowhere" does not exist`},
		"another attribute":      {nil, []string{"--ttl-attribute", "ttl"}, exitRefused, `FAULT  time to live: on "exp", the records have their end in "ttl"`},
		"records end early":      {nil, []string{"--retention", "240h"}, exitRefused, "FAULT  retention: records answer for 10d0h, a message of payments can come back for 18d0h"},
		"records end with the last message": {
			nil, []string{"--retention", "432h"}, exitRefused, "FAULT  retention: records answer for 18d0h, a message of payments can come back for 18d0h, and a request of its last " +
				"delivery can arrive 15 minutes after that",
		},
		"records end when no request can arrive any more": {nil, []string{"--retention", "432h15m"}, exitDone, "ok     retention: records answer for 18d0h"},
		"denied":                                      {func(n *night) { n.aws.denied = "PutItem" }, nil, exitDone, "note   dynamodb:PutItem: denied"},
		"groups are denied":                           {func(n *night) { n.aws.denied = "BatchExecuteStatement" }, nil, exitDone, "note   dynamodb:PartiQLUpdate: denied"},
		"nobody may look":                             {func(n *night) { n.aws.denied = "DescribeTable" }, nil, exitError, "?      table: could not be checked: operation error"},
		"an insert is denied":                         {func(n *night) { n.aws.denied = "ExecuteTransaction" }, nil, exitDone, "note   dynamodb:PartiQLInsert: denied"},
		"a read is denied":                            {func(n *night) { n.aws.denied = "BatchExecuteStatement" }, nil, exitDone, "note   dynamodb:PartiQLSelect: denied"},
		"transactions are denied":                     {func(n *night) { n.aws.denied = "TransactWriteItems" }, nil, exitDone, "note   TransactWriteItems: denied"},
		"nobody is refused":                           {func(n *night) { n.aws.lenient = true }, nil, exitDone, "note   TransactWriteItems: works; permissions do not apply, because this endpoint takes any credentials"},
		"nobody knows the time-out":                   {func(n *night) { n.configuration(map[string]any{"FunctionName": "payments"}) }, nil, exitError, "?      function: could not be checked"},
		"nobody knows the visibility":                 {func(n *night) { delete(n.aws.queues["payments"], "VisibilityTimeout") }, nil, exitError, "?      queue payments: could not be checked: the answer has no VisibilityTimeout"},
		"nobody knows the retention":                  {func(n *night) { delete(n.aws.queues["payments"], "MessageRetentionPeriod") }, nil, exitError, "?      queue payments: could not be checked: the answer has no MessageRetentionPeriod"},
		"nobody knows how long a dead letter is kept": {func(n *night) { delete(n.aws.queues["payments-dead"], "MessageRetentionPeriod") }, nil, exitError, "?      dead letters of payments: could not be checked"},
		"nobody knows whether it is enabled":          {func(n *night) { n.mapping("State", "") }, nil, exitError, "?      event source of payments: could not be checked"},
		"a stream gets no report": {func(n *night) {
			n.mapping("EventSourceArn", "arn:aws:kinesis:eu-west-1:111122223333:stream/payments")
			n.mapping("FunctionResponseTypes", nil)
		}, nil, exitRefused, "FAULT  event source of stream/payments: FunctionResponseTypes lacks"},
		"messages get lost":  {func(n *night) { n.mapping("FunctionResponseTypes", []string{}) }, nil, exitRefused, "lacks ReportBatchItemFailures"},
		"it is disabled":     {func(n *night) { n.mapping("State", "Disabled") }, nil, exitDone, "is Disabled: the function is not invoked"},
		"hidden too shortly": {func(n *night) { n.aws.queues["payments"]["VisibilityTimeout"] = "30" }, nil, exitRefused, "visibility time-out 30s is below the function's time-out 1m0s"},
		"hidden shortly":     {func(n *night) { n.aws.queues["payments"]["VisibilityTimeout"] = "120" }, nil, exitDone, "note   queue payments: visibility time-out 2m0s is below six times"},
		"no dead letters":    {func(n *night) { delete(n.aws.queues["payments"], "RedrivePolicy") }, nil, exitDone, "has no dead-letter queue"},
		"dead letters are gone": {
			func(n *night) { n.aws.queues["payments-dead"]["MessageRetentionPeriod"] = "345600" }, nil, exitRefused, "a dead letter may be gone at once",
		},
		"its replicas refuse transactions": {
			replicated("STRONG"), nil, exitRefused,
			"FAULT  replicas: the table has multi-Region strong consistency (MRSC), and DynamoDB then has neither transactions nor Time to Live",
		},
		"it has replicas": {
			replicated("EVENTUAL"), nil, exitDone, "note   replicas: the table is replicated to eu-west-1, eu-central-1; claim a key in one Region only",
		},
		"nobody has an index": {
			described("GlobalSecondaryIndexes", []any{}), []string{"--unsent-index", ""}, exitDone,
			"note   index: there is none for unsent messages; without one, idem and the sweep read the whole table to find them",
		},
		"it was restored": {
			described("RestoreSummary", restored(false)), nil, exitDone,
			"note   restore: restored from table/payments as it was at 2026-01-02 03:00:00Z",
		},
		"it is being restored": {
			described("RestoreSummary", restored(true)), nil, exitRefused,
			"FAULT  restore: the table is being restored from table/payments: let no worker use it yet",
		},
		"it has a stream": {
			streamOf("NEW_AND_OLD_IMAGES"), nil, exitDone, "note   stream: on, NEW_AND_OLD_IMAGES; the library needs none, and idem audit reads it",
		},
		"it has a stream that cannot be audited": {
			streamOf("KEYS_ONLY"), nil, exitDone, "note   stream: on, KEYS_ONLY; the library needs none, and idem audit needs NEW_AND_OLD_IMAGES",
		},
		"a slow clock":     {func(n *night) { n.aws.late = time.Minute }, nil, exitRefused, "FAULT  clock: off by about"},
		"another function": {nil, []string{"--function", "refunds"}, exitError, "?      function: could not be checked: "},
		"no event source": {func(n *night) {
			n.aws.lambda["event-source-mappings"] = map[string]any{"EventSourceMappings": []any{}}
		}, nil, exitError, "?      event source: could not be checked: no queue, stream or topic invokes payments; a mapping of an alias is only seen with --function NAME:ALIAS"},
		"a topic of Amazon MSK": {
			kafka("EventSourceArn", "arn:aws:kafka:us-east-1:111122223333:cluster/ledger/1-2"), nil, exitRefused,
			"FAULT  event source of topic payments: FunctionResponseTypes lacks ReportBatchItemFailures",
		},
		"a topic of another cluster": {
			kafka("SelfManagedEventSource", map[string]any{}), nil, exitRefused,
			"FAULT  event source of topic payments: ProvisionedPollerConfig is missing",
		},
		"no credentials":        {func(n *night) { n.aws.strange = true }, nil, exitError, "idem: not checked: 11 of 11"},
		"a fault among unknown": {func(n *night) { n.aws.denied = "DescribeTimeToLive" }, []string{"--unsent-index", "outbox"}, exitRefused, "idem: faults: 1; not checked: 1 of 18"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			n := onDynamoDBLocal(t)
			n.payments()

			if test.wrong != nil {
				n.aws.set(func(*cloud) { test.wrong(n) })
			}

			n.idem(append([]string{"check", "--function", "payments", "--retention", "720h"}, test.flags...)...)
			n.expect(test.code, test.want)
		})
	}
}

var replicas = []map[string]any{{"RegionName": "eu-west-1"}, {"RegionName": "eu-central-1"}}

// restored is what DynamoDB says of a table that was restored to a point in time.
func restored(inProgress bool) map[string]any {
	return map[string]any{
		"SourceTableArn": "arn:aws:dynamodb:us-east-1:111122223333:table/payments", "RestoreDateTime": 1767322800, "RestoreInProgress": inProgress,
	}
}

// A restore leaves Time to Live off, and no alarm finds it.
func TestCheckFindsThatARestoreLeftTimeToLiveOff(t *testing.T) {
	t.Parallel()

	n := onDynamoDBLocal(t)
	n.aws.set(func(c *cloud) { c.described = map[string]any{"RestoreSummary": restored(false)} })
	n.idem("check")
	n.expect(exitRefused, "note   restore: restored from table/payments", "work that was done after that has no record here",
		"FAULT  time to live: DISABLED: a restore leaves it off, and records are never deleted. To mend it: idem ttl")
}

// Where there is no table, nothing else is asked: what the other questions would find is no fault of their own.
func TestCheckOfNoTableHasOneFinding(t *testing.T) {
	t.Parallel()

	n := onDynamoDBLocal(t)
	n.idem("check", "--table", "nowhere")
	n.expect(exitRefused, `FAULT  table: "nowhere" does not exist`)

	if strings.Contains(n.lastOut, "time to live") {
		t.Errorf("more is told:\n%s", n.lastOut)
	}
}

// The probes write nothing, and prove nothing where nobody is refused.
func TestCheckWritesNothing(t *testing.T) {
	onEachEngine(t, func(n *night) {
		for _, lenient := range []bool{false, true} {
			n.aws.set(func(c *cloud) { c.lenient = lenient })
			n.idem("check", "--json")

			if allowed := strings.Contains(n.lastOut, `"level":"ok","text":"allowed;`); allowed == lenient {
				n.t.Errorf("lenient: %v\n%s", lenient, n.lastOut)
			}
		}

		out, err := n.client.Scan(n.t.Context(), &dynamodb.ScanInput{TableName: &n.table})
		if err != nil || len(out.Items) != 0 {
			n.t.Errorf("%v, %v", out, err)
		}
	})
}

func (n *night) configuration(answer map[string]any) {
	n.aws.lambda["functions/payments/configuration"] = answer
}

func (n *night) mapping(field string, value any) {
	all := n.aws.lambda["event-source-mappings"].(map[string]any)["EventSourceMappings"].([]map[string]any)
	all[0][field] = value
}

// kafka is a mapping of a topic in the mode in which Lambda reads no partial answer. The field says where the topic is.
func kafka(field string, value any) func(*night) {
	return func(n *night) {
		n.aws.lambda["event-source-mappings"] = map[string]any{"EventSourceMappings": []any{
			map[string]any{field: value, "Topics": []string{"payments"}, "State": "Enabled"},
		}}
	}
}

// Time to Live that is being turned off still names its attribute.
func TestTimeToLiveThatIsTurnedOffIsAFault(t *testing.T) {
	t.Parallel()

	for status, want := range map[types.TimeToLiveStatus]level{
		types.TimeToLiveStatusEnabled: fine, types.TimeToLiveStatusEnabling: fine, types.TimeToLiveStatusDisabling: fault, types.TimeToLiveStatusDisabled: fault,
	} {
		c := &checking{}
		c.timeToLiveIsOn(&types.TimeToLiveDescription{AttributeName: new("exp"), TimeToLiveStatus: status}, "exp")

		if got := c.findings[0].Level; got != want {
			t.Errorf("%s: got %s, want %s", status, got, want)
		}
	}
}

// A request of statements succeeds although a statement of it is refused.
func TestAStatementThatIsRefusedIsAnError(t *testing.T) {
	t.Parallel()

	for answer, want := range map[string]string{
		`{"Responses":[{"Error":{"Code":"AccessDenied","Message":"not authorized"}}]}`: "api error AccessDenied: not authorized",
		`{"Responses":[{}]}`: "<nil>", `{"Responses":[]}`: "<nil>",
	} {
		c := &checking{desk: deskOf(t, answer)}

		p, err := c.probe()
		if err != nil {
			t.Fatal(err)
		}

		if got := fmt.Sprint(p.statement(t.Context(), types.BatchStatementRequest{Statement: new("SELECT")})); got != want {
			t.Errorf("%s: got %s, want %s", answer, got, want)
		}
	}
}
