package mutation

// auditor is the function on the stream of the records.
const auditor = "functions/audit"

// auditorMutants change what the function counts, logs and passes over.
var auditorMutants = []mutant{
	{
		why:  "a record of the stream without its items is judged as if nothing had been there",
		file: "functions/audit/change.go",
		old:  `!known || has != want {`,
		new:  `!known && has != want {`,
		pkg:  auditor, run: "TestARecordThatCannotBeReadIsToldAndStopsNothing",
	},
	{
		why:  "a stream that is replaced by one with another view type goes unnoticed",
		file: "functions/audit/change.go",
		old:  `view != string(events.DynamoDBStreamViewTypeNewAndOldImages) {`,
		new:  `view == "none" {`,
		pkg:  auditor, run: "TestARecordThatCannotBeReadIsToldAndStopsNothing/another_view_type",
	},
	{
		why:  "whoever deletes a record as a service counts as Time to Live",
		file: "functions/audit/change.go",
		old:  ` && who.PrincipalID == "dynamodb.amazonaws.com"`,
		new:  ``,
		pkg:  auditor, run: "TestOnlyTimeToLiveDeletesARecord",
	},
	{
		why:  "a commit of a key that its worker has released counts as a takeover",
		file: "functions/audit/change.go",
		old:  `lease == nil || lease.Value == "0"`,
		new:  `lease == nil`,
		pkg:  auditor, run: "TestLegalChangesOfEachKindAreCountedAndNotLogged",
	},
	{
		why:  "a claim that an operator released counts as one whose lease ran out",
		file: "functions/audit/change.go",
		old:  `strings.HasPrefix(lease.Value, "-")`,
		new:  `strings.HasPrefix(lease.Value, "+")`,
		pkg:  auditor, run: "TestLegalChangesOfEachKindAreCountedAndNotLogged",
	},
	{
		why:  "a clock that is ahead is found although ClockSkew allows it",
		file: "functions/audit/handler.go",
		old:  `audit.Judge(change, i.options)`,
		new:  `audit.Judge(change, audit.Options{Resolution: i.options.Resolution})`,
		pkg:  auditor, run: "TestEachFaultIsCountedAndLogged",
	},
	{
		why:  "a program that writes all records wrongly fills the log",
		file: "functions/audit/handler.go",
		old:  `i.lines <= mostLines {`,
		new:  `i.lines <= 1000*mostLines {`,
		pkg:  auditor, run: "TestAnInvocationWritesAFewLinesAndCountsTheRest",
	},
	{
		why:  "an event that is none of a stream goes unnoticed",
		file: "functions/audit/change.go",
		old:  `if len(in.Records) == 0 {`,
		new:  `if len(in.Records) > 1_000_000 {`,
		pkg:  auditor, run: "TestAnEventThatIsNoneOfAStreamIsTold",
	},
}
