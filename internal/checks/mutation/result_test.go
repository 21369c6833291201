package mutation

// resultMutants change how results are kept outside of the record.
var resultMutants = []mutant{
	{
		why:  "a Put that hangs leaves the completion no time",
		file: "idemddb/results.go",
		old:  `time.Until(p.End)/3)`,
		new:  `time.Until(p.End))`,
		pkg:  "idemddb", run: "TestAPutHasHalfOfTheLeaseAndAThirdOfTheTimeAtMost",
	},
	{
		why:  "a message is stored as it is beside its sealed form",
		file: "internal/record/sealed.go",
		old: `	if m.Sealed != nil {
		plain.Content = Content{To: m.To}
	}
`,
		new: ``,
		pkg: "idemddb", run: "TestMessagesAreStoredSealedAndSentAsTheyWereStaged",
	},
	{
		why:  "a message that cannot be sealed is staged as it is",
		file: "idemddb/stage.go",
		old:  `if err := cmp.Or(errSeal, s.store.checkEffects(s.partition, &all)); err != nil {`,
		new:  `if err := cmp.Or(s.store.checkEffects(s.partition, &all)); err != nil {`,
		pkg:  "idemddb", run: "TestAMessageThatCannotBeSealedIsNotStoredAndItsWorkIsNotDone",
	},
	{
		why:  "messages of several calls of Stage have one number",
		file: "idemddb/stage.go",
		old: `	for i := range all.outbox {
		all.outbox[i].Index = i
	}
`,
		new: ``,
		pkg: "idemddb", run: "TestSealedMessagesOfSeveralCallsOfStageKeepTheirNumbers",
	},
	{
		why:  "a message overtakes one of its group that does not open",
		file: "internal/delivery/sending.go",
		old:  `answers[i], closed[m.To] = err, true`,
		new:  `answers[i] = err`,
		pkg:  "idemddb", run: "TestAMessageThatDoesNotOpenStaysAndKeepsBackThoseBehindIt",
	},
	{
		why:  "what is sealed for one target opens for another",
		file: "idemddb/codec.go",
		old:  `return []byte(s.Record + "/" + s.Target)`,
		new:  `return []byte(s.Record + "/")`,
		pkg:  "idemddb", run: "TestWhatIsSealedIsBoundToItsPlace",
	},
	{
		why:  "what is sealed for one key opens for another",
		file: "idemddb/codec.go",
		old:  `return []byte(s.Record + "/" + s.Target)`,
		new:  `return []byte("/" + s.Target)`,
		pkg:  "idemddb", run: "TestWhatIsSealedIsBoundToItsPlace",
	},
	{
		why:  "a result that cannot be sealed keeps the key from being completed",
		file: "idemddb/results.go",
		old: `k.sealedOf(o.partition, ""))
	if err != nil {
		return omittedValue,`,
		new: `k.sealedOf(o.partition, ""))
	if err != nil {
		return nil,`,
		pkg: "idemddb", run: "TestAResultThatCannotBePutIsOmittedAndTheKeyIsCompleted/sealing",
	},
	{
		why:  "a codec that works in place destroys what the cache holds",
		file: "idemddb/seal.go",
		old:  `plain, err = s.codec.Open(ctx, bytes.Clone(sealed), of)`,
		new:  `plain, err = s.codec.Open(ctx, sealed, of)`,
		pkg:  "idemddb", run: "TestWhatACodecSealsIsStoredAndReplayed/cached",
	},
	{
		why:  "a result that is not opened in time raises the alarm of a corrupt record",
		file: "idemddb/seal.go",
		old:  `case ctx.Err() != nil:`,
		new:  `case false:`,
		pkg:  "idemddb", run: "TestAResultThatIsNotOpenedInTimeIsNotCorrupt",
	},
	{
		why:  "a second completion with the same result is fenced, because sealing is random",
		file: "idemddb/complete.go",
		old:  `!sameResult(f.Found.Result, w.value) && !c.store.results.isSame(ctx, c.held.Partition, f.Found.Result, w.result)`,
		new:  `!sameResult(f.Found.Result, w.value)`,
		pkg:  "idemddb", run: "TestCompletingAgainWithTheSameResultIsNoErrorWithACodec",
	},
	{
		why:  "the error of a result of another type shows its number",
		file: "internal/strictjson/encode.go",
		old:  `return withoutContent(decoder.Decode(value))`,
		new:  `return decoder.Decode(value)`,
		pkg:  "idemddb", run: "TestTheErrorOfAResultOfAnotherTypeDoesNotShowIt",
	},
	{
		why:  "the name of a result lacks the owner token, so a zombie overwrites its successor's",
		file: "idemddb/results.go",
		old:  `record.Digest(o.partition) + "/" + o.token + "-" + record.ShortSum(sum)`,
		new:  `record.Digest(o.partition)`,
		pkg:  "idemddb", run: "TestAFencedWorkerDoesNotOverwriteTheResultOfItsSuccessor",
	},
	{
		why:  "the name of a result lacks its digest, so a second completion of a claim overwrites the first one's",
		file: "idemddb/results.go",
		old:  `o.token + "-" + record.ShortSum(sum)`,
		new:  `o.token`,
		pkg:  "idemddb", run: "TestCompletingAgainWithAnotherResultIsFenced",
	},
	{
		why:  "a Put that fails keeps the completion from being written with a mark for its result",
		file: "idemddb/results.go",
		old: `kept.Name, result); err != nil {
		return omittedValue,`,
		new: `kept.Name, result); err != nil {
		return value,`,
		pkg: "idemddb", run: "TestAResultThatCannotBePutIsOmittedAndTheKeyIsCompleted",
	},
	{
		why:  "a Put that panics loses the completion",
		file: "idemddb/results.go",
		old: `defer panicerror.Catch(p.title+": it", &err)

	if err := panicerror`,
		new: `if err := panicerror`,
		pkg: "idemddb", run: "TestAResultThatCannotBePutIsOmittedAndTheKeyIsCompleted",
	},
	{
		why:  "a Put that hangs uses up the time of the completion",
		file: "idemddb/results.go",
		old:  `ctx, cancelLimit := context.WithTimeout(ctx, limit)`,
		new:  `ctx, cancelLimit := context.WithTimeout(ctx, time.Hour+limit)`,
		pkg:  "idemddb", run: "TestAResultThatCannotBePutIsOmittedAndTheKeyIsCompleted/hangs",
	},
	{
		why:  "a Put that hangs lets the lease run out",
		file: "idemddb/results.go",
		old:  `limit = min(limit, lease/2)`,
		new:  `limit = max(limit, lease/2)`,
		pkg:  "idemddb", run: "TestAPutHasHalfOfTheLeaseAndAThirdOfTheTimeAtMost",
	},
	{
		why:  "a result that is gone is an error for ever",
		file: "idemddb/results.go",
		old:  `case panicerror.IsAnswer(err, ErrResultOmitted):`,
		new:  `case panicerror.IsAnswer(err, ErrNoClaim):`,
		pkg:  "idemddb", run: "TestAResultThatIsGoneCountsAsOmitted",
	},
	{
		why:  "a result that cannot be read now counts as omitted",
		file: "idemddb/results.go",
		old:  `case panicerror.IsAnswer(err, ErrResultOmitted):`,
		new:  `case err != nil:`,
		pkg:  "idemddb", run: "TestAResultThatCannotBeReadIsAnErrorUntilItCan",
	},
	{
		why:  "the digest of a result is not checked",
		file: "idemddb/results.go",
		old:  `case !kept.IsOf(b):`,
		new:  `case len(b) != kept.Length:`,
		pkg:  "idemddb", run: "TestAResultThatWasChangedIsCorrupt",
	},
	{
		why:  "a batch's messages read results that they do not need",
		file: "idemddb/acquire.go",
		old:  `if a.record == nil || a.skipResult {`,
		new:  `if a.record == nil {`,
		pkg:  "idemddb", run: "TestSkipResultReadsNone",
	},
	{
		why:  "Do skips the result that it returns",
		file: "idemddb/do.go",
		old: `		with.SkipResult = false
`,
		new: ``,
		pkg: "idemddb", run: "TestSkipResultReadsNone",
	},
	{
		why:  "Do of a zombie whose successor's result cannot be read returns a zero value without an error",
		file: "idemddb/complete.go",
		old:  `case fenced.unread != nil && fenced.Current != fenced.Held:`,
		new:  `case fenced.unread != nil && fenced.Held == 0:`,
		pkg:  "idemddb", run: "TestDoOfAZombieReturnsTheResultOfItsSuccessor",
	},
	{
		why:  "a completion with a large result is not recognised when it is seen again",
		file: "idemddb/results.go",
		old:  `return kept.Name == other.Name`,
		new:  `return kept.Name != other.Name`,
		pkg:  "idemddb", run: "TestCompletingAgainWithAnotherResultIsFenced",
	},
	{
		why:  "the cache forgets where the result is",
		file: "idemddb/acquire.go",
		old: `a.record, a.result = answerOf(rec, a.key), rec.Result
		a.record.Result`,
		new: `a.record = answerOf(rec, a.key)
		a.record.Result`,
		pkg: "idemddb", run: "TestACachedRecordReadsItsLargeResultEachTime",
	},
}
