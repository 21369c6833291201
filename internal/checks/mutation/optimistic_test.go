package mutation

// optimisticMutants change what becomes of work without a claim when its invocation or DynamoDB has trouble.
var optimisticMutants = []mutant{
	{
		why:  "a wrapper takes Optimistic with a Store whose records live too shortly for it",
		file: "lambdawrap/wrapper.go",
		old:  `case retention < protocol.MinCommitRetention:`,
		new:  `case retention < 0:`,
		pkg:  "lambdawrap", run: "TestOptimisticNeedsARetentionAndATransactor",
	},
	{
		why:  "a wrapper takes Optimistic with a client that has no transactions",
		file: "lambdawrap/wrapper.go",
		old:  `case w.engine.Transactor == nil:`,
		new:  `case w.engine.Transactor == nil && retention < 0:`,
		pkg:  "lambdawrap", run: "TestOptimisticNeedsARetentionAndATransactor",
	},
	{
		why:  "a late handler without a claim can stage more",
		file: "idemddb/work.go",
		old:  "\tw.end()\n\n\tif w.claim == nil {",
		new:  "\tif w.claim == nil {",
		pkg:  "lambdawrap", run: "TestALateResultIsDroppedWhateverItIs",
	},
	{
		why:  "what a late handler staged without a claim is dropped, and its message is done",
		file: "lambdawrap/invocation.go",
		old:  `outcome{name: OutcomeLate, err: errLateUnclaimed}`,
		new:  `outcome{name: OutcomeLate, err: errLateUnclaimed, done: true}`,
		pkg:  "lambdawrap", run: "TestALateResultIsDroppedWhateverItIs",
	},
	{
		why:  "failed work without a claim is committed together with other work",
		file: "idemddb/work.go",
		old:  `if effects := w.take(); err == nil {`,
		new:  `if effects := w.take(); err != errNoStage {`,
		pkg:  "idemddb", run: "TestWorkThatFailedWithoutAClaimIsNeverSentWithOthers",
	},
	{
		why:  "staged effects that are not committed hold up other messages",
		file: "idemddb/work.go",
		old:  `return w.claim != nil && (err == nil && nothing || isPermanent)`,
		new:  `return err == nil && (w.claim == nil || nothing) || isPermanent`,
		pkg:  "lambdawrap", run: "TestFailuresThatCannotBeReleasedStopNoOtherMessage",
	},
	{
		why:  "commits that share a transaction are done although it has no answer",
		file: "idemddb/commit.go",
		old:  "case err != nil:\n\t\tc.err =",
		new:  "case err != nil && c.key == \"\":\n\t\tc.err =",
		pkg:  "lambdawrap", run: "TestAnOutageOfTheWholeTableLeavesFewEffectsWithoutARecord",
	},
	{
		why:  "a commit without an answer is done",
		file: "idemddb/optimistic.go",
		old:  "return Ending{Kind: cmp.Or(kindOf(err), KindUnanswered), Err: err}",
		new:  "return Ending{Kind: cmp.Or(kindOf(err), KindUnanswered), Err: err, Done: true}",
		pkg:  "lambdawrap", run: "TestACompletionThatNeverGetsThroughIsDoneUnlessItsEffectIsStaged",
	},
	{
		why:  "a handler without a claim starts although there is too little time",
		file: "internal/schedule/grant.go",
		old:  `wanted := len(s.waiting) > 0 || slices.ContainsFunc(s.admitted, s.isReady)`,
		new:  `wanted := len(s.waiting) > 0`,
		pkg:  "lambdawrap", run: "TestNothingStartsInTheReserve|TestWhatDidNotStartInTime",
	},
	{
		why:  "commits without an answer are no outage",
		file: "lambdawrap/message.go",
		old:  `case OutcomeUnanswered, OutcomeUncommitted:`,
		new:  `case OutcomeUnanswered:`,
		pkg:  "lambdawrap", run: "TestWithFailOnOutageAnOutageIsAnInvocationError",
	},
	{
		why:  "a commit waits for others until it is too late to send it",
		file: "idemddb/commit.go",
		old:  `hold := min(commitWait, time.Until(p.End)/2)`,
		new:  `hold := commitWait`,
		pkg:  "lambdawrap", run: "TestACommitDoesNotWaitForOthersUntilItIsTooLate",
	},
}
