package mutation

// claimMutants change how a key is claimed, and what a claim believes.
var claimMutants = []mutant{
	{
		why:  "what a line knew outlives its last call",
		file: "idemddb/line.go",
		old:  `delete(ls.keys, partition)`,
		new:  `_ = partition`,
		pkg:  "idemddb", run: "TestAfterTheLastWaiterHasLeftTheNextOneAsksAtOnce",
	},
	{
		why:  "the end of an invocation that has lost its key ends the wait for the one that has taken it over",
		file: "lambdawrap/work.go",
		old:  `v.inHand.CompareAndDelete(m.asks.Key, ended)`,
		new:  `v.inHand.Delete(m.asks.Key)`,
		pkg:  "lambdawrap", run: "TestAMessageWaitsForTheInvocationThatHasTakenItsKeyOver",
	},
	{
		why:  "each caller that waits for a key sends its own claims",
		file: "idemddb/line.go",
		old:  `sends: !l.hasSender`,
		new:  `sends: true`,
		pkg:  "idemddb", run: "TestAThousandWaitersAskOnce",
	},
	{
		why:  "no call sends claims when the one that did has left",
		file: "idemddb/line.go",
		old:  `l.hasSender = false`,
		new:  ``,
		pkg:  "idemddb", run: "TestAReleasedKeyIsClaimedByOneWaiterAndTheOthersWaitOn",
	},
	{
		why:  "the answer to a caller with another input is an answer for all",
		file: "idemddb/wait.go",
		old:  `a.store.records.Judge(a.LastTry(), v.found); answer`,
		new:  `(protocol.ClaimAnswer{Verdict: protocol.InUse, Found: v.found}); answer`,
		pkg:  "idemddb", run: "TestAThousandWaitersAskOnce",
	},
	{
		why:  "callers wait for one that DynamoDB does not answer",
		file: "idemddb/line.go",
		old:  `l.isAlone = true`,
		new:  ``,
		pkg:  "idemddb", run: "TestWaitersAskForThemselvesWhenDynamoDBDoesNotAnswer",
	},
	{
		why:  "a key that this very process works on is reported as in progress",
		file: "lambdawrap/invocation.go",
		old:  `own, isOwn := v.inHand.Load(m.asks.Key)`,
		new:  `own, isOwn := v.inHand.Load("")`,
		pkg:  "lambdawrap", run: "TestAMessageWhoseKeyAnotherInvocationOfTheProcessWorksOnWaitsForItsEnd",
	},
	{
		why:  "the handler of a message runs for nothing whose key this very process is about to commit",
		file: "lambdawrap/work.go",
		old:  `if isTwin = isTwin && m.unclaimed; isTwin {`,
		new:  `if isTwin = false; isTwin {`,
		pkg:  "lambdawrap", run: "TestAMessageWhoseKeyAnotherInvocationOfTheProcessWorksOnWaitsForItsEnd/optimistic",
	},
	{
		why:  "an optimistic message that has waited for another invocation runs without a claim",
		file: "lambdawrap/invocation.go",
		old: `	m.unclaimed = false

`,
		new: ``,
		pkg: "lambdawrap", run: "TestAMessageWhoseKeyAnotherInvocationOfTheProcessWorksOnWaitsForItsEnd/optimistic",
	},
	{
		why:  "a nested call waits for the key that its own caller holds",
		file: "idemddb/refusal.go",
		old:  `return w.claim.isHeld()`,
		new:  `return false`,
		pkg:  "idemddb", run: "TestANestedCallForTheSameKeyIsRefusedAtOnce/Do",
	},
	{
		why:  "a nested call completes the key of work without a claim, whose effects are lost",
		file: "idemddb/refusal.go",
		old:  `return !w.staging.isClosed()`,
		new:  `return false`,
		pkg:  "idemddb", run: "TestANestedCallForTheSameKeyIsRefusedAtOnce/Do",
	},
	{
		why:  "a call by another Store completes the key of work without a claim, whose effects are lost",
		file: "idemddb/refusal.go",
		old:  `w.claim == nil && own.table == other.table`,
		new:  `false`,
		pkg:  "idemddb", run: "TestANestedCallByAnotherStoreIsRefusedIfTheWorkHasNoClaim",
	},
	{
		why:  "a call for the key of work that is not the innermost waits for its own caller",
		file: "idemddb/refusal.go",
		old:  `w != nil; w = w.outer {`,
		new:  `w != nil; w = nil {`,
		pkg:  "idemddb", run: "Nested",
	},
	{
		why:  "work that has completed its claim itself cannot ask for its own result",
		file: "idemddb/claim.go",
		old:  `return !c.settling && c.lost == nil`,
		new:  `return c.lost == nil`,
		pkg:  "idemddb", run: "TestANestedCallForAKeyThatIsNotHeldAsksTheRecord",
	},
	{
		why:  "a claim that is recognised by its owner token trusts a lease from now on, not the stored one",
		file: "internal/protocol/claim.go",
		old:  `Lease: rec.Until()}`,
		new:  `Lease: try.Stamp.Lease}`,
		pkg:  "idemddb", run: "TestAClaimThatIsRecognisedHasTheLeaseOfItsRecord",
	},
	{
		why:  "a record with the own token is a won claim although its key was ended as FAILED meanwhile",
		file: "internal/protocol/verdict.go",
		old: `		return Committed
	case found.State == record.Failed:
		return Failed`,
		new: `		return Committed
	case found.State == record.Failed:
		return Won`,
		pkg: "idemddb", run: "TestARecordWithTheOwnTokenThatWasEndedIsNotAWonClaim",
	},
	{
		why:  "a record with the own token is a won claim although its key was released meanwhile",
		file: "internal/protocol/verdict.go",
		old:  `case found.State == record.InProgress && found.Lease != nil && *found.Lease > 0:`,
		new:  `case found.State == record.InProgress && found.Lease != nil:`,
		pkg:  "idemddb", run: "TestARecordWithTheOwnTokenThatWasEndedIsNotAWonClaim",
	},
	{
		why:  "a record with the own token is a won claim although it is completed",
		file: "internal/protocol/verdict.go",
		old:  `case found.State == record.InProgress && found.Lease != nil && *found.Lease > 0:`,
		new:  `case found.Lease != nil && *found.Lease > 0:`,
		pkg:  "idemddb", run: "TestARecordWithTheOwnTokenThatWasEndedIsNotAWonClaim",
	},
	{
		why:  "a takeover that was given back unused is claimed as a fresh start after a lost reply",
		file: "internal/protocol/claim.go",
		old:  `held := Held{try.Partition, try.Token, *rec.Fence, rec.Attempts, rec.Previous}`,
		new:  `held := Held{try.Partition, try.Token, *rec.Fence, rec.Attempts, max(0, rec.Previous)}`,
		pkg:  "idemddb", run: "TestATakeoverThatWasReturnedIsATakeoverAlsoIfItsAnswerIsLost",
	},
	{
		why:  "the tries of a claim keep the clock of the first one",
		file: "internal/protocol/claim.go",
		old: `c.Last = c.Stamp()

	return Request{`,
		new: `if c.Last.Now.IsZero() {
		c.Last = c.Stamp()
	}

	return Request{`,
		pkg: "idemddb", run: "TestEachTryOfAClaimHasThePresentTime",
	},
	{
		why:  "the statements of a claim keep the clock of the first try",
		file: "internal/protocol/claim.go",
		old: `c.Last = c.Stamp()

	return c.Table.ClaimStatement(`,
		new: `if c.Last.Now.IsZero() {
		c.Last = c.Stamp()
	}

	return c.Table.ClaimStatement(`,
		pkg: "idemddb", run: "TestEachTryOfAClaimHasThePresentTime",
	},
	{
		why:  "the fencing token falls when a record past its retention is claimed by a clock that is behind",
		file: "internal/protocol/anew.go",
		old:  `return max(*old.Fence+1, firstFence(s))`,
		new:  `return firstFence(s)`,
		pkg:  "idemddb", run: "TestTheFencingTokenOfARecordPastItsRetentionRisesWithAnyClock",
	},
	{
		why:  "the fencing token of a record past its retention does not follow the clock, so that a deletion could make it fall later",
		file: "internal/protocol/anew.go",
		old:  `return max(*old.Fence+1, firstFence(s))`,
		new:  `return *old.Fence + 1`,
		pkg:  "idemddb", run: "TestTheFencingTokenOfARecordPastItsRetentionRisesWithAnyClock",
	},
	{
		why:  "a claim of a record past its retention is held although nothing says that it was written",
		file: "internal/wire/wire.go",
		old:  `if len(item) > 0 {`,
		new:  `if err == nil {`,
		pkg:  "internal/contract", run: "TestContractInMemory/.*/a_claim_of_a_record_past_its_retention_that_is_not_answered",
	},
	{
		why:  "an answer to a claim without content is taken for a new key",
		file: "internal/wire/wire.go",
		old:  `if len(item) > 0 {`,
		new:  `if err == nil {`,
		pkg:  "internal/wire", run: "TestWhatAnAnswerSaysOfItsRequest",
	},
	{
		why:  "an UPDATE that does not return its old item is taken for a new key",
		file: "internal/protocol/claim.go",
		old:  `if a.IsShared && try.IsNew {`,
		new:  `if a.IsShared && (try.IsNew || len(a.Item) == 0) {`,
		pkg:  "idemddb", run: "TestATakeoverWithoutItsOldItemIsClaimedByASingleRequest",
	},
	{
		why:  "an unknown outcome of the write that ends a key is answered as ErrFailed, so that a message is dead-lettered without proof",
		file: "idemddb/replace.go",
		old: `default:
		return keyError("claim", a.key, err)
	}`,
		new: `default:
		return &FailedError{Key: a.key, Cause: cause, Attempts: rec.Attempts}
	}`,
		pkg: "idemddb", run: "TestAGiveUpWithAnUnknownOutcomeIsNoFailure",
	},
	{
		why:  "a claim is ended as FAILED, and ErrFailed is the answer, although its holder has renewed or released it meanwhile",
		file: "idemddb/replace.go",
		old: `case errors.Is(err, ErrFenced):
		return keyError("claim", a.key, ErrChanged) // it was`,
		new: `case errors.Is(err, ErrFenced):
		return &FailedError{Key: a.key, Cause: cause, Attempts: rec.Attempts} // it was`,
		pkg: "idemddb", run: "TestAKeyThatIsGivenBackBeforeItIsGivenUpIsNotEnded",
	},
	{
		why:  "a claim is returned however little of its lease is left",
		file: "idemddb/acquire.go",
		old:  `if !a.isShort {`,
		new:  `if !a.isShort || true {`,
		pkg:  "internal/contract", run: "TestContractInMemory/.*/a_claim_that_an_outage_delays",
	},
	{
		why:  "a claim is returned with a third of its lease",
		file: "idemddb/acquire.go",
		old:  `now.Lease.Sub(now.Now)/2`,
		new:  `now.Lease.Sub(now.Now)/3`,
		pkg:  "internal/contract", run: "TestContractInMemory/simple_key/a_claim_whose_answer_comes_when_less",
	},
	{
		why:  "a claim with more than half of its lease is extended at once",
		file: "idemddb/acquire.go",
		old:  `now.Lease.Sub(now.Now)/2`,
		new:  `now.Lease.Sub(now.Now)*3/4`,
		pkg:  "internal/contract", run: "TestContractInMemory/simple_key/a_claim_whose_answer_comes_when_more",
	},
	{
		why:  "half of the whole lease is demanded where the deadline allows less",
		file: "idemddb/acquire.go",
		old:  `now.Lease.Sub(now.Now)/2`,
		new:  `a.store.opts.Lease/2`,
		pkg:  "idemddb", run: "TestALeaseThatEndsAtTheDeadlineIsNotExtended",
	},
	{
		why:  "a claim is returned although its lease is over again when the extension is answered",
		file: "idemddb/acquire.go",
		old:  `return err == nil && a.claim.left() > 0`,
		new:  `return err == nil`,
		pkg:  "idemddb", run: "TestAClaimWhoseExtensionIsAnsweredTooLateBeginsAnew",
	},
	{
		why:  "a claim that is lost before it is returned is returned",
		file: "idemddb/acquire.go",
		old:  `return err == nil && a.claim.left() > 0`,
		new:  `return err != nil || a.claim.left() > 0`,
		pkg:  "internal/contract", run: "TestContractInMemory/simple_key/a_claim_whose_answer_comes_when_another",
	},
	{
		why:  "a claim without an answer goes on until its context ends",
		file: "idemddb/acquire.go",
		old:  `a.store.opts.ClaimPatience)`,
		new:  `a.store.opts.ClaimPatience+time.Hour)`,
		pkg:  "idemddb", run: "TestAClaimThatIsNotAnsweredEndsWithItsRetryTime",
	},
	{
		why:  "a claim that is denied is sent again",
		file: "idemddb/acquire.go",
		old:  `Pause: claimCap}`,
		new:  `Pause: claimCap, Denied: time.Minute}`,
		pkg:  "idemddb", run: "TestAnAnswerThatRefusesTheRequestIsFinalForAClaim",
	},
	{
		why:  "each claim of a batch waits for the whole ClaimPatience in an outage",
		file: "internal/engine/invocation.go",
		old:  `if g.exhausted && now.Before(end) {`,
		new:  `if g.exhausted && end.Before(now) {`,
		pkg:  "idemddb", run: "TestClaimsOfABatchThatAreNotAnsweredEndWithTheirRetryTime|TestAnOutageOfManyClaimsDoesNotHoldTheInvocation",
	},
	{
		why:  "the record of a claim ends with its lease, so that it can be deleted under a holder whose clock is behind",
		file: "internal/protocol/table.go",
		old:  `held := s.Lease.Add(2 * t.ClockSkew); held`,
		new:  `held := s.Lease; held`,
		pkg:  "idemddb", run: "TestARecordOutlivesItsLeaseByTwiceTheSkew",
	},
	{
		why:  "a lease is not cut to the deadline",
		file: "idemddb/claim.go",
		old:  `lease = max(0, min(lease, time.Until(deadline)))`,
		new:  `lease = max(0, lease)`,
		pkg:  "idemddb", run: "TestALeaseIsBoundByTheInvocationAndNotByTheContext",
	},
	{
		why:  "another input under a completed key is answered from memory",
		file: "idemddb/acquire.go",
		old:  `case !rec.Matches(a.Fingerprint):`,
		new:  `case false:`,
		pkg:  "idemddb", run: "TestACachedRecordKnowsItsFingerprint",
	},
	{
		why:  "by default, a claim without an answer goes on for 20 s",
		file: "idemddb/options.go",
		old:  `cmp.Or(o.ClaimPatience, defaultClaimPatience)`,
		new:  `cmp.Or(o.ClaimPatience, 4*defaultClaimPatience)`,
		pkg:  "idemddb", run: "TestAClaimThatIsNotAnsweredEndsWithItsRetryTime",
	},
	{
		why:  "a lease of -1 counts as one that ran out, and replaces the time of the takeover before",
		file: "internal/protocol/settle.go",
		old:  `if h.Previous > 0 {`,
		new:  `if h.Previous != 0 {`,
		pkg:  "internal/contract", run: "TestContractInMemory/composite_key/tookat_stays",
	},
	{
		why:  "keys are claimed ahead of their work although a crash would use up an attempt of each",
		file: "idemddb/store.go",
		old:  `o.MaxAttempts > 0 || o.NoTakeover`,
		new:  `o.MaxAttempts < 0`,
		pkg:  "lambdawrap", run: "TestClaimsRunAtMostOneGroupAhead",
	},
	{
		why:  "a cached record answers after the end of its retention",
		file: "idemddb/cache.go",
		old:  `cmp.Or(rec.Ends, rec.Expires) <= now`,
		new:  `cmp.Or(rec.Ends, rec.Expires) <= now-60`,
		pkg:  "idemddb", run: "TestACachedRecordEndsWithItsRetention",
	},
	{
		why:  "a late request of the write that ended a key ends it again after it was reopened",
		file: "internal/protocol/settle.go",
		old:  `":next": number(fence + 1)`,
		new:  `":next": number(fence)`,
		pkg:  "internal/contract", run: "TestContractInMemory/simple_key/the_end_of_a_key_that_arrives_late",
	},
}
