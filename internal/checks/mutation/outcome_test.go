package mutation

// outcomeMutants change what becomes of a message.
var outcomeMutants = []mutant{
	{
		why:  "an error of OnReplay in Func counts as a record that cannot be read",
		file: "lambdawrap/func.go",
		old:  `case r.ending.Record != nil && errors.Is(err, idemddb.ErrCorrupt):`,
		new:  `case r.ending.Record != nil && err != nil:`,
		pkg:  "lambdawrap", run: "TestFuncOnReplayMayReplaceOrRefuseTheResult",
	},
	{
		why:  "an invocation of Func whose work panicked has no outcome of its own",
		file: "idemddb/run.go",
		old: `		e = work.Settle(ctx, result, cause)
		t.opts.ended(ctx, e)
`,
		new: `		e = work.Settle(ctx, result, cause)
		if cause != errExited {
			t.opts.ended(ctx, e)
		}
`,
		pkg: "idemddb", run: "TestOnEndingIsCalledOnceAlsoForWorkThatPanics",
	},
	{
		why:  "StopAtFailure stops the groups of a FIFO queue",
		file: "lambdawrap/invocation.go",
		old:  `StopAtFailure: v.opts.StopAtFailure && !inOrder,`,
		new:  `StopAtFailure: v.opts.StopAtFailure,`,
		pkg:  "lambdawrap", run: "TestWhichMessagesAFailureStops/StopAtFailure_of_a_FIFO_queue",
	},
	{
		why:  "the worker of a handler that failed is given to the next message before the failure is known",
		file: "lambdawrap/work.go",
		old:  `v.step(func(s *schedule.Schedule) { s.Failed(m.index) })`,
		new:  ``,
		pkg:  "lambdawrap", run: "TestAfterTheFirstFailureTheRestOfABatchIsReportedUnstarted",
	},
	{
		why:  "a message that is claimed when the batch stops runs nevertheless",
		file: "lambdawrap/work.go",
		old:  `if hasWorker = decided.Kind == schedule.Start; decided.Kind == schedule.Blocked {`,
		new:  `if hasWorker = decided.Kind != schedule.NoTime; false {`,
		pkg:  "lambdawrap", run: "TestAfterTheFirstFailureTheRestOfABatchIsReportedUnstarted/claimed",
	},
	{
		why:  "StopAtFailure stops a batch after a message that is done",
		file: "internal/schedule/event.go",
		old: `	if failed {
		s.Failed(i)
	}
`,
		new: `	s.Failed(i)
`,
		pkg: "internal/schedule", run: "TestRule9Stop",
	},
	{
		why:  "a message whose context has ended is taken for an outage of DynamoDB",
		file: "lambdawrap/work.go",
		old:  `if ctx.Err() != nil {`,
		new:  `if ctx.Err() != nil && m == nil {`,
		pkg:  "lambdawrap", run: "TestAMessageWhoseContextHasEndedIsNoOutage",
	},
	{
		why:  "a permanent failure is dead-lettered although another worker has the key",
		file: "idemddb/release.go",
		old:  `} else if e.Kind = KindFenced; !errors.Is(err, ErrUnsent) {`,
		new:  `} else if !errors.Is(err, ErrUnsent) {`,
		pkg:  "lambdawrap", run: "TestAPermanentFailureIsNotDeadLetteredUnlessItsKeyHasEnded",
	},
	{
		why:  "a permanent failure is dead-lettered although its record was perhaps not written",
		file: "lambdawrap/outcome.go",
		old:  `o.permanent = !e.Unknown`,
		new:  `o.permanent = true`,
		pkg:  "lambdawrap", run: "TestAPermanentFailureIsNotDeadLetteredUnlessItsKeyHasEnded",
	},
	{
		why:  "a message without a key is a failure like any other, and blocks its FIFO group until its receives are used up",
		file: "lambdawrap/outcome.go",
		old:  `return outcome{name: OutcomeNoKey, err: err, permanent: true}`,
		new:  `return outcome{name: OutcomeNoKey, err: err}`,
		pkg:  "lambdawrap", run: "TestAMessageWithoutAKeyIsForTheDeadLetterHook",
	},
	{
		why:  "a success whose completion was fenced is reported failed although the work is done",
		file: "idemddb/complete.go",
		old:  `Done: isDone(err)}`,
		new:  `Done: isDone(err) && !errors.Is(err, ErrFenced)}`,
		pkg:  "lambdawrap", run: "TestWhatAFencedSuccessBecomes",
	},
	{
		why:  "a success whose completion was fenced is done although another worker still runs",
		file: "idemddb/complete.go",
		old:  `Done: isDone(err)}`,
		new:  `Done: true}`,
		pkg:  "lambdawrap", run: "TestWhatAFencedSuccessBecomes",
	},
	{
		why:  "a handler that settled its claim itself is settled again",
		file: "idemddb/work.go",
		old: `	case settled != "":
		return`,
		new: `	case settled != "" && c == nil:
		return`,
		pkg: "lambdawrap", run: "TestAHandlerMaySettleItsClaimItself",
	},
	{
		why:  "a message whose key another worker holds comes back by the back-off alone, while the lease lasts",
		file: "lambdawrap/visibility.go",
		old:  `return max(pause, queue.HiddenFor(r.store.RetryAfter(o.until)))`,
		new:  `return max(pause, 0*queue.HiddenFor(r.store.RetryAfter(o.until)))`,
		pkg:  "lambdawrap", run: "TestAMessageInProgressElsewhereComesBackAfterTheLeaseOrThePause",
	},
	{
		why:  "a message whose key another worker holds comes back with each lease, and uses its receives up",
		file: "lambdawrap/visibility.go",
		old:  `return max(pause, queue.HiddenFor(r.store.RetryAfter(o.until)))`,
		new:  `return max(0*pause, queue.HiddenFor(r.store.RetryAfter(o.until)))`,
		pkg:  "lambdawrap", run: "TestAMessageInProgressElsewhereComesBackAfterTheLeaseOrThePause",
	},
	{
		why:  "a message that will never succeed is hidden in a back-off for nothing",
		file: "lambdawrap/visibility.go",
		old:  `if m.failed && !o.permanent {`,
		new:  `if m.failed {`,
		pkg:  "lambdawrap", run: "TestWhatWillNeverSucceedIsNotHidden",
	},
	{
		why:  "a message comes back when its lease is over for its holder, but not yet for a taker",
		file: "idemddb/store.go",
		old:  `return lease.Add(2 * s.opts.ClockSkew).Sub(s.opts.Now())`,
		new:  `return lease.Sub(s.opts.Now())`,
		pkg:  "lambdawrap", run: "TestAMessageInProgressElsewhereComesBackAfterTheLeaseOrThePause",
	},
	{
		why:  "the dead-letter hook gets the message as the handler left it",
		file: "lambdawrap/message.go",
		old:  `return &recordHooks[R]{f, record}, f.clone(record)`,
		new: `given = f.clone(record)

	return &recordHooks[R]{f, given}, given`,
		pkg: "lambdawrap", run: "TestHooksGetTheMessageAsItArrived",
	},
	{
		why:  "the handler and the dead-letter hook share the maps of the message",
		file: "lambdawrap/message.go",
		old:  `return &recordHooks[R]{f, record}, f.clone(record)`,
		new:  `return &recordHooks[R]{f, record}, record`,
		pkg:  "lambdawrap", run: "TestHooksGetTheMessageAsItArrived",
	},
	{
		why:  "a message behind one that the handler of Batch reported failed is completed on a FIFO queue",
		file: "lambdawrap/batch.go",
		old:  `p.failure == nil && c.isBehind(p.message) {`,
		new:  `p.failure != nil && c.isBehind(p.message) {`,
		pkg:  "lambdawrap", run: "TestABatchOfAFIFOQueueCompletesNothingBehindAReportedMessage",
	},
	{
		why:  "an answer of Batch with an id that it was not given completes messages",
		file: "lambdawrap/batch.go",
		old:  `if !known {`,
		new:  `if !known && len(c.given) == 0 {`,
		pkg:  "lambdawrap", run: "TestWhatTheAnswerOfABatchHandlerBecomes",
	},
	{
		why:  "an empty id in the answer of Batch matches a message",
		file: "lambdawrap/batch.go",
		old:  `p.given.MessageId == failure.ItemIdentifier && p.given.MessageId != ""`,
		new:  `p.given.MessageId == failure.ItemIdentifier`,
		pkg:  "lambdawrap", run: "TestAnEmptyIDInTheAnswerOfBatchFailsAllOfItsMessages",
	},
	{
		why:  "a message without an id that failed is lost",
		file: "lambdawrap/message.go",
		old:  `case m.MessageId == "":`,
		new:  `case m.MessageId == "" && !m.failed:`,
		pkg:  "lambdawrap", run: "TestAnEmptyMessageIdThatFailsIsAnInvocationError",
	},
	{
		why:  "a message behind a failed one of its FIFO group runs",
		file: "internal/schedule/event.go",
		old:  `case isBlocked:`,
		new:  `case isBlocked && i < 0:`,
		pkg:  "lambdawrap", run: "TestGroupsOfAFIFOQueueStopAtTheirFirstFailureAndOthersGoOn",
	},
	{
		why:  "a typed nil error of one message fails the whole batch",
		file: "lambdawrap/handler.go",
		old:  `err = panicerror.Readable(err)`,
		new:  `_ = panicerror.Readable`,
		pkg:  "lambdawrap", run: "TestAnErrorThatCannotBeReadCostsItsOwnMessage",
	},
	{
		why:  "a takeover, after which an effect may be the second, leaves no line in the log",
		file: "lambdawrap/work.go",
		old:  `claim != nil && claim.Takeover()`,
		new:  `claim != nil && claim == nil`,
		pkg:  "lambdawrap", run: "TestATakeoverIsAWarning",
	},
	{
		why:  "Options.FailOnOutage fails the invocation although one message of the batch was answered",
		file: "lambdawrap/message.go",
		old: `default:
			return false`,
		new: `default:
			unanswered += 0`,
		pkg: "lambdawrap", run: "TestWithFailOnOutageAnythingElseIsReportedMessageByMessage",
	},
	{
		why:  "Options.FailOnOutage fails an invocation that had too little time, without any outage",
		file: "lambdawrap/message.go",
		old:  `return unanswered > 0`,
		new:  `return unanswered >= 0`,
		pkg:  "lambdawrap", run: "TestWithFailOnOutageAnythingElseIsReportedMessageByMessage",
	},
	{
		why:  "an outage is an invocation error although Options.FailOnOutage is not set",
		file: "lambdawrap/message.go",
		old:  `if w.opts.FailOnOutage && isOutage(messages) {`,
		new:  `if isOutage(messages) {`,
		pkg:  "lambdawrap", run: "TestAnOutageEndsTheInvocation",
	},
	{
		why:  "a late handler's message comes back while its key is still held",
		file: "lambdawrap/invocation.go",
		old:  `until: claim.Deadline()}`,
		new:  `}`,
		pkg:  "lambdawrap", run: "TestALateHandlerAndItsMessagesNextDeliveryDoNotRunAtOnce",
	},
	{
		why:  "the panic of a handler counts as success",
		file: "lambdawrap/handler.go",
		old:  `*err = newPanicError(v)`,
		new:  `*err = nil`,
		pkg:  "lambdawrap", run: "TestAPanicCostsItsOwnMessage",
	},
	{
		why:  "a standard queue with message groups is worked on in order",
		file: "lambdawrap/message.go",
		old:  `strings.HasSuffix(record.EventSourceARN, ".fifo")`,
		new:  `record.Attributes["MessageGroupId"] != ""`,
		pkg:  "lambdawrap", run: "TestWhichMessagesAFailureStops/a_standard_queue",
	},
	{
		why:  "the second message of a key in a batch runs, too",
		file: "internal/schedule/event.go",
		old:  `s.messages[other].work != m.work`,
		new:  `s.messages[other].work != m.work || other > i`,
		pkg:  "lambdawrap", run: "TestThoseThatFailAreReportedAndOnlyTheyRunAgain",
	},
	{
		why:  "a duplicate in a batch ends as completed although no handler ran for it, so that metrics count the work twice",
		file: "lambdawrap/work.go",
		old:  `m.end = o.ofDuplicate()`,
		new:  `m.end = o`,
		pkg:  "lambdawrap", run: "TestOnMessageSaysReplayedForDuplicatesOnly",
	},
	{
		why:  "a text of any length is written into the log",
		file: "lambdawrap/log.go",
		old:  `if len(text) <= limit {`,
		new:  `if len(text) <= limit || true {`,
		pkg:  "lambdawrap", run: "TestTheTextOfAnErrorIsBoundedInTheLog",
	},
}
