package mutation

// settleMutants change how a claim is settled and renewed.
var settleMutants = []mutant{
	{
		why:  "without options a key can be taken over as soon as the fastest clock says that its lease is over",
		file: "idemddb/options.go",
		old:  `o.ClockSkew = cmp.Or(o.ClockSkew, defaultClockSkew)`,
		new:  ``,
		pkg:  "idemddb", run: "TestAStoreHasTheDefaultsThatItsOptionsDocument",
	},
	{
		why:  "the result of the work's own completion with effects is forgotten if that has no answer",
		file: "idemddb/complete.go",
		old:  `errors.Is(o.answer, ErrUnrecorded) || errors.Is(o.answer, ErrUncommitted)`,
		new:  `errors.Is(o.answer, ErrUnrecorded)`,
		pkg:  "idemddb", run: "TestTheResultOfAnOwnCompletionWithoutAnAnswerIsKept",
	},
	{
		why:  "work that returns the error of its own completion is released, and runs again",
		file: "idemddb/work.go",
		old:  `case c.doneBy(err):`,
		new:  `case c.doneBy(err) && false:`,
		pkg:  "idemddb", run: "TestRunEndsAKeyAsItsWorkEnds/it_returns_the_error_of_its_own_completion",
	},
	{
		why:  "work that failed after its own completion, which is not known to be written, counts as done",
		file: "idemddb/complete.go",
		old: `		err = errors.Unwrap(err)
	}

	return err != nil && isDone(err)`,
		new: `		if err = errors.Unwrap(err); errors.Is(answer, ErrUnrecorded) {
			err = answer
		}
	}

	return err != nil && isDone(err)`,
		pkg: "idemddb", run: "TestRunEndsAKeyAsItsWorkEnds/it_returns_that_error_joined_with_its_own",
	},
	{
		why:  "a completion by the work itself that had no answer is not sent again when there is more time",
		file: "idemddb/complete.go",
		old:  `if !own.isUnknown() {`,
		new:  `if own.answer != nil {`,
		pkg:  "idemddb", run: "TestWorkWhoseOwnCompletionHasNoAnswer",
	},
	{
		why:  "failed work is done although another worker's messages are unsent",
		file: "idemddb/release.go",
		old:  `} else if e.Kind = KindFenced; !errors.Is(err, ErrUnsent) {`,
		new:  `} else if e.Kind = KindFenced; e.Kind != "" {`,
		pkg:  "idemddb", run: "TestFailedWorkIsNotDoneWhileMessagesOfAnotherWorkerAreUnsent",
	},
	{
		why:  "a transaction that was applied late is done although its messages are unsent",
		file: "idemddb/release.go",
		old:  `case errors.Is(err, ErrUnsent): // only the transaction can have completed this claim`,
		new:  `case errors.Is(err, ErrUnsent) && c == nil:`,
		pkg:  "idemddb", run: "TestARefusedEffectOfAnAppliedTransactionIsNotDoneWhileItsMessagesAreUnsent",
	},
	{
		why:  "done work fails because the result of its own record cannot be read",
		file: "idemddb/complete.go",
		old:  `case fenced.unread != nil && fenced.Current != fenced.Held:`,
		new:  `case fenced.unread != nil:`,
		pkg:  "idemddb", run: "TestDoneWorkNeedsNoResultOfItsOwnRecord",
	},
	{
		why:  "the value of fn that failed is returned although another worker has completed the key",
		file: "idemddb/release.go",
		old: `	} else if e.Kind = KindFenced; !errors.Is(err, ErrUnsent) {
		e.Record = fenced.other()`,
		new: `	} else if e.Kind = KindFenced; fenced == nil {
		e.Record = fenced.other()`,
		pkg: "idemddb", run: "TestRunEndsAKeyAsItsWorkEnds/another_worker_completes_the_key,_and_it_fails",
	},
	{
		why:  "a completion that was fenced is kept in memory and replayed",
		file: "idemddb/complete.go",
		old: `if err == nil && s.opts.Cache > 0 && !s.disabled {
		c.cacheRecord`,
		new: `if (err == nil || errors.Is(err, ErrFenced)) && s.opts.Cache > 0 {
		c.cacheRecord`,
		pkg: "idemddb", run: "TestACompletionThatIsFencedIsNotCached",
	},
	{
		why:  "a cached record has the times of the last try, not those that were stored",
		file: "idemddb/complete.go",
		old:  `done = *f.Found // an`,
		new:  `done.State = f.Found.State // an`,
		pkg:  "idemddb", run: "TestACachedRecordEndsWithTheStoredOne",
	},
	{
		why:  "a result that does not fit keeps the completion from being written",
		file: "idemddb/complete.go",
		old: `if e.isEmpty() {
		err = c.complete(ctx, result, value, omitted)
	} else {`,
		new: `if omitted != nil {
		err = omitted
	} else if len(e.Items) == 0 && len(e.Messages) == 0 {
		err = c.complete(ctx, result, value, omitted)
	} else {`,
		pkg: "idemddb", run: "TestAResultThatIsTooLargeIsCompletedWithoutIt",
	},
	{
		why:  "an error that no completion returns counts as done",
		file: "idemddb/complete.go",
		old:  `return errors.Is(err, ErrUnrecorded) || errors.Is(err, ErrResultOmitted)`,
		new:  `return true`,
		pkg:  "idemddb", run: "TestIsDoneHoldsOnlyForWorkThatIsDone",
	},
	{
		why:  "work whose completion is not known to be recorded does not count as done",
		file: "idemddb/complete.go",
		old:  `return errors.Is(err, ErrUnrecorded) || errors.Is(err, ErrResultOmitted)`,
		new:  `return errors.Is(err, ErrResultOmitted)`,
		pkg:  "idemddb", run: "TestTheStepsOfTheDocsReportFailedWorkAndAcknowledgeFinishedWork",
	},
	{
		why:  "a completion that never got through is not ErrUnrecorded",
		file: "idemddb/complete.go",
		old:  `err = fmt.Errorf("%w: %w", err, ErrUnrecorded)`,
		new:  `err = fmt.Errorf("%w: %s", err, "unrecorded")`,
		pkg:  "idemddb", run: "TestACompletionThatNeverGetsThroughIsUnrecorded",
	},
	{
		why:  "an extension makes the lease of the holder shorter",
		file: "idemddb/renew.go",
		old:  `if lease.After(c.lease) {`,
		new:  `if true {`,
		pkg:  "idemddb", run: "TestTheDeadlineOfAClaimNeverFalls",
	},
	{
		why:  "an extension is a success although the key was settled",
		file: "idemddb/renew.go",
		old:  `if c.held.Matches(found) && found.State == record.InProgress && found.Lease != nil`,
		new:  `if c.held.Matches(found) && found.Lease != nil`,
		pkg:  "idemddb", run: "TestASettlementIsNotRecognisedInTheRecordOfAnotherClaim",
	},
	{
		why:  "a settlement is recognised although another claim of the key wrote it, with the same fencing token",
		file: "internal/protocol/settle.go",
		old:  `found.IsOwn(h.Token) && *found.Fence == h.Fence`,
		new:  `*found.Fence == h.Fence`,
		pkg:  "idemddb", run: "TestASettlementIsNotRecognisedInTheRecordOfAnotherClaim",
	},
	{
		why:  "a settlement is recognised although the key was reopened since",
		file: "internal/protocol/settle.go",
		old:  `found.IsOwn(h.Token) && *found.Fence == h.Fence`,
		new:  `found.IsOwn(h.Token)`,
		pkg:  "idemddb", run: "TestASettlementIsNotRecognisedInTheRecordOfAnotherClaim",
	},
	{
		why:  "a completion is recognised in a record with another result",
		file: "idemddb/complete.go",
		old:  `!sameResult(f.Found.Result, w.value) && !c.store.results.isSame`,
		new:  `w.value == nil && !c.store.results.isSame`,
		pkg:  "idemddb", run: "TestCompletingAgainWithAnotherResultIsFenced",
	},
	{
		why:  "a completion that arrives late completes a key that was released",
		file: "internal/protocol/settle.go",
		old:  `h.write(condHeld, updateComplete,`,
		new:  `h.write(condOwn+" AND (lease > :zero OR lease <= :zero)", updateComplete,`,
		pkg:  "internal/contract", run: "TestContractInMemory/.*/a_complete,_fail_or_extend_that_arrives_late",
	},
	{
		why:  "a failure that arrives late ends a key that was released",
		file: "internal/protocol/settle.go",
		old:  `h.write(condHeld, updateFail,`,
		new:  `h.write(condOwn+" AND (lease > :zero OR lease <= :zero)", updateFail,`,
		pkg:  "internal/contract", run: "TestContractInMemory/.*/a_complete,_fail_or_extend_that_arrives_late",
	},
	{
		why:  "a release after the settlement of the claim costs a request and an event",
		file: "idemddb/complete.go",
		old:  `case c.settling && !anew:`,
		new:  `case c.settling && c.store == nil:`,
		pkg:  "idemddb", run: "TestADeferredReleaseOfASettledClaimDoesNothing",
	},
	{
		why:  "a claim that its handler settled goes on being renewed",
		file: "idemddb/renew.go",
		old: `if c.isSettling() {
		return 0, false
	}`,
		new: ``,
		pkg: "idemddb", run: "TestARenewalDoesNotFollowASettlement",
	},
	{
		why:  "a renewal that meets the settlement of its own claim cancels the work",
		file: "idemddb/renew.go",
		old:  `case ctx.Err() != nil, c.isSettling():`,
		new:  `case ctx.Err() != nil:`,
		pkg:  "idemddb", run: "TestARenewalThatMeetsTheSettlementOfItsClaimIsNoLoss",
	},
	{
		why:  "a renewal that meets the settlement of its own claim emits an event fenced",
		file: "idemddb/claim.go",
		old:  `settled := op == "extend" && c.settling`,
		new:  `settled := op == "" && c.settling`,
		pkg:  "idemddb", run: "TestARenewalThatMeetsTheSettlementOfItsClaimIsNoLoss",
	},
	{
		why:  "work goes on after its claim was lost",
		file: "idemddb/renew.go",
		old: `case errors.Is(err, ErrFenced):
		r.cancel(err)`,
		new: `case errors.Is(err, ErrFenced):`,
		pkg: "lambdawrap", run: "TestALostClaimCancelsTheHandler",
	},
	{
		why:  "work goes on after its lease ran out unrenewed",
		file: "idemddb/renew.go",
		old:  `case err != nil && left <= 0:`,
		new:  `case err != nil && left <= -time.Hour:`,
		pkg:  "idemddb", run: "TestALeaseThatCannotBeRenewedCancelsTheWorkWhenItEnds",
	},
	{
		why:  "stop returns while a renewal is under way, which Lambda then freezes",
		file: "idemddb/renew.go",
		old: `if running != nil {
		<-running
	}`,
		new: `_ = running`,
		pkg: "idemddb", run: "TestStopWaitsForTheEndOfARenewalThatIsUnderWay",
	},
	{
		why:  "the end of the work's context keeps its record from being written",
		file: "internal/engine/invocation.go",
		old:  `context.WithDeadline(context.WithoutCancel(ctx), end)`,
		new:  `context.WithDeadline(ctx, end)`,
		pkg:  "idemddb", run: "TestAnEndedContextDoesNotKeepASettlementFromBeingWritten",
	},
	{
		why:  "a write that settles has less than 2 s at the end of its context's deadline",
		file: "internal/engine/invocation.go",
		old:  `return least`,
		new:  `return deadline`,
		pkg:  "idemddb", run: "TestASettlementIsSentUntilTheEndOfItsTimeWithShortPauses",
	},
	{
		why:  "a write that settles ends with the deadline of its context, not when the wrapper says",
		file: "internal/engine/invocation.go",
		old:  `ok && times == nil {`,
		new:  `ok {`,
		pkg:  "idemddb", run: "TestASettlementIsSentUntilTheTimeThatTheWrapperSets",
	},
	{
		why:  "without a deadline, a write that settles gives up before a Lease is over",
		file: "internal/engine/invocation.go",
		old:  `return time.Now().Add(lease)`,
		new:  `return time.Now().Add(settleTime)`,
		pkg:  "idemddb", run: "TestASettlementIsSentUntilTheEndOfItsTimeWithShortPauses",
	},
	{
		why:  "a completion gives up with the first AccessDenied",
		file: "internal/engine/invocation.go",
		old:  `Pause: SettlePause, Denied: lease}`,
		new:  `Pause: SettlePause}`,
		pkg:  "idemddb", run: "TestACompletionThatIsDeniedForAMomentIsRecorded",
	},
	{
		why:  "a write that settles pauses for up to a second",
		file: "internal/engine/invocation.go",
		old:  `Pause: SettlePause, Denied: lease}`,
		new:  `Pause: 5 * SettlePause, Denied: lease}`,
		pkg:  "idemddb", run: "TestASettlementIsSentUntilTheEndOfItsTimeWithShortPauses",
	},
	{
		why:  "work that succeeded is run again although another worker has completed its key",
		file: "idemddb/complete.go",
		old:  `return fenced.Record != nil || `,
		new:  `return `,
		pkg:  "lambdawrap", run: "TestWhatAFencedSuccessBecomes",
	},
	{
		why:  "work that succeeded is run again because its record was deleted meanwhile",
		file: "idemddb/complete.go",
		old:  `fenced.Current == 0 ||`,
		new:  ``,
		pkg:  "idemddb", run: "TestDoReturnsTheValueOfWorkWhoseRecordWasDeleted",
	},
	{
		why:  "work that succeeded is dead-lettered because another worker gave its key up",
		file: "idemddb/complete.go",
		old:  `fenced.Current == 0 || fenced.Current == fenced.Held`,
		new:  `fenced.Current == 0`,
		pkg:  "idemddb", run: "TestWorkThatSucceedsAfterItsKeyWasGivenUpIsDone",
	},
	{
		why:  "Do returns its own value although another worker completed the key with another one",
		file: "idemddb/complete.go",
		old: `	case !errors.Is(err, ErrUnsent):
		e.Record = fenced.other()`,
		new: `	case err == nil:
		e.Record = fenced.other()`,
		pkg: "internal/contract", run: "TestContractInMemory/simple_key/Do:_work_that_was_taken_over_by_a_worker_that_completed",
	},
	{
		why:  "the cause of a context is taken for the answer to another key",
		file: "internal/engine/call.go",
		old:  `if end := sleep.EndOf(ctx); !errors.Is(err, end) {`,
		new:  `if end := context.Cause(ctx); sleep.EndOf(ctx) != nil && !errors.Is(err, end) {`,
		pkg:  "idemddb", run: "TestTheCauseOfAContextIsNoAnswerForAnotherKey|TestTheCauseOfAContextDoesNotFenceAnotherClaim",
	},
	{
		why:  "work counts as done whose message is not sent, because of the error of its sender",
		file: "idemddb/complete.go",
		old:  `return err == nil || !errors.Is(err, ErrUnsent) && (`,
		new:  `return err == nil || (`,
		pkg:  "idemddb", run: "TestTheErrorOfASenderDoesNotSayThatItsMessageIsSent",
	},
	{
		why:  "a claim is settled anew because the sender of its message had an effect refused",
		file: "idemddb/work.go",
		old:  `ok && !errors.Is(err, ErrUnsent) {`,
		new:  `ok {`,
		pkg:  "idemddb", run: "TestTheErrorOfASenderDoesNotSayThatItsMessageIsSent",
	},
	{
		why:  "the work goes on without renewal after a client has ended its goroutine",
		file: "idemddb/renew.go",
		old:  `failure := errRenewalExited // of`,
		new:  `failure := error(nil) // of`,
		pkg:  "idemddb", run: "TestAPanicOfTheClientInARenewalCancelsTheWork",
	},
	{
		why:  "a refused effect wakes only the renewal that began last",
		file: "idemddb/renew.go",
		old:  `c.renewers = append(c.renewers, r)`,
		new:  `c.renewers = []*renewer{r}`,
		pkg:  "idemddb", run: "TestAClaimThatIsKeptTwiceIsRenewedAfterARefusedEffect",
	},
	{
		why:  "a Store that is turned off writes effects twice because their message is not sent",
		file: "idemddb/complete_with.go",
		old:  `if err == nil || errors.Is(err, ErrUnsent) { // the`,
		new:  `if err == nil { // the`,
		pkg:  "idemddb", run: "TestDisabledEffectsHappenWithoutARecord",
	},
	{
		why:  "the result of the work's own completion is replaced by none",
		file: "idemddb/work.go",
		old:  `result, omitted = own.result, own.omitted`,
		new:  `omitted = own.omitted`,
		pkg:  "idemddb", run: "TestTheResultOfAnOwnCompletionWithoutAnAnswerIsKept",
	},
	{
		why:  "a key is held whose work returned an error that cannot be read",
		file: "idemddb/run.go",
		old:  `panicerror.Readable(err) != nil {`,
		new:  `err != nil {`,
		pkg:  "idemddb", run: "TestAKeyIsReleasedWhoseWorkReturnsAnErrorThatCannotBeRead",
	},
	{
		why:  "a message comes back as soon as the last one of its envelope needs it",
		file: "lambdawrap/visibility.go",
		old:  `e.seconds = max(e.seconds, seconds)`,
		new:  `e.seconds = seconds`,
		pkg:  "lambdawrap", run: "TestAnEnvelopeStaysHiddenForAsLongAsOneOfItsMessagesNeeds",
	},
	{
		why:  "Forget says that nothing was changed although it has deleted the record",
		file: "idemddb/operate/change.go",
		old:  `case ok && refused.Item[record.Operator] == nil: // workers`,
		new:  `case false: // workers`,
		pkg:  "idemddb/operate", run: "TestForgetDoesNotSayThatNothingWasChangedWhenItHasDeletedTheRecord",
	},
}
