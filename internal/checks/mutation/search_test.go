package mutation

// searchMutants change how the keys of a batch are found, and how messages share one.
var searchMutants = []mutant{
	{
		why:  "key functions run one after the other whatever Workers says",
		file: "lambdawrap/search.go",
		old:  `for range min(s.workers, n) - 1 {`,
		new:  `for range s.workers - s.workers + 0*n {`,
		pkg:  "lambdawrap", run: "TestSlowKeyFunctionsRunSideBySideAndTheAnswerIsSentInTime",
	},
	{
		why:  "with one worker, a key function that hangs costs all messages behind it",
		file: "lambdawrap/search.go",
		old:  `replace.Reset(s.patience)`,
		new:  `replace.Reset(s.patience + time.Hour)`,
		pkg:  "lambdawrap", run: "TestAKeyFunctionThatHangsCostsItsOwnMessage",
	},
	{
		why:  "Batch waits for a key until there is no time left for its handler",
		file: "lambdawrap/search.go",
		old:  `left = s.untilLastStart() - s.spare`,
		new:  `left = s.untilLastStart() + 0*s.spare`,
		pkg:  "lambdawrap", run: "TestBatchHasTimeForItsHandlerAfterAKeyFunctionThatHangs",
	},
	{
		why:  "a key function that ends its goroutine costs all messages behind it",
		file: "lambdawrap/search.go",
		old:  `if replace.Stop() { // a`,
		new:  `if replace.Stop() && false { // a`,
		pkg:  "lambdawrap", run: "TestAKeyFunctionThatEndsItsGoroutineCostsItsOwnMessage",
	},
	{
		why:  "a message whose key is not there in time is an ordinary failure",
		file: "lambdawrap/outcome.go",
		old:  `case errors.Is(err, errNoKeyInTime):`,
		new:  `case errors.Is(err, errNoKeyInTime) && err == nil:`,
		pkg:  "lambdawrap", run: "TestWhatHasNoKeyInTimeIsNoTime",
	},
	{
		why:  "a message behind a failed one of its group waits for its key, and holds the answer",
		file: "lambdawrap/work.go",
		old:  `v.keys.conclude(ctx, m)`,
		new:  `v.keys.await(); v.keys.conclude(ctx, m)`,
		pkg:  "lambdawrap", run: "TestNothingWaitsForAKeyThatIsOfNoUseAnyMore",
	},
	{
		why:  "keys are waited for although nothing starts any more",
		file: "internal/schedule/stop.go",
		old: `	}

	s.refuseSearch()
`,
		new: `	}
`,
		pkg: "lambdawrap", run: "TestNothingWaitsForAKeyThatIsOfNoUseAnyMore",
	},
	{
		why:  "messages with one key and other inputs end as the first one",
		file: "internal/schedule/event.go",
		old:  `s.messages[other].work != m.work`,
		new:  `s.messages[other].work.Key != m.work.Key`,
		pkg:  "internal/schedule", run: "TestRule2OneKey",
	},
	{
		why:  "a key that is known late is worked on again",
		file: "internal/schedule/event.go",
		old:  `s.settled[m.work] = i`,
		new:  `delete(s.settled, m.work)`,
		pkg:  "lambdawrap", run: "TestAKeyThatIsKnownLateJoinsTheMessageThatHasIt",
	},
	{
		why:  "the second message of an envelope without ids has the key of the first one",
		file: "lambdawrap/envelope.go",
		old: `		if i > 0 {
			opened[i].Message`,
		new: `		if i > len(opened) {
			opened[i].Message`,
		pkg: "lambdawrap", run: "TestEachRecordOfANotificationOfS3IsAMessage",
	},
	{
		why:  "what else stands in an envelope is forgotten",
		file: "lambdawrap/search.go",
		old:  `s.split(plan, m)`,
		new:  `m.parts = nil`,
		pkg:  "lambdawrap", run: "TestAMessageOfTheQueueIsDoneWhenAllThatItHoldsAre",
	},
	{
		why:  "what else stands in a message of a FIFO queue runs after the next message",
		file: "internal/schedule/event.go",
		old: `if m.Group != "" {
			m.next`,
		new: `if m.head = true; m.Group != "" {
			m.next`,
		pkg: "internal/schedule", run: "TestRuleEnvelopes",
	},
	{
		why:  "the answer of a handler of whole events is read by the id of the queue's message",
		file: "lambdawrap/batch.go",
		old:  `p.given.MessageId == failure.ItemIdentifier`,
		new:  `p.MessageId == failure.ItemIdentifier`,
		pkg:  "lambdawrap", run: "TestAMessageOfTheQueueIsDoneWhenAllThatItHoldsAre",
	},
}
