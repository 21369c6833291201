package mutation

// requestMutants change how requests are sent and read; plannerMutants change which ones are sent.
var requestMutants = []mutant{
	{
		why:  "an error without a response panics",
		file: "internal/wire/wire.go",
		old:  `ok && e.Response != nil && e.Response.Response != nil &&`,
		new:  `ok && e.Response != nil &&`,
		pkg:  "internal/wire", run: "TestWhatAnErrorSaysOfItsRequest/a_response_that_is_empty",
	},
	{
		why:  "an answer to a completion without content is taken for success",
		file: "internal/wire/wire.go",
		old:  `if len(item) > 0 {`,
		new:  `if err == nil {`,
		pkg:  "internal/contract", run: "TestContractInMemory/.*/a_completion_that_is_not_answered",
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
		pkg: "idemddb", run: "TestARequestThatHasAFaultIsSentAgain",
	},
	{
		why:  "a backend whose answers never fit is asked with shared requests for ever",
		file: "internal/engine/shared.go",
		old:  `return e.wrong == maxWrong`,
		new:  `return e.wrong == 1000*maxWrong`,
		pkg:  "idemddb", run: "TestTheThirdWrongNumberOfAnswersInARowTurnsSharedRequestsOff",
	},
	{
		why:  "one answer that does not fit turns shared requests off",
		file: "internal/engine/shared.go",
		old:  `return e.wrong == maxWrong`,
		new:  `return e.wrong == maxWrong-2`,
		pkg:  "idemddb", run: "TestAWrongNumberOfAnswersIsAnUnknownOutcome",
	},
	{
		why:  "answers that do not fit are counted over the whole life of the process, not in a row",
		file: "internal/engine/shared.go",
		old: `		e.wrong = 0
		f.IsAnswered = true`,
		new: `		f.IsAnswered = true`,
		pkg: "idemddb", run: "TestAWrongNumberOfAnswersIsAnUnknownOutcome",
	},
	{
		why:  "an error of the client is read with the mutex of the Engine held, so that one which uses the Store hangs it",
		file: "internal/engine/shared.go",
		old: `	hasWrongCount := errors.Is(err, wire.ErrCount) // without the mutex: an error of the client may be code of the user

	e.mu.Lock()
	defer e.mu.Unlock()
`,
		new: `	e.mu.Lock()
	defer e.mu.Unlock()

	hasWrongCount := errors.Is(err, wire.ErrCount)
`,
		pkg: "internal/engine", run: "TestCodeOfTheUserIsNotCalledWithTheMutexHeld",
	},
	{
		why:  "a caller that leaves is told the last answer, and not that its own time is over",
		file: "internal/engine/engine.go",
		old:  `if c.hasLeft {`,
		new:  `if c.hasLeft && c.err == nil {`,
		pkg:  "internal/engine", run: "TestCodeOfTheUserIsNotCalledWithTheMutexHeld",
	},
	{
		why:  "OnRetry is not called when a write is sent again",
		file: "internal/engine/engine.go",
		old:  `c.reports = append(c.reports, report{to: e.Retried, err: errs[i], isRetry: true})`,
		new:  `_ = errs`,
		pkg:  "idemddb", run: "TestOnRetryIsCalledForEachRetryOfASettlement",
	},
	{
		why:  "OnRetry is not called when a request is sent again",
		file: "idemddb/store.go",
		old: `		retried()
`,
		new: ``,
		pkg: "lambdawrap", run: "TestWorkDoesNotRunAheadOfItsRecords/Throttle,_3_workers,_handlers_of_20ms",
	},
	{
		why:  "the time that passes is not told to the planner",
		file: "internal/planner/depart.go",
		old:  `isRested := !w.due.After(now)`,
		new:  `isRested := w.due.Equal(now)`,
		pkg:  "internal/engine", run: "TestAPauseEndsAlthoughItsTimerIsLate",
	},
	{
		why:  "a request goes on although no caller waits for it",
		file: "internal/engine/call.go",
		old: `		s.cancel()
		c.last`,
		new: `		c.last`,
		pkg: "idemddb", run: "TestTheLastCallerThatGivesUpCancelsTheRequestAndWaitsForItsEnd",
	},
	{
		why:  "the last caller of a request returns while the request is under way, which Lambda then freezes",
		file: "internal/engine/call.go",
		old:  `c.last = s.done`,
		new:  ``,
		pkg:  "idemddb", run: "TestTheLastCallerThatGivesUpCancelsTheRequestAndWaitsForItsEnd",
	},
	{
		why:  "an answer that comes when its caller has left changes what the caller looks at",
		file: "internal/engine/shared.go",
		old:  `if i := slices.Index(s.calls, c); c.busy {`,
		new:  `if i := slices.Index(s.calls, c); c != nil {`,
		pkg:  "internal/engine", run: "TestAnAnswerIsNotReadAfterItsCallerHasLeft",
	},
	{
		why:  "a request whose callers have all left before it was sent is under way for ever",
		file: "internal/engine/shared.go",
		old:  `		s.engine.land(s.flight, s.answers, s.errs)`,
		new: `		if isSent {
			s.engine.land(s.flight, s.answers, s.errs)
		}`,
		pkg: "internal/engine", run: "TestAFlightThatAllCallersHaveLeftBeforeItWasSentLands",
	},
	{
		why:  "a panic of the client in a shared request ends the process",
		file: "internal/engine/shared.go",
		old:  `panicked(recover())`,
		new:  `panicked(nil)`,
		pkg:  "internal/engine", run: "TestAClientThatPanicsInASharedRequestIsTriedAloneByEachCaller",
	},
	{
		why:  "a try in which the client panicked counts as one that wrote nothing",
		file: "internal/engine/shared.go",
		old:  `isSent && !isRead`,
		new:  `isSent && isRead`,
		pkg:  "internal/engine", run: "TestAClientThatPanicsInASharedRequestIsTriedAloneByEachCaller",
	},
}
