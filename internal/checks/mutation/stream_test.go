package mutation

// streamMutants change the wrappers of streams.
var streamMutants = []mutant{
	{
		why:  "the answer names the highest sequence number that failed, and Lambda takes those before it for done",
		file: "lambdawrap/stream.go",
		old:  `isLower(p.number, number)`,
		new:  `isLower(number, p.number)`,
		pkg:  "lambdawrap", run: "TestOtherKeysOfAStreamGoOnAfterAFailureAndTheLowestNumberIsReported",
	},
	{
		why:  "sequence numbers are compared as text",
		file: "lambdawrap/stream.go",
		old:  `cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))`,
		new:  `cmp.Compare(a, b)`,
		pkg:  "lambdawrap", run: "TestSequenceNumbersAreComparedAsIntegers",
	},
	{
		why:  "leading zeros of a sequence number count as digits",
		file: "lambdawrap/stream.go",
		old:  `strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")`,
		new:  `strings.TrimLeft(a, " "), strings.TrimLeft(b, " ")`,
		pkg:  "lambdawrap", run: "TestSequenceNumbersAreComparedAsIntegers",
	},
	{
		why:  "records of one partition key run side by side, and after a failure the rest of them goes on",
		file: "lambdawrap/stream.go",
		old:  `fifo: true, receives: 1`,
		new:  `fifo: false, receives: 1`,
		pkg:  "lambdawrap", run: "TestOtherKeysOfAStreamGoOnAfterAFailureAndTheLowestNumberIsReported",
	},
	{
		why:  "the random simulation of a stream does not see that the order of a partition key is lost",
		file: "lambdawrap/stream.go",
		old:  `fifo: true, receives: 1`,
		new:  `fifo: false, receives: 1`,
		pkg:  "lambdawrap", run: "TestNoRandomSimulationOfAStreamBreaksTheRules",
	},
	{
		why:  "all partition keys of a stream are one group",
		file: "lambdawrap/kinesis.go",
		old:  `return r.EventSourceArn + "\n" + r.Kinesis.PartitionKey`,
		new:  `return r.EventSourceArn + "\n"`,
		pkg:  "lambdawrap", run: "TestOtherKeysOfAStreamGoOnAfterAFailureAndTheLowestNumberIsReported",
	},
	{
		why:  "all items of a table are one group",
		file: "internal/streamrecord/streamrecord.go",
		old:  `return item + string(key)`,
		new:  `return item + string(key[:0])`,
		pkg:  "lambdawrap", run: "TestOtherKeysOfAStreamGoOnAfterAFailureAndTheLowestNumberIsReported",
	},
	{
		why:  "the records beyond a failure are claimed as new ones when they come again, at twice the cost",
		file: "lambdawrap/stream.go",
		old:  `p.number == (*reported)[p.shard]`,
		new:  `p.number == (*reported)[p.shard]+"0"`,
		pkg:  "lambdawrap", run: "TestWhatWasDoneBeyondAFailureOfAStreamIsACheapReplay",
	},
	{
		why:  "a record whose key another worker holds comes back at once, which the stream repeats in vain",
		file: "lambdawrap/stream.go",
		old:  `Wait: streamWait,`,
		new:  `Wait: 0 * streamWait,`,
		pkg:  "lambdawrap", run: "TestARecordOfAStreamWaitsForAKeyThatIsHeldAsLongAsThereIsTime",
	},
	{
		why:  "an event without sequence numbers is worked on, and its failures cannot be reported",
		file: "lambdawrap/stream.go",
		old:  `number == "" || strings.Trim(number, "0123456789") != ""`,
		new:  `len(number) > 128`,
		pkg:  "lambdawrap", run: "TestWhatIsNoEventOfAStreamIsAnInvocationErrorBeforeAnythingRuns",
	},
	{
		why:  "an event of another source is answered as success",
		file: "lambdawrap/stream.go",
		old:  `if records == nil {`,
		new:  `if len(s.source.name) == 0 {`,
		pkg:  "lambdawrap", run: "TestWhatIsNoEventOfAStreamIsAnInvocationErrorBeforeAnythingRuns",
	},
	{
		why:  "a handler of plain records gets one that the producer library aggregated",
		file: "lambdawrap/stream.go",
		old:  `s.open != nil && !s.opts.Aggregated`,
		new:  `s.open != nil && s.opts.Aggregated`,
		pkg:  "lambdawrap", run: "TestEachUserRecordOfAnAggregatedOneIsAPieceOfWork",
	},
	{
		why:  "all user records of an aggregated record have one key, and only the first of them runs",
		file: "lambdawrap/kinesis_aggregate.go",
		old:  `u.EventID += ":" + index`,
		new:  `u.EventID += ":" + index[:0]`,
		pkg:  "lambdawrap", run: "TestEachUserRecordOfAnAggregatedOneIsAPieceOfWork",
	},
	{
		why:  "user records are in order by the partition key of their aggregate, and not by their own",
		file: "lambdawrap/kinesis_aggregate.go",
		old:  `u.Kinesis.PartitionKey = user.Data, user.PartitionKey`,
		new:  `u.Kinesis.PartitionKey = user.Data, r.Kinesis.PartitionKey`,
		pkg:  "lambdawrap", run: "TestAFailureInAnAggregateHoldsItsPartitionKeyInTheNextAggregateToo",
	},
	{
		why:  "a record whose checksum is wrong is opened",
		file: "internal/kpl/kpl.go",
		old:  `!bytes.Equal(sum, digest[:])`,
		new:  `len(sum) != len(digest[:])`,
		pkg:  "internal/kpl", run: "TestARecordThatIsNotExactlyAnAggregateIsAnOrdinaryOne",
	},
	{
		why:  "a record whose message is not that of an aggregated one is opened",
		file: "internal/kpl/kpl.go",
		old:  `!e.hasData || !e.hasPartitionKey ||`,
		new:  `!e.hasPartitionKey ||`,
		pkg:  "internal/kpl", run: "TestARecordThatIsNotExactlyAnAggregateIsAnOrdinaryOne",
	},
	{
		why:  "the handler of a stream and its dead-letter hook share the record",
		file: "lambdawrap/message.go",
		old:  `given = h.clone(record)`,
		new:  `given = record`,
		pkg:  "lambdawrap", run: "TestHooksGetTheRecordOfAStreamAsItArrived",
	},
	{
		why:  "a record that will never succeed stops its shard although there is a hook",
		file: "lambdawrap/message.go",
		old:  `if h.deadLetter != nil {`,
		new:  `if h.deadLetter != nil && h.context != nil {`,
		pkg:  "lambdawrap", run: "TestOnePoisonAmong10000RecordsIsParkedAndAllOthersRunOnce",
	},
}

