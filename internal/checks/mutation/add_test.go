package mutation

// addMutants change how additions travel.
var addMutants = []mutant{
	{
		why:  "additions under different conditions are one update",
		file: "internal/protocol/joined.go",
		old:  `return s.Item == a.Item && s.As == a.As`,
		new:  `return s.Item == a.Item`,
		pkg:  "internal/protocol", run: "TestAdditionsUnderAnotherConditionAreNotJoined",
	},
	{
		why:  "writes that add under different conditions travel together",
		file: "internal/planner/depart.go",
		old:  `case item.As == "" || as != item.As:`,
		new:  `case item.As == "" || as == "":`,
		pkg:  "internal/planner", run: "TestTransactions/writes_that_add_to_one_item_travel_together",
	},
	{
		why:  "a sum that DynamoDB would round is written",
		file: "internal/protocol/add.go",
		old:  `if !values[name].IsHeld() {`,
		new:  `if values[name] == nil {`,
		pkg:  "internal/protocol", run: "TestAPartIsLeftOutIfASumWouldHaveTooManyDigits",
	},
	{
		why:  "a part that is left out has its number in the sum",
		file: "internal/protocol/joined.go",
		old:  `sums := slices.Clone(j.sums)`,
		new:  `sums := j.sums`,
		pkg:  "internal/protocol", run: "TestAPartIsLeftOutIfASumWouldHaveTooManyDigits",
	},
	{
		why:  "each part of a refused sum is refused, although it is not known whose number it was",
		file: "internal/protocol/joined.go",
		old:  `case isJoint:`,
		new:  `case false:`,
		pkg:  "internal/protocol", run: "TestWhatACancelledTransactionSaysOfSums",
	},
	{
		why:  "a conflict of a sum is none of its parts",
		file: "internal/protocol/joined.go",
		old:  `effects = append(effects, sums[at])`,
		new:  `effects = append(effects, types.CancellationReason{})`,
		pkg:  "internal/protocol", run: "TestWhatACancelledTransactionSaysOfSums",
	},
	{
		why:  "a refused addition has the position of an item",
		file: "internal/protocol/joined.go",
		old:  `i = p.Adds[i-len(p.Effects)].Index`,
		new:  `i -= len(p.Effects)`,
		pkg:  "internal/protocol", run: "TestWhatACancelledTransactionSaysOfSums",
	},
	{
		why:  "an item that is added to is never hot",
		file: "internal/planner/planner.go",
		old:  `append(w.items, w.Joint.Items...)`,
		new:  `append(w.items, w.Joint.Items[:0]...)`,
		pkg:  "internal/planner", run: "TestHotItems/additions|TestTransactions/writes_that_add",
	},
	{
		why:  "an attribute that an addition makes is excluded by the next one, so that their order counts",
		file: "idemddb/add.go",
		old:  `if slices.Contains(a.Requires, name) || slices.Contains(a.Unless, name) {`,
		new:  `if slices.Contains(a.Requires, name) {`,
		pkg:  "idemddb", run: "TestStageRefusesAdditionsThatAreNotWellFormed",
	},
	{
		why:  "an addition that makes its item passes together with one that would find it",
		file: "idemddb/add.go",
		old:  `return fmt.Errorf("its Unless: attribute %q belongs to its key, so only the first addition could pass", name)`,
		new:  `continue`,
		pkg:  "idemddb", run: "TestStageRefusesAdditionsThatAreNotWellFormed",
	},
	{
		why:  "an addition belongs to the Refused of another call of Stage",
		file: "idemddb/stage.go",
		old:  `index -= items`,
		new:  `_ = items`,
		pkg:  "idemddb", run: "TestEachEffectHasTheRefusedOfItsOwnCallOfStage",
	},
	{
		why:  "additions are forgotten where there are no records",
		file: "idemddb/disabled.go",
		old:  `if len(e.Items)+len(e.Adds) > 0 {`,
		new:  `if len(e.Items) > 0 {`,
		pkg:  "idemddb", run: "TestADisabledStoreWritesWhatAClaimHasStagedOnce",
	},
}
