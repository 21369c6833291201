package mutation

// operateMutants change what an operator's tool writes and finds.
var operateMutants = []mutant{
	{
		why:  "a claim that an operator released can still be renewed and completed",
		file: "idemddb/operate/change.go",
		old:  `lease := number(-1)`,
		new:  `lease := number(1)`,
		pkg:  "idemddb/operate", run: "TestAWorkerThatLivesOnIsFenced/in_memory",
	},
	{
		why:  "a claim after an operator's release does not know that work may have begun",
		file: "idemddb/operate/change.go",
		old:  `lease := number(-1)`,
		new:  `lease := number(0)`,
		pkg:  "idemddb/operate", run: "TestAWorkerThatLivesOnIsFenced/in_memory",
	},
	{
		why:  "with NoTakeover an operator's release ends the key",
		file: "idemddb/operate/change.go",
		old:  `lease = number(0)`,
		new:  `lease = number(-1)`,
		pkg:  "idemddb/operate", run: "TestReleaseUnderNoTakeover/in_memory",
	},
	{
		why:  "a reopened key keeps its fencing token",
		file: "idemddb/operate/change.go",
		old:  `number(seen.Fence + 1)`,
		new:  `number(seen.Fence)`,
		pkg:  "idemddb/operate", run: "TestAWorkerThatLivesOnIsFenced/in_memory",
	},
	{
		why:  "a change shortens the retention",
		file: "idemddb/operate/change.go",
		old:  `max(seen.Ends.Unix(), r.opts.Now()`,
		new:  `max(0, r.opts.Now()`,
		pkg:  "idemddb/operate", run: "TestAChangeDoesNotShortenTheRetention/in_memory",
	},
	{
		why:  "a change does not prolong the retention",
		file: "idemddb/operate/change.go",
		old:  `return max(seen.Ends.Unix(), r.opts.Now().Add(r.opts.Retention+time.Second-1).Unix())`,
		new:  `return seen.Ends.Unix()`,
		pkg:  "idemddb/operate", run: "TestAChangeDoesNotShortenTheRetention/in_memory",
	},
	{
		why:  "an attribute that has appeared since the look does not count",
		file: "idemddb/operate/expr.go",
		old:  `terms = append(terms, "attribute_not_exists("+alias+")")`,
		new:  `delete(e.names, alias)`,
		pkg:  "idemddb/operate", run: "TestEachAttributeOfTheFenceCounts/in_memory",
	},
	{
		why:  "an attribute that has changed since the look does not count",
		file: "idemddb/operate/expr.go",
		old:  `terms = append(terms, alias+" = "+placeholder)`,
		new:  `terms = append(terms, "attribute_type("+alias+", "+placeholder+")"); e.values[placeholder] = text(map[bool]string{true: "N", false: "S"}[numberOf(value) != 0])`,
		pkg:  "idemddb/operate", run: "TestEachAttributeOfTheFenceCounts/in_memory",
	},
	{
		why:  "a change creates a record that is gone",
		file: "idemddb/operate/expr.go",
		old:  `terms := []string{"attribute_exists(#pk)"}`,
		new:  `terms := []string{"(attribute_exists(#pk) OR attribute_not_exists(#pk))"}`,
		pkg:  "idemddb/operate", run: "TestForgetOfAForeignItem/in_memory",
	},
	{
		why:  "a message that appears after the look is deleted",
		file: "idemddb/operate/change.go",
		old:  `Why: why}, noMessages)`,
		new:  `Why: why}, "")`,
		pkg:  "idemddb/operate", run: "TestForgetDoesNotDeleteAMessageThatItHasNotSeen",
	},
	{
		why:  "a record with messages is deleted",
		file: "idemddb/operate/change.go",
		old:  `if len(seen.Messages) > 0 {`,
		new:  `if false {`,
		pkg:  "idemddb/operate", run: "TestAChangeThatIsNotPossibleSaysWhy/in_memory",
	},
	{
		why:  "a change whose answer was lost is taken for another operator's",
		file: "idemddb/operate/change.go",
		old:  `case ok && hasOp(refused.Item, op):`,
		new:  `case ok && op == "":`,
		pkg:  "idemddb/operate", run: "TestAChangeWhoseAnswerIsLost",
	},
	{
		why:  "another operator's change is taken for one's own",
		file: "idemddb/operate/change.go",
		old:  `return ok && found.Value == op`,
		new:  `return ok && found.Value != ""`,
		pkg:  "idemddb/operate", run: "TestUnsentMessagesAreSentOrLostOnPurpose/in_memory",
	},
	{
		why:  "an empty answer counts as a change",
		file: "idemddb/operate/change.go",
		old: `		return View{}, changeError(change.What, seen.Key, err)
	case len(out.Attributes) == 0:`,
		new: `		return View{}, changeError(change.What, seen.Key, err)
	case len(out.Attributes) < 0:`,
		pkg: "idemddb/operate", run: "TestAChangeWhoseAnswerIsLost/EmptyAnswerApplied",
	},
	{
		why:  "an empty answer counts as a deletion",
		file: "idemddb/operate/change.go",
		old: `		return changeError(change.What, seen.Key, err)
	case len(out.Attributes) == 0:`,
		new: `		return changeError(change.What, seen.Key, err)
	case len(out.Attributes) < 0:`,
		pkg: "idemddb/operate", run: "TestAnEmptyAnswerProvesNothing",
	},
	{
		why:  "the cursor moves past records that were not looked at",
		file: "idemddb/operate/scan.go",
		old:  `if err := l.found(v); err != nil {`,
		new: `if err := l.found(v); err != nil {
			l.cursor[p.segment] = segment{Done: len(p.out.LastEvaluatedKey) == 0, At: keyText(p.out.LastEvaluatedKey)}
`,
		pkg: "idemddb/operate", run: "TestListGoesOnAfterAnError",
	},
	{
		why:  "pages that are being read do not count for the budget",
		file: "idemddb/operate/scan.go",
		old:  `b.left -= reserved`,
		new:  `reserved = 0`,
		pkg:  "idemddb/operate", run: "TestListOfALargeTableStaysWithinItsBudget/4000",
	},
	{
		why:  "a lease that is over by less than the clock skew is stuck",
		file: "idemddb/operate/view.go",
		old:  `v.Lease.Before(now.Add(-r.opts.ClockSkew))`,
		new:  `v.Lease.Before(now)`,
		pkg:  "idemddb/operate", run: "TestLookSaysWhatIsTrueOfAKey/in_memory",
	},
}
