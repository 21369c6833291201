package mutation

// effectMutants change how effects are staged, committed and sent.
var effectMutants = []mutant{
	{
		why:  "New accepts Senders for a client that cannot write effects",
		file: "idemddb/options.go",
		old:  `if transacts || len(o.Senders) == 0 {`,
		new:  `if transacts || o.Senders == nil || true {`,
		pkg:  "idemddb", run: "TestNewRefusesOptionsThatTheClientCannotServe",
	},
	{
		why:  "effects are staged although the client cannot write them",
		file: "idemddb/effects.go",
		old:  `if !s.transacts && !e.isEmpty() {`,
		new:  `if !s.transacts && e.isEmpty() {`,
		pkg:  "idemddb", run: "TestWithoutTransactionsEffectsAreRefusedWithTheReason",
	},
	{
		why:  "a commit is begun although the client cannot write transactions",
		file: "idemddb/commit.go",
		old: `	if !s.transacts {
		return nil, fmt.Errorf("idemddb: commit: %w: %w", ErrBadEffects, errNoTransactor)
	}
`,
		new: ``,
		pkg: "idemddb", run: "TestWithoutTransactionsEffectsAreRefusedWithTheReason",
	},
	{
		why:  "a message with an id of its own is staged, and gets another id",
		file: "idemddb/effects.go",
		old:  `case m.ID != "":`,
		new:  `case m.ID != "" && len(m.ID) > 1000:`,
		pkg:  "idemddb", run: "TestStageRefusesMessagesThatAreNotWellFormed",
	},
	{
		why:  "an ending with the record of another worker is not done, so that its message comes back",
		file: "idemddb/release.go",
		old:  `e.Done = e.Record != nil`,
		new:  `e.Done = false`,
		pkg:  "idemddb", run: "TestRunEndsAKeyAsItsWorkEnds/another_worker_completes_the_key",
	},
	{
		why:  "Run answers with a record whose result is not kept although its caller needs the result",
		file: "idemddb/run.go",
		old:  `rec.ResultOmitted && rec.Result == nil && with.NeedResult {`,
		new:  `rec.ResultOmitted && rec.Result != nil && with.NeedResult {`,
		pkg:  "idemddb", run: "TestRunReportsAnOmittedResultOnlyToACallerThatNeedsIt",
	},
	{
		why:  "a commit does not wait for another worker",
		file: "idemddb/commit.go",
		old:  `c.waitForHolder(ctx, c.maxWait, func() {`,
		new:  `c.waitForHolder(ctx, 0, func() {`,
		pkg:  "idemddb", run: "TestOptimisticDoWaitsForAnotherWorker",
	},
	{
		why:  "what DynamoDB refuses as a whole is tried together until the time is over",
		file: "internal/engine/transaction.go",
		old:  ` || read.whole.Outcome == protocol.Rejected) {`,
		new:  `) {`,
		pkg:  "idemddb", run: "TestDeniedTogetherIsTriedAlone",
	},
	{
		why:  "an own completion is recognised although another call of the claim wrote it",
		file: "idemddb/complete_with.go",
		old:  `found.Tx == done.Tx {`,
		new:  `found.State == record.Completed {`,
		pkg:  "internal/contract", run: "TestContractInMemory/.*/CompleteWith:_an_earlier_one",
	},
	{
		why:  "a renewal under way is not joined",
		file: "idemddb/renew.go",
		old: `if running != nil {
		abort()
		<-running
	}`,
		new: `if running != nil && abort == nil {
		<-running
	}`,
		pkg: "idemddb", run: "TestARenewalUnderWayNeitherDelaysNorMeetsTheTransaction",
	},
	{
		why:  "a renewal under way is waited for to its end",
		file: "idemddb/renew.go",
		old: `abort()
		<-running`,
		new: `_ = abort
		<-running`,
		pkg: "idemddb", run: "TestARenewalUnderWayNeitherDelaysNorMeetsTheTransaction",
	},
	{
		why:  "the renewal ends with a refused effect",
		file: "idemddb/complete_with.go",
		old:  `r.resume()`,
		new:  `_ = r`,
		pkg:  "idemddb", run: "TestAClaimThatIsKeptTwiceIsRenewedAfterARefusedEffect",
	},
	{
		why:  "a refused effect that an earlier try made is not done",
		file: "idemddb/release.go",
		old:  `ok && fenced.Record != nil && fenced.Current == c.held.Fence {`,
		new:  `ok && fenced.Record != nil && fenced.Current != c.held.Fence {`,
		pkg:  "internal/contract", run: "TestContractInMemory/.*/CompleteWith:_after_a_refused_effect",
	},
	{
		why:  "a refused effect is a success of Do",
		file: "idemddb/work.go",
		old:  `return c.settleRefused(ctx, effect)`,
		new:  `_, err = effect, nil`,
		pkg:  "idemddb", run: "TestDoReturnsWhatARefusedEffectMeans",
	},
	{
		why:  "a transaction that is not known to be committed is done",
		file: "idemddb/complete.go",
		old:  `return errors.Is(err, ErrUnrecorded) || errors.Is(err, ErrResultOmitted)`,
		new:  `return errors.Is(err, ErrUnrecorded) || errors.Is(err, ErrUncommitted)`,
		pkg:  "internal/contract", run: "TestContractInMemory/.*/reasons:_without_an_answer",
	},
	{
		why:  "effects of a record that was deleted are done",
		file: "idemddb/complete_with.go",
		old:  `fenced.staged = true`,
		new:  `_ = fenced`,
		pkg:  "internal/contract", run: "TestContractInMemory/.*/CompleteWith:_a_claim_that_was_settled",
	},
	{
		why:  "an own commit is not recognised",
		file: "internal/protocol/verdict.go",
		old:  `tx != "" && found.Tx == tx`,
		new:  `tx != "" && found.Tx != tx`,
		pkg:  "idemddb", run: "TestATransactionThatMeetsItsOwnEarlierTryIsCommittedOnce",
	},
	{
		why:  "a commit is accepted by a Store whose records live for a minute",
		file: "idemddb/commit.go",
		old:  `if s.opts.Retention < protocol.MinCommitRetention {`,
		new:  `if s.opts.Retention < 0 {`,
		pkg:  "internal/contract", run: "TestContractInMemory/.*/Commit:_a_Store_whose_records",
	},
	{
		why:  "a run that failed past the retention is not written down",
		file: "idemddb/reject.go",
		old:  `a.follow(ctx, p, r.rejectAnew)`,
		new:  `a.follow(ctx, p, func(context.Context, planner.Policy, *record.Stored) {})`,
		pkg:  "internal/contract", run: "TestContractInMemory/.*/Reject:_past_the_retention",
	},
	{
		why:  "one item stands twice in the transaction of a group",
		file: "internal/planner/write.go",
		old:  `			l.taken[item.Key] = item.As`,
		new:  `			l.taken[w.Record] = item.As`,
		pkg:  "idemddb", run: "TestOneKeyIsNotTwiceInATransaction|TestCommitsOfABatchShareATransaction",
	},
	{
		why:  "a group has more than 100 items",
		file: "internal/planner/depart.go",
		old:  `items > maxItems || `,
		new:  ``,
		pkg:  "idemddb", run: "TestCommitsOfABatchShareATransaction",
	},
	{
		why:  "a commit waits for others without an end",
		file: "idemddb/commit.go",
		old:  `hold := min(commitWait, time.Until(p.End)/2)`,
		new:  `hold := time.Until(p.End) / 2`,
		pkg:  "idemddb", run: "TestACommitWaitsForOthersNoLongerThan100ms",
	},
	{
		why:  "Stage keeps what its caller can change",
		file: "internal/dbitem/clone.go",
		old:  `*w.key, *w.names, *w.values = Clone(*w.key), maps.Clone(*w.names), Clone(*w.values)`,
		new:  `*w.key, *w.names, *w.values = maps.Clone(*w.key), maps.Clone(*w.names), Clone(*w.values)`,
		pkg:  "idemddb", run: "TestStageCopiesWhatItIsGiven",
	},
	{
		why:  "Stage works after the claim was settled",
		file: "idemddb/complete.go",
		old:  `if with.kind != KindCompleted {`,
		new:  `if with.kind == KindCompleted {`,
		pkg:  "idemddb", run: "TestStageSaysWhereThereIsNoClaim",
	},
	{
		why:  "the effects of a CompleteWith that was refused are written by the next one",
		file: "idemddb/stage.go",
		old:  `s.closed, s.sent, s.bad = false, nil, `,
		new:  `s.closed, s.effects, s.bad = false, *s.sent, `,
		pkg:  "internal/contract", run: "TestContractInMemory/.*/CompleteWith:_a_refused_effect_writes_nothing",
	},
	{
		why:  "a message that is unsent for too long is sent",
		file: "internal/delivery/sending.go",
		old:  `if !s.Operator && targets.Now()`,
		new:  `if s.Operator && targets.Now()`,
		pkg:  "idemddb/outbox", run: "TestAfterEightDaysMessagesAreParked",
	},
	{
		why:  "what an operator could not send is lost",
		file: "internal/delivery/sending.go",
		old: `m.Cause = record.CauseOf(answer)
	s.Parked = append(s.Parked, m)

	if wasParked {`,
		new: `m.Cause = record.CauseOf(answer)
	if !wasParked {
		s.Parked = append(s.Parked, m)
	}

	if wasParked {`,
		pkg: "internal/contract", run: "TestContractInMemory/.*/outbox:_an_operator_sends",
	},
	{
		why:  "a wrong address of an operator parks what the sweep would send",
		file: "internal/delivery/sending.go",
		old:  `(s.Operator || !panicerror`,
		new:  `(false || !panicerror`,
		pkg:  "idemddb/operate", run: "TestAWrongAddressOfAnOperatorParksNothing/in_memory",
	},
	{
		why:  "what was parked before is lost with the next removal",
		file: "internal/delivery/sending.go",
		old: `default:
			s.Parked = append(s.Parked, m)`,
		new: `default:`,
		pkg: "internal/contract", run: "TestContractInMemory/.*/outbox:_a_message_that_can_never",
	},
	{
		why:  "a wrong number of answers panics",
		file: "internal/delivery/targets.go",
		old:  `if failure == nil && len(given) != len(messages) {`,
		new:  `if failure == nil && given == nil && messages == nil {`,
		pkg:  "idemddb/outbox", run: "TestSendersThatMisbehave",
	},
	{
		why:  "a hanging target is asked for each record",
		file: "internal/delivery/targets.go",
		old:  `s.until = time.Now().Add(targetPause)`,
		new:  ``,
		pkg:  "idemddb/outbox", run: "TestATargetThatHangsDoesNotHoldUpTheSweep",
	},
	{
		why:  "the sweep does not find what a worker with another number of partitions has left",
		file: "internal/unsent/unsent.go",
		old:  `record.Shards(record.MaxShards)...`,
		new:  `record.Shards(n)...`,
		pkg:  "idemddb/outbox", run: "TestTheSweepFindsTheMessagesOfWorkersWithAnyNumberOfShards",
	},
	{
		why:  "a sweep with another number of partitions moves a record from one to another",
		file: "internal/protocol/outbox.go",
		old:  `cmp.Or(r.Record.Shard, t.shardOf(partition))`,
		new:  `cmp.Or("", t.shardOf(partition))`,
		pkg:  "idemddb/outbox", run: "TestTheSweepFindsTheMessagesOfWorkersWithAnyNumberOfShards",
	},
	{
		why:  "messages of records that are completed together have a request each",
		file: "internal/delivery/load.go",
		old:  `if s.expected == 0 && s.underWay == 0 || len`,
		new:  `if true || len`,
		pkg:  "internal/delivery", run: "TestMessagesOfRecordsThatAreCompletedTogetherTravelTogether/ten",
	},
	{
		why:  "a failure keeps back the message of another record",
		file: "internal/delivery/load.go",
		old:  `return m.Group != "" && `,
		new:  `return m.Group != "" && false && `,
		pkg:  "internal/delivery", run: "TestMessagesOfRecordsThatAreCompletedTogetherTravelTogether",
	},
	{
		why:  "a request to a target goes on after the calls that wait for it have ended",
		file: "internal/delivery/load.go",
		old: `		l.stop()
		<-l.done`,
		new: ``,
		pkg: "internal/delivery", run: "TestTheLastCallThatLeavesALoadEndsIt",
	},
	{
		why:  "one slow sending keeps the process from a target that answers others",
		file: "internal/delivery/targets.go",
		old:  `if s.answers == before {`,
		new:  `if s.answers >= before {`,
		pkg:  "internal/delivery", run: "TestATargetIsAskedOnWhenOneSendingOfManyIsSlow",
	},
	{
		why:  "a sending that ended with its invocation counts as an answer of its target",
		file: "internal/delivery/targets.go",
		old:  `return given, failure == nil && ctx.Err() == nil, failure`,
		new:  `return given, failure == nil, failure`,
		pkg:  "internal/delivery", run: "TestATargetThatHangsIsNotAskedForAWhile",
	},
	{
		why:  "a message to a target that nobody knows stays in its record for ever",
		file: "idemddb/effects.go",
		old:  `case !known:`,
		new:  `case known && m.To == "":`,
		pkg:  "idemddb", run: "TestAMessageToATargetThatIsNotNamedIsRefused",
	},
	{
		why:  "a Store that is off takes messages that no other process can find",
		file: "idemddb/effects.go",
		old:  `case sender == nil && s.disabled:`,
		new:  `case sender == nil && m.To == "":`,
		pkg:  "idemddb", run: "TestADisabledStoreRefusesMessagesThatItCannotSend",
	},
	{
		why:  "a Sender that was never set counts as one of another process",
		file: "idemddb/options.go",
		old:  `errs.checkf(sender == nil || !panicerror.IsNil(sender),`,
		new:  `errs.checkf(sender == nil || true,`,
		pkg:  "idemddb", run: "TestNewNamesWhatIsWrong/a_sender",
	},
	{
		why:  "a message that is not sent leaves no line in the log",
		file: "idemddb/claim.go",
		old:  `return !s.opts.RedeliverUnsent`,
		new:  `return false`,
		pkg:  "lambdawrap", run: "TestEachMessageThatIsNotSentHasALineAndIsCounted",
	},
	{
		why:  "without a sweep a message that is not sent has two lines in the log",
		file: "idemddb/claim.go",
		old:  `return !s.opts.RedeliverUnsent`,
		new:  `return true`,
		pkg:  "lambdawrap", run: "TestAnUnsentMessageHasItsLinesAndComesBackOnlyWithoutASweep",
	},
	{
		why:  "a message of a request that is not sent leaves no line in the log",
		file: "lambdawrap/http.go",
		old:  `h.logNote(ctx, note{kind, key, err})`,
		new:  ``,
		pkg:  "lambdawrap", run: "TestEachMessageThatIsNotSentHasALineAndIsCounted",
	},
	{
		why:  "a message of any function that is not sent leaves no line in the log",
		file: "lambdawrap/func.go",
		old:  `f.logNote(work, note{kind, key, err}, m.id)`,
		new:  ``,
		pkg:  "lambdawrap", run: "TestEachMessageThatIsNotSentHasALineAndIsCounted",
	},
	{
		why:  "with a context of its own, a message that is not sent leaves no line in the log",
		file: "lambdawrap/work.go",
		old:  `ctx = m.derived`,
		new:  `return m.derived`,
		pkg:  "lambdawrap", run: "TestAnUnsentMessageHasItsLinesAndComesBackOnlyWithoutASweep",
	},
	{
		why:  "a message that hangs keeps back the rest of its segment in each sweep",
		file: "idemddb/outbox/sweep.go",
		old:  `minSegments+rand.Int32N(minSegments)`,
		new:  `minSegments+rand.Int32N(1)`,
		pkg:  "idemddb/outbox", run: "TestAMessageThatHangsDoesNotKeepBackTheSameOthersForEver/scan",
	},
	{
		why:  "a message that hangs keeps back the same others in each sweep",
		file: "idemddb/outbox/sweep.go",
		old:  `shuffle(page)`,
		new:  ``,
		pkg:  "idemddb/outbox", run: "TestAMessageThatHangsDoesNotKeepBackTheSameOthersForEver",
	},
	{
		why:  "the record is deleted as soon as its messages are sent",
		file: "internal/protocol/outbox.go",
		old:  `number(max(r.Record.Ends, now.Add(24*time.Hour).Unix()))`,
		new:  `number(r.Record.Ends)`,
		pkg:  "idemddb/outbox", run: "TestAfterSixDaysEveryMessageArrives",
	},
	{
		why:  "a duplicate sends what is a second old",
		file: "idemddb/deliver.go",
		old:  `>= unsentAfter:`,
		new:  `>= 0:`,
		pkg:  "internal/contract", run: "TestContractInMemory/.*/outbox:_a_duplicate_sends",
	},
	{
		why:  "a record with unsent messages is cached",
		file: "idemddb/acquire.go",
		old: `	if len(rec.Outbox) > 0 {
		a.unsentRecord = rec
	} else {
		a.store.cache.add(a.Partition, rec)
	}`,
		new: `	if len(rec.Outbox) > 0 {
		a.unsentRecord = rec
	}

	a.store.cache.add(a.Partition, rec)`,
		pkg: "idemddb", run: "TestACompletionWithEffectsIsCachedUnlessMessagesAreUnsent",
	},
	{
		why:  "Stage does not keep that it refused something",
		file: "idemddb/stage.go",
		old: `} else if s.failed == nil {
		s.failed = fmt.Errorf("%w: %w", ErrNotStaged, err)
	}`,
		new: `}`,
		pkg: "idemddb", run: "TestDoIsNotDoneIfItsWorkIgnores",
	},
	{
		why:  "Unstage does not forget what Stage refused",
		file: "idemddb/stage.go",
		old:  `s.effects, s.parts, s.staged, s.failed, s.bad = effects{}, nil, false, nil, nil`,
		new:  `s.effects, s.parts, s.staged = effects{}, nil, false`,
		pkg:  "idemddb", run: "TestDoIsNotDoneIfItsWorkIgnores",
	},
	{
		why:  "Do completes its key although Stage refused something",
		file: "idemddb/work.go",
		old: `	if err == nil {
		err = w.TakeStageErr()
	}
`,
		new: `	if stage := w.TakeStageErr(); err == nil && w.claim == nil {
		err = stage
	}
`,
		pkg: "idemddb", run: "TestDoIsNotDoneIfItsWorkIgnores",
	},
	{
		why:  "Do without a claim commits although Stage refused something",
		file: "idemddb/work.go",
		old: `	if err == nil {
		err = w.TakeStageErr()
	}
`,
		new: `	if stage := w.TakeStageErr(); err == nil && w.claim != nil {
		err = stage
	}
`,
		pkg: "idemddb", run: "TestDoIsNotDoneIfItsWorkIgnores",
	},
	{
		why:  "Complete writes although Stage refused something",
		file: "idemddb/complete.go",
		old:  `if err := c.staging.failure(); err != nil {`,
		new:  `if err := c.staging.failure(); err != nil && c == nil {`,
		pkg:  "idemddb", run: "TestAClaimIsNotCompletedIfItsWorkIgnores",
	},
	{
		why:  "CompleteWith writes although Stage refused something",
		file: "idemddb/complete_with.go",
		old:  `if err := c.staging.failure(); err != nil {`,
		new:  `if err := c.staging.failure(); err != nil && c == nil {`,
		pkg:  "idemddb", run: "TestAClaimIsNotCompletedIfItsWorkIgnores",
	},
	{
		why:  "a message is done although its handler ignored an error of Stage",
		file: "idemddb/work.go",
		old: `	if err == nil {
		err = w.TakeStageErr()`,
		new: `	if err == nil && w.TakeStageErr() == nil {
		err = w.TakeStageErr()`,
		pkg: "lambdawrap", run: "TestAMessageWhoseHandlerIgnoresAnErrorOfStage",
	},
	{
		why:  "an answer of 4xx that reports an error of Stage is a mistake of the server",
		file: "lambdawrap/http_exchange.go",
		old:  `case errStage != nil && status < http.StatusBadRequest:`,
		new:  `case errStage != nil:`,
		pkg:  "lambdawrap", run: "TestHTTPWhatCannotBeStagedIsLoggedOnceWhateverTheHandlerAnswers",
	},
	{
		why:  "work that ignores an error of CompleteWith is completed without its effects",
		file: "idemddb/work.go",
		old:  `cmp.Or(w.failed, w.bad)`,
		new:  `cmp.Or(w.failed, nil)`,
		pkg:  "idemddb", run: "TestWorkThatIgnoresTheErrorOfCompleteWithIsNotDone",
	},
	{
		why:  "a failure for good without a claim is not fenced: a late request of it ends a key that was reopened",
		file: "idemddb/reject.go",
		old:  `if panicerror.IsPermanent(cause) {`,
		new:  `if false {`,
		pkg:  "idemddb", run: "TestALateRequestOfAFailureWithoutAClaimDoesNotEndAReopenedKey",
	},
	{
		why:  "a commit that was applied after its refusal is a replay of another run",
		file: "idemddb/optimistic.go",
		old:  `case a.committed != nil:`,
		new:  `case a.committed != nil && a.err != nil:`,
		pkg:  "idemddb", run: "TestACommitThatWasAppliedAfterItsRefusalIsCompleted",
	},
	{
		why:  "work without a claim is released over its own commit",
		file: "idemddb/reject.go",
		old:  ` && a.store.records.ReadFound(a.LastTry(), answer.Item).Verdict != protocol.Committed {`,
		new:  ` {`,
		pkg:  "idemddb", run: "TestACommitThatWasAppliedAfterItsRefusalIsCompleted/released",
	},
	{
		why:  "a release of work whose own completion has no answer is not sent",
		file: "idemddb/release.go",
		old:  `return c.release(ctx, cause, true)`,
		new:  `return c.release(ctx, cause, false)`,
		pkg:  "idemddb", run: "TestWorkWhoseOwnCompletionHasNoAnswer",
	},
	{
		why:  "a deferred release frees work that is done, because its completion has no answer",
		file: "idemddb/release.go",
		old:  `return c.release(ctx, cause, false)`,
		new:  `return c.release(ctx, cause, true)`,
		pkg:  "idemddb", run: "TestACompletionThatNeverGetsThroughIsUnrecorded",
	},
	{
		why:  "a release that was applied is fenced by the next claim",
		file: "idemddb/release.go",
		old:  `return f.IsUnknown && f.Found != nil &&`,
		new:  `return !f.IsUnknown && f.Found != nil &&`,
		pkg:  "idemddb", run: "TestAReleaseThatWasAppliedIsNotFencedByTheNextClaim",
	},
	{
		why:  "a release counts as applied because another one released the key",
		file: "idemddb/release.go",
		old:  `return f.IsUnknown && f.Found != nil &&`,
		new:  `return f.Found != nil &&`,
		pkg:  "idemddb", run: "TestAReleaseAfterThatOfAnOperatorAndTheNextClaimIsFenced",
	},
	{
		why:  "a release that a takeover refuses is no error",
		file: "idemddb/release.go",
		old:  `f.Found.Previous <= 0`,
		new:  `f.Found.Previous <= *f.Found.Lease`,
		pkg:  "idemddb", run: "TestAReleaseAfterATakeoverIsFenced",
	},
	{
		why:  "work that ignores a refused effect is done without it",
		file: "idemddb/stage.go",
		old:  `= false, nil, fmt.Errorf("%w: %w", ErrNotStaged, refused)`,
		new:  `= false, nil, nil`,
		pkg:  "idemddb", run: "TestWorkThatIgnoresTheErrorOfCompleteWithIsNotDone",
	},
	{
		why:  "work that stages anew after a refused effect is not done",
		file: "idemddb/stage.go",
		old:  `s.effects, s.parts, s.staged, s.bad = all, append(s.parts, e), true, nil`,
		new:  `s.effects, s.parts, s.staged = all, append(s.parts, e), true`,
		pkg:  "idemddb", run: "TestWorkThatIgnoresTheErrorOfCompleteWithIsNotDone",
	},
	{
		why:  "after a refused CompleteWith nothing can be staged",
		file: "idemddb/complete_with.go",
		old:  `c.staging.resume(refused)`,
		new:  `_ = refused`,
		pkg:  "idemddb", run: "TestWorkThatIgnoresTheErrorOfCompleteWithIsNotDone",
	},
	{
		why:  "after a refused effect the lease is renewed only at its end",
		file: "idemddb/renew.go",
		old:  `pause := r.claim.store.renewalPause(r.claim.left())`,
		new:  `pause := r.claim.left()`,
		pkg:  "idemddb", run: "TestAfterARefusedEffectTheLeaseIsRenewedInTime",
	},
	{
		why:  "Do returns its own value although another worker completed the key after a refused effect",
		file: "idemddb/release.go",
		old:  `fenced.Record != nil && fenced.Current == c.held.Fence {`,
		new:  `fenced.Record != nil {`,
		pkg:  "idemddb", run: "TestARefusedEffectBesideAnotherCompletion",
	},
}
