package mutation

// searchMutants change how the keys of a batch are found, and how messages share one.
var searchMutants = []mutant{
	{
		why:  "key functions run one after the other whatever Workers says",
		file: "lambdawrap/search.go",
		old:  `for range min(v.workers, len(messages)) - 1 {`,
		new:  `for range v.workers - v.workers + 0*len(messages) {`,
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
		old:  `left := s.starts.UntilLastStart() - s.spare`,
		new:  `left := s.starts.UntilLastStart() + 0*s.spare`,
		pkg:  "lambdawrap", run: "TestBatchHasTimeForItsHandlerAfterAKeyFunctionThatHangs",
	},
	{
		why:  "a key function that ends its goroutine costs all messages behind it",
		file: "lambdawrap/search.go",
		old:  `if !hasReturned && replace.Stop() {`,
		new:  `if hasReturned && replace.Stop() {`,
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
		file: "lambdawrap/lane.go",
		old:  `keys.conclude(m, !isBlocked)`,
		new:  `keys.conclude(m, true)`,
		pkg:  "lambdawrap", run: "TestNothingWaitsForAKeyThatIsOfNoUseAnyMore",
	},
	{
		why:  "keys are waited for although nothing starts any more",
		file: "internal/turns/limits.go",
		old:  `if l.OnStop != nil {`,
		new:  `if l.OnStop != nil && l.stopped == false {`,
		pkg:  "lambdawrap", run: "TestNothingWaitsForAKeyThatIsOfNoUseAnyMore",
	},
	{
		why:  "messages with one key and other inputs end as the first one",
		file: "internal/turns/keys.go",
		old:  `if waiting.work != s.work {`,
		new:  `if waiting.work.Key != s.work.Key {`,
		pkg:  "internal/turns", run: "TestOneMessageAtATimeWorksOnAKeyAndTheSameWorkEndsAsTheFirst",
	},
	{
		why:  "a key that is known late is worked on again",
		file: "internal/turns/keys.go",
		old:  `k.ended[s.work] = s`,
		new:  `delete(k.ended, s.work)`,
		pkg:  "lambdawrap", run: "TestAKeyThatIsKnownLateJoinsTheMessageThatHasIt",
	},
}
