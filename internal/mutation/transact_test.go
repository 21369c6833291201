package mutation

// transactMutants change how a transaction is sent and how its answer is read.
var transactMutants = []mutant{
	{
		why:  "a refused effect beside a conflict of another effect counts as an answer",
		file: "internal/transact/reasons.go",
		old:  `case slices.ContainsFunc(reasons, isTransient):`,
		new:  `case reasons == nil:`,
		pkg:  "internal/transact", run: "TestWhatAnAnswerSaysOfARecordAndItsTwoEffects",
	},
	{
		why:  "a record that DynamoDB does not accept is sent again until the end",
		file: "internal/transact/reasons.go",
		old:  `case slices.ContainsFunc(record, isRefusal):`,
		new:  `case slices.ContainsFunc(record, isTransient):`,
		pkg:  "internal/transact", run: "TestWhatAnAnswerSaysOfARecordAndItsTwoEffects",
	},
	{
		why:  "missing reasons are taken for a refusal of nothing",
		file: "internal/transact/reasons.go",
		old: `t.Unknown = true

		return t.again(`,
		new: `return t.again(`,
		pkg: "internal/transact", run: "TestWhatAnAnswerSaysOfARecordAndItsTwoEffects",
	},
	{
		why:  "the parts of a group read the reasons of the first",
		file: "internal/transact/reasons.go",
		old:  `rest = rest[p.items:]`,
		new:  `rest = rest[0:]`,
		pkg:  "internal/transact", run: "TestEachPartHasItsOwnReasons",
	},
	{
		why:  "a group is sent together for as long as it meets conflicts",
		file: "internal/transact/reasons.go",
		old:  `t.Cancels >= MaxTogether`,
		new:  `t.Cancels > 5`,
		pkg:  "internal/transact", run: "TestPartsThatAreCancelledTogetherTwiceAreToBeSentAlone",
	},
	{
		why:  "a cancelled transaction is sent again under its old token",
		file: "internal/wire/transaction.go",
		old:  `Reasons: cancelled.CancellationReasons, IsTokenSpent: true}`,
		new:  `Reasons: cancelled.CancellationReasons}`,
		pkg:  "internal/transact", run: "TestWhichTokenIsSentAgain",
	},
	{
		why:  "a token that belongs to another transaction is sent again",
		file: "internal/wire/transaction.go",
		old:  `api.ErrorMessage()), IsTokenSpent: true,`,
		new:  `api.ErrorMessage()),`,
		pkg:  "internal/transact", run: "TestWhichTokenIsSentAgain",
	},
	{
		why:  "the first token is not the one that was given",
		file: "internal/transact/transact.go",
		old:  `new(cmp.Or(t.Token, rand.Text()))`,
		new:  `new(cmp.Or("", rand.Text()))`,
		pkg:  "internal/transact", run: "TestWhichTokenIsSentAgain",
	},
	{
		why:  "the first token is not tx",
		file: "idemddb/complete_with.go",
		old:  `Token: done.Tx,`,
		new:  `Token: "",`,
		pkg:  "internal/contract", run: "TestContractInMemory/.*/reasons:_a_transaction_is_sent_again",
	},
	{
		why:  "a try without an answer is forgotten when an effect is refused",
		file: "internal/transact/transact.go",
		old: `if answer.Outcome == protocol.Unknown {
		t.Unknown = true
	}`,
		new: ``,
		pkg: "internal/transact", run: "TestWhatAnAnswerSaysOfARecordAndItsTwoEffects",
	},
	{
		why:  "what is refused as a whole is the answer to the first of several keys",
		file: "internal/transact/transact.go",
		old:  `err == nil || len(t.parts) > 1 ||`,
		new:  `err == nil ||`,
		pkg:  "internal/transact", run: "TestWhatIsRefusedAsAWholeIsNoAnswerToSeveralParts",
	},
	{
		why:  "the lease runs out between the tries of a transaction",
		file: "internal/transact/transact.go",
		old:  `if t.tries++; t.tries > 1 && t.Between != nil {`,
		new:  `if t.tries++; t.tries < 0 {`,
		pkg:  "idemddb", run: "TestTheLeaseIsExtendedBetweenTheTriesOfALongTransaction",
	},
	{
		why:  "an empty answer proves a commit",
		file: "internal/wire/transaction.go",
		old:  `if err == nil && out != nil && len(out.ConsumedCapacity) > 0 {`,
		new:  `if err == nil && out != nil {`,
		pkg:  "internal/transact", run: "TestAnAnswerWithoutConsumedCapacityNeverProvesACommit",
	},
	{
		why:  "three empty answers prove a commit",
		file: "internal/transact/transact.go",
		old:  `return answer.Err`,
		new: `if t.tries >= 3 && answer.Outcome == protocol.Unknown {
		return nil
	}

	return answer.Err`,
		pkg: "idemddb", run: "TestAnswersWithoutContentAreNeverACommit",
	},
	{
		why:  "after an empty answer the same token is sent again, and what drops the content drops it again",
		file: "internal/wire/transaction.go",
		old:  `Err: protocol.ErrNoContent, IsTokenSpent: true}`,
		new:  `Err: protocol.ErrNoContent}`,
		pkg:  "idemddb", run: "TestABackendThatNeverSendsTheConsumedCapacity",
	},
	{
		why:  "effects without a record are sent under a new token, and written twice",
		file: "internal/transact/transact.go",
		old:  `if t.hasRecords() {`,
		new:  `if true {`,
		pkg:  "internal/transact", run: "TestWhichTokenIsSentAgain",
	},
	{
		why:  "effects without a record are sent again when DynamoDB may have forgotten their token",
		file: "internal/transact/transact.go",
		old:  `!t.hasRecords() && p.End.After(forgotten)`,
		new:  `false`,
		pkg:  "internal/transact", run: "TestWithoutARecordNoTryIsMadeWhenTheTokenMayBeForgotten",
	},
}
