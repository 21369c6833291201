package mutation

// traceMutants change how a record leads to the run before.
var traceMutants = []mutant{
	{
		why:  "a panic of MessageContext fails the whole batch",
		file: "lambdawrap/search.go",
		old:  `err := await(waiting, func() error {`,
		new:  `err := (func(_ context.Context, code func() error) error { return code() })(waiting, func() error {`,
		pkg:  "lambdawrap", run: "TestAHookThatFailsChangesNothing",
	},
	{
		why:  "a MessageContext that returns nil fails its message",
		file: "lambdawrap/search.go",
		old:  `if own == nil {`,
		new:  `if false {`,
		pkg:  "lambdawrap", run: "TestAHookThatFailsChangesNothing",
	},
	{
		why:  "a message has one context for its claim and another at its end",
		file: "lambdawrap/work.go",
		old:  `if m.derived != nil {`,
		new:  `if false {`,
		pkg:  "lambdawrap", run: "TestEachMessageHasOneContextOfItsOwn",
	},
	{
		why:  "a panic of Options.Trace loses the claim, or the commit of work that is done",
		file: "idemddb/trace.go",
		old:  `defer panicerror.Catch("Options.Trace", &err)`,
		new:  `defer func() {}()`,
		pkg:  "internal/contract", run: "TestContractInMemory/simple_key/what_is_no_traceparent",
	},
	{
		why:  "a text of any length is kept, so that a record outgrows 1 KB",
		file: "internal/record/record.go",
		old:  `if len(text) > MaxTrace {`,
		new:  `if len(text) > 2*MaxTrace {`,
		pkg:  "internal/contract", run: "TestContractInMemory/simple_key/what_is_no_traceparent",
	},
	{
		why:  "a text with a line break is kept, and forges a line of a log",
		file: "internal/record/record.go",
		old:  `if text[i] <= ' ' || text[i] > '~' {`,
		new:  `if text[i] > '~' {`,
		pkg:  "internal/contract", run: "TestContractInMemory/simple_key/what_is_no_traceparent",
	},
	{
		why:  "a claim after a release is linked to the run before, as if it were a takeover",
		file: "internal/protocol/claim.go",
		old:  `if !t.IsTraced || held.Previous == 0 {`,
		new:  `if !t.IsTraced {`,
		pkg:  "internal/contract", run: "TestContractInMemory/simple_key/a_takeover_names_the_run_before",
	},
	{
		why:  "a takeover whose answer is lost does not know the run before",
		file: "internal/protocol/claim.go",
		old:  `t.takenFrom(&held, rec.PreviousTrace)`,
		new:  `t.takenFrom(&held, rec.Trace)`,
		pkg:  "internal/contract", run: "TestContractInMemory/simple_key/a_takeover_names_the_run_before",
	},
	{
		why:  "a takeover in a batch is linked to what the run before had taken over, not to it",
		file: "internal/protocol/claim.go",
		old:  `t.takenFrom(&held, rec.Trace)`,
		new:  `t.takenFrom(&held, rec.PreviousTrace)`,
		pkg:  "internal/contract", run: "TestContractInMemory/simple_key/batch:_claims_keep_their_runs",
	},
	{
		why:  "a text that is not kept leaves the traceparent of an earlier run, to which a replay is linked",
		file: "internal/protocol/claim.go",
		old:  `values[":trace"] = text(c.Trace)`,
		new: `if values[":trace"] = text(c.Trace); c.Trace == "" {
			values[":trace"] = text("earlier")
		}`,
		pkg: "internal/contract", run: "TestContractInMemory/simple_key/what_is_no_traceparent",
	},
	{
		why:  "a record past its retention is claimed without the traceparent of its new run",
		file: "internal/protocol/claim.go",
		old:  `stored[record.Trace] = text(c.Trace)`,
		new:  `stored[record.Trace] = noTraceValue`,
		pkg:  "internal/contract", run: "TestContractInMemory/simple_key/a_record_past_its_retention_keeps_nothing_of_the_runs",
	},
	{
		why:  "a replay from the cache of the process that completed the key does not name the run",
		file: "idemddb/complete.go",
		old:  `c.held.Attempt, c.trace, new(c.fingerprint)`,
		new:  `c.held.Attempt, "", new(c.fingerprint)`,
		pkg:  "internal/contract", run: "TestContractInMemory/simple_key/each_call_asks_for_its_traceparent_once",
	},
}
