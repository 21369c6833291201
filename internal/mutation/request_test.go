package mutation

// requestMutants change how requests are sent, shared and sent again.
var requestMutants = []mutant{
	{
		why:  "after a request whose writers have all left before its first try, no write is sent any more",
		file: "internal/groupcommit/call.go",
		old:  `c.land(ctx) // all writers may have left before the first try`,
		new:  ``,
		pkg:  "internal/groupcommit", run: "TestAWriteIsSentAfterOneWhoseWriterLeftBeforeItsRequest",
	},
	{
		why:  "the pauses between tries do not double, so that an outage gets a request each 25 ms",
		file: "internal/retry/retry.go",
		old:  `limit = min(2*limit, p.Pause)`,
		new:  `limit = min(limit, p.Pause)`,
		pkg:  "idemddb", run: "TestPausesDouble",
	},
	{
		why:  "the pauses between tries grow without limit",
		file: "internal/retry/retry.go",
		old:  `limit = min(2*limit, p.Pause)`,
		new:  `limit = 2 * limit`,
		pkg:  "idemddb", run: "TestPausesDouble",
	},
	{
		why:  "the last try is given up because its pause does not fit",
		file: "internal/retry/retry.go",
		old:  `min(jitter(limit), time.Until(p.End)/2)`,
		new:  `jitter(limit)`,
		pkg:  "idemddb", run: "TestASettlementIsSentUntilTheEndOfItsTimeWithShortPauses",
	},
	{
		why:  "one try may take all of the time that is left",
		file: "internal/retry/retry.go",
		old:  `min(MaxTry, max(minTry, time.Until(end)/tryPart))`,
		new:  `max(minTry, time.Until(end))`,
		pkg:  "idemddb", run: "TestAReplyThatNeverComesLeavesTimeForAnotherTry",
	},
	{
		why:  "an error without a response panics",
		file: "internal/wire/error.go",
		old:  `ok && e.Response != nil && e.Response.Response != nil &&`,
		new:  `ok && e.Response != nil &&`,
		pkg:  "internal/wire", run: "TestWhatAnErrorSaysOfItsRequest/a_response_that_is_empty",
	},
	{
		why:  "an answer to a completion without content is taken for success",
		file: "internal/wire/single.go",
		old:  `if err == nil && len(item) > 0 {`,
		new:  `if err == nil {`,
		pkg:  "idemddb", run: "TestACompletionThatWasNotAppliedIsNoSuccess",
	},
	{
		why:  "an answer with another number of answers than statements is taken for success",
		file: "internal/wire/statement.go",
		old:  `return Shared{Err: ErrCount}`,
		new: `answers := make([]protocol.Answer, len(statements))
		for i := range answers {
			answers[i].IsShared = true
		}

		return Shared{Answers: answers}`,
		pkg: "idemddb", run: "TestAnEmptyAnswerToAClaimProvesNothing",
	},
	{
		why:  "a backend whose answers never fit is asked with shared requests for ever",
		file: "internal/groupcommit/client.go",
		old:  `c.wrongAnswers.Add(1) == maxWrongAnswers:`,
		new:  `c.wrongAnswers.Add(1) == 1000*maxWrongAnswers:`,
		pkg:  "idemddb", run: "TestTheThirdWrongNumberOfAnswersInARowTurnsSharedRequestsOff",
	},
	{
		why:  "one answer that does not fit turns shared requests off",
		file: "internal/groupcommit/client.go",
		old:  `c.wrongAnswers.Add(1) == maxWrongAnswers:`,
		new:  `c.wrongAnswers.Add(1) == maxWrongAnswers-2:`,
		pkg:  "idemddb", run: "TestAWrongNumberOfAnswersIsAnUnknownOutcome",
	},
	{
		why:  "answers that do not fit are counted over the whole life of the process, not in a row",
		file: "internal/groupcommit/client.go",
		old: `		c.wrongAnswers.Store(0)

		return shared.Answers`,
		new: `		return shared.Answers`,
		pkg: "idemddb", run: "TestAWrongNumberOfAnswersIsAnUnknownOutcome",
	},
	{
		why:  "one AccessDenied turns shared requests off for good",
		file: "internal/groupcommit/client.go",
		old:  `until := now.Add(offPause)`,
		new:  `until := now.Add(1000 * offPause)`,
		pkg:  "idemddb", run: "TestSharedRequestsThatWereDeniedAreTriedAgainAfterFiveMinutes",
	},
	{
		why:  "after an AccessDenied, the next batch asks again at once",
		file: "internal/groupcommit/client.go",
		old:  `until := now.Add(offPause)`,
		new:  `until := now.Add(offPause / 5)`,
		pkg:  "idemddb", run: "TestSharedRequestsThatWereDeniedAreTriedAgainAfterFiveMinutes",
	},
	{
		why:  "a key that is throttled for good keeps the writes of its request from being tried alone",
		file: "internal/groupcommit/call.go",
		old:  `c.tries >= maxTries &&`,
		new:  `c.tries >= 1000*maxTries &&`,
		pkg:  "idemddb", run: "TestAKeyWhoseStatementsStayThrottledIsClaimedByASingleRequest",
	},
	{
		why:  "OnRetry is not called when a shared request is sent again",
		file: "internal/groupcommit/call.go",
		old: `for _, w := range c.open(c.writes) {
		w.OnRetry()
	}`,
		new: ``,
		pkg: "idemddb", run: "TestOnRetryIsCalledForEachRetryOfASettlement",
	},
	{
		why:  "OnRetry is not called when a single request is sent again",
		file: "idemddb/request.go",
		old: `s.observeRetry(ctx, key, err)
	onRetry(ctx)()`,
		new: `s.observeRetry(ctx, key, err)`,
		pkg: "lambdawrap", run: "TestWorkDoesNotRunAheadOfItsRecords/Throttle,_3_workers,_handlers_of_20ms",
	},
	{
		why:  "a request goes on although no caller waits for it",
		file: "internal/groupcommit/queue.go",
		old: `if isLast {
		w.call.cancel()`,
		new: `if isLast {
		_ = w.call.cancel`,
		pkg: "idemddb", run: "TestTheLastCallerThatGivesUpCancelsTheRequestAndWaitsForItsEnd",
	},
	{
		why:  "those that a shared request answered write while it still counts as under way",
		file: "internal/groupcommit/call.go",
		old: `if len(done) > 0 {
		c.land(ctx)
	}`,
		new: ``,
		pkg: "idemddb", run: "TestAWriteAfterASharedRequestDoesNotWaitForItsOtherClaims|TestWritesAfterASharedRequestShareTheNextOne",
	},
	{
		why:  "an answer that comes when its writer has left changes what the writer looks at",
		file: "internal/groupcommit/write.go",
		old:  `if w.state == finished {`,
		new:  `if w.state == finished && w == nil {`,
		pkg:  "internal/groupcommit", run: "TestAnAnswerIsNotReadAfterItsWriterHasLeft",
	},
}
