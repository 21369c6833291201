package mutation

// toolMutants change what the program idem asks, reports and refuses.
var toolMutants = []mutant{
	{
		why:  "the claim of another worker counts as the one that was shown, renewed",
		file: "cmd/idem/ask.go",
		old:  `isSameClaim && isLeftAlone`,
		new:  `(isSameClaim || true) && isLeftAlone`,
		pkg:  tool, run: "TestAClaimThatWasOnlyRenewedIsChangedAllTheSame/in_memory",
	},
	{
		why:  "a retention that ends with the last delivery counts as long enough",
		file: "cmd/idem/check_function.go",
		old:  `c.retention() >= way+lateRequest`,
		new:  `c.retention() >= way`,
		pkg:  tool, run: "TestCheckFindsEachFault/records_end_with_the_last_message",
	},
	{
		why:  "a check that checked nothing ends with the code of success",
		file: "cmd/idem/check.go",
		old:  `return &codeError{exitError, errors.New(unanswered)}`,
		new:  `return nil`,
		pkg:  tool, run: "TestCheckFindsEachFault/no_credentials",
	},
	{
		why:  "a function without an event source counts as checked",
		file: "cmd/idem/check_function.go",
		old:  `	if !found {`,
		new:  `	if false {`,
		pkg:  tool, run: "TestCheckFindsEachFault/no_event_source",
	},
	{
		why:  "idem says of a stuck key with NoTakeover that it is taken over",
		file: "cmd/idem/meaning.go",
		old: `	if v.NoTakeover {
		return "It was claimed with NoTakeover`,
		new: `	if false {
		return "It was claimed with NoTakeover`,
		pkg: tool, run: "TestIdemSaysWhatTheNextDeliveryDoes/keys_with_NoTakeover/in_memory",
	},
	{
		why:  "a key with NoTakeover is released as if it could be taken over, so that the next delivery ends it",
		file: "idemddb/operate/change.go",
		old:  `	if seen.NoTakeover {`,
		new:  `	if false {`,
		pkg:  tool, run: "TestIdemSaysWhatTheNextDeliveryDoes/keys_with_NoTakeover/in_memory",
	},
	{
		why:  "a dry run changes the record",
		file: "cmd/idem/change.go",
		old:  `if c.dryRun {`,
		new:  `if false {`,
		pkg:  tool, run: "TestAChangeAsksBefore/in_memory",
	},
	{
		why:  "where there is nobody to ask, the answer is yes",
		file: "cmd/idem/ask.go",
		old: `	if !a.interactive {
		return &codeError{exitRefused, errors.New("there is nobody to ask; --yes answers")}
	}`,
		new: `	if !a.interactive {
		return nil
	}`,
		pkg: tool, run: "TestAChangeAsksBefore/in_memory",
	},
	{
		why:  "no answer is taken for a yes",
		file: "cmd/idem/ask.go",
		old:  `answer != "y" && answer != "yes"`,
		new:  `answer != "" && answer != "y" && answer != "yes"`,
		pkg:  tool, run: "TestAChangeAsksBefore/in_memory",
	},
	{
		why:  "the operator is not asked for a reason",
		file: "cmd/idem/ask.go",
		old:  `if c.why == "" && a.interactive {`,
		new:  `if false {`,
		pkg:  tool, run: "TestAChangeAsksBefore/in_memory",
	},
	{
		why:  "a change is made of the record as it is, and not as it was shown",
		file: "cmd/idem/ask.go",
		old:  `outcome, err := c.perform(ctx, d, f.View)`,
		new: `if again, err := d.records.Look(ctx, f.Typed); err == nil {
			f.View = again
		}

		outcome, err := c.perform(ctx, d, f.View)`,
		pkg: tool, run: "TestTwoOperatorsAtOnce/in_memory",
	},
	{
		why:  "a refused change ends with the code of success",
		file: "cmd/idem/command.go",
		old:  `return exitRefused`,
		new:  `return exitDone`,
		pkg:  tool, run: "TestTwoOperatorsAtOnce/in_memory",
	},
	{
		why:  "what may not be all is changed as if it were",
		file: "cmd/idem/change.go",
		old:  `case progress.Cursor != "":`,
		new:  `case progress.Cursor == "?":`,
		pkg:  tool, run: "TestManyKeysAtOnce/in_memory",
	},
	{
		why:  "send --all leaves out what the index does not have",
		file: "cmd/idem/change.go",
		old:  `if c.everything {`,
		new:  `if false {`,
		pkg:  tool, run: "TestSendAllSendsWhatIsParked/in_memory",
	},
	{
		why:  "the budget of the command line does not count",
		file: "cmd/idem/change.go",
		old:  `selection.Budget, selection.Progress = c.finder.budget, c.app.progress(ctx, d)`,
		new:  `selection.Progress = c.app.progress(ctx, d)`,
		pkg:  tool, run: "TestManyKeysAtOnce/in_memory",
	},
	{
		why:  "a key that can be read in two ways is changed",
		file: "cmd/idem/change.go",
		old:  `if len(keys) == 0 || len(all) == len(keys) {`,
		new:  `if len(keys) == 0 || len(all) >= len(keys) {`,
		pkg:  tool, run: "TestAnAmbiguousKeyIsNotChanged/in_memory",
	},
	{
		why:  "a wrong clock selects who is stuck",
		file: "cmd/idem/ask.go",
		old:  `c.everything && len(c.all.Status) > 0`,
		new:  `!c.everything && len(c.all.Status) > 0`,
		pkg:  tool, run: "TestAWrongClockDoesNotSelectWhoIsStuck/in_memory",
	},
	{
		why:  "an endpoint that takes any credentials proves a permission",
		file: "cmd/idem/check_permissions.go",
		old:  `case c.lenient:`,
		new:  `case false:`,
		pkg:  tool, run: "TestCheckWritesNothing/in_memory",
	},
	{
		why:  "the probe is written",
		file: "cmd/idem/check_permissions.go",
		old:  `never: "attribute_exists(#pk) AND attribute_not_exists(#pk)",`,
		new:  `never: "attribute_not_exists(#pk)",`,
		pkg:  tool, run: "TestCheckWritesNothing/in_memory",
	},
	{
		why:  "an attribute that an answer does not have is taken for zero",
		file: "cmd/idem/check_function.go",
		old:  `return 0, fmt.Errorf("the answer has no %s", name)`,
		new:  `return 0, nil`,
		pkg:  tool, run: "TestCheckFindsEachFault",
	},
	{
		why:  "the caller of a request does not count for its key",
		file: "cmd/idem/event.go",
		old:  `lambdawrap.HTTPKey(e.caller, r)`,
		new:  `lambdawrap.HTTPKey("somebody", r)`,
		pkg:  tool, run: "TestAKeyIsFoundByAnEventOfEachKind",
	},
	{
		why:  "an audit whose budget ended has the exit code of one that was read to its end",
		file: "cmd/idem/audit_print.go",
		old: `return notToItsEnd(failed)
	case`,
		new: `return nil
	case`,
		pkg: tool, run: "TestAnAuditThatDoesNotComeToTheEndSaysSo/because_the_budget_ended",
	},
	{
		why:  "an audit with a violation has the exit code of one without",
		file: "cmd/idem/audit_print.go",
		old:  `case report.Violations > 0 || !isWhole:`,
		new:  `case !isWhole:`,
		pkg:  tool, run: "TestAnAuditFindsEachFault/a_person_edits_a_record",
	},
	{
		why:  "a request that was refused for want of throughput counts as the end of the stream",
		file: "internal/tablestream/read.go",
		old:  `if r.Throttled > throttled { // what was asked for may be new`,
		new:  `if r.Throttled > throttled+1_000 {`,
		pkg:  "internal/tablestream", run: "TestReadGoesOnAfterItWasThrottled",
	},
	{
		why:  "the changes of a key are handed on with a gap where a later one has an earlier time",
		file: "internal/tablestream/shard.go",
		old:  `s.begun = s.begun || !made.Before(r.Since.Truncate(time.Minute)) || r.hasBegun(s.parent)`,
		new:  `s.begun = !made.Before(r.Since.Truncate(time.Minute))`,
		pkg:  "internal/tablestream", run: "TestReadLeavesOutWhatWasMadeBeforeATime/where_all_are_later",
	},
	{
		why:  "sending where there is nothing to send is told as if messages were left",
		file: "cmd/idem/change.go",
		old:  `if delivery.Key == "" {`,
		new:  `if errors.Is(err, operate.ErrChanged) {`,
		pkg:  tool, run: "TestARecordWithMessagesIsNotForgotten",
	},
	{
		why:  "failed keys cannot be opened all at once where this machine's clock is wrong",
		file: "cmd/idem/ask.go",
		old:  `len(c.all.Status) > 0 && c.all.Status[0] != operate.Failed`,
		new:  `len(c.all.Status) > 0`,
		pkg:  tool, run: "TestAWrongClockDoesNotSelectWhoIsStuck",
	},
	{
		why:  "a new table is said to have about no items",
		file: "cmd/idem/print.go",
		old:  `out.Table.ItemCount == nil || *out.Table.ItemCount == 0 {`,
		new:  `out.Table.ItemCount == nil {`,
		pkg:  tool, run: "TestProgressNamesTheSizeThatIsKnown",
	},
	{
		why:  "the tool has the SDK's own client, which keeps ten connections",
		file: "cmd/idem/app.go",
		old:  `cfg.HTTPClient = idemddb.HTTPClient()`,
		new:  ``,
		pkg:  tool, run: "TestTheToolHasTheClientOfTheLibrary",
	},
}