// unchangedResultMutants change how a result becomes JSON.
var unchangedResultMutants = []mutant{
	{
		why:  "a result with text that is not UTF-8 is kept, and replayed as another one",
		file: "internal/strictjson/encode.go",
		old:  `isReplaced && !isText(reflect.ValueOf(value))`,
		new:  `isReplaced && value == nil`,
		pkg:  "idemddb", run: "TestWhatJSONCannotCarryIsNotKept",
	},
	{
		why:  "a result with the character U+FFFD is not kept",
		file: "internal/strictjson/encode.go",
		old:  `isReplaced && !isText(reflect.ValueOf(value))`,
		new:  `isReplaced`,
		pkg:  "idemddb", run: "TestDoReplaysResultsExactly",
	},
	{
		why:  "a result with half of a surrogate pair is kept",
		file: "internal/strictjson/encode.go",
		old:  `case utf16.DecodeRune(unit, escaped(text[escape:])) == character:`,
		new:  `case utf16.DecodeRune(unit, escaped(text[escape:])) == character && len(text) == 0:`,
		pkg:  "idemddb", run: "TestWhatJSONCannotCarryIsNotKept",
	},
	{
		why:  "text that a method of the pointer encodes is replayed as another one",
		file: "internal/strictjson/encode.go",
		old:  `v.Kind() != reflect.Pointer && v.CanAddr()`,
		new:  `v.Kind() != reflect.Pointer && !v.IsValid()`,
		pkg:  "internal/strictjson", run: "TestTextThatAMethodOfThePointerEncodes",
	},
	{
		why:  "a value whose encoding panics leaves its finished work without a record",
		file: "internal/strictjson/encode.go",
		old:  `defer panicerror.Catch("it", &err)`,
		new:  `defer func() {}()`,
		pkg:  "idemddb", run: "TestWhatJSONCannotCarryIsNotKept",
	},
	{
		why:  "a value whose encoding ends its goroutine leaves its finished work without a record",
		file: "idemddb/run.go",
		old: `		cause, work.omitted = nil, errNotEncoded
`,
		new: ``,
		pkg: "idemddb", run: "TestDoKeepsNoValueWhoseEncodingEndsTheGoroutine",
	},
	{
		why:  "a value that no later call can decode is kept, so that finished work is answered with ErrCorrupt",
		file: "internal/strictjson/encode.go",
		old:  `err := Unmarshal(result, decoded); err != nil`,
		new:  `err := Unmarshal(result, decoded); err != nil && value == nil`,
		pkg:  "idemddb", run: "TestWhatJSONCannotCarryIsNotKept",
	},
	{
		why:  "work that fails for good runs again at the next call of Do",
		file: "idemddb/work.go",
		old: `	if isPermanent(cause) {
		return c.Fail(ctx, cause)
	}`,
		new: `	if isPermanent(cause) && c == nil {
		return c.Fail(ctx, cause)
	}`,
		pkg: "idemddb", run: "TestAPermanentErrorOfDoEndsTheKey",
	},
	{
		why:  "the state of a tumbling window is lost",
		file: "lambdawrap/stream_func.go",
		old:  `if isInWindow(payload) {`,
		new:  `if isInWindow(payload) && false {`,
		pkg:  "lambdawrap", run: "TestAnEventOfATumblingWindowIsRefusedBeforeAnythingRuns",
	},
}
