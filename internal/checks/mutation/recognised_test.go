package mutation

// recognisedMutants change what is done with a record that an earlier try, another worker or an operator wrote, and the limits of
// what is staged.
var recognisedMutants = []mutant{
	{
		why:  "a transaction does not wait for the end of a renewal that it has aborted",
		file: "idemddb/renew.go",
		old: `		abort()
		<-running`,
		new: `		abort()
		_ = running`,
		pkg: "idemddb", run: "TestARenewalUnderWayNeitherDelaysNorMeetsTheTransaction",
	},
	{
		why:  "a commit that is recognised sends messages again that a sweep has sent",
		file: "idemddb/commit.go",
		old:  `c.done = *c.committed`,
		new:  `_ = c.committed`,
		pkg:  "idemddb", run: "TestAWriteThatIsRecognisedSendsNothingThatASweepHasSent/Commit$",
	},
	{
		why:  "a completion that is recognised sends messages again that a sweep has sent",
		file: "idemddb/complete_with.go",
		old:  `return c.committed(ctx, found, omitted)`,
		new:  `return c.committed(ctx, done, omitted)`,
		pkg:  "idemddb", run: "TestAWriteThatIsRecognisedSendsNothingThatASweepHasSent/CompleteWith$",
	},
	{
		why:  "a commit that its rejection finds sends messages again that a sweep has sent",
		file: "idemddb/optimistic.go",
		old:  `w.commit.done = *a.committed`,
		new:  `_ = a.committed`,
		pkg:  "idemddb", run: "TestACommitThatWasAppliedAfterItsRefusalIsCompleted",
	},
	{
		why:  "a commit ends without an answer if another worker's record is past its end, too",
		file: "idemddb/commit.go",
		old:  `if _, ok := errors.AsType[*secondRequestError](c.err); ok {`,
		new:  `if _, ok := errors.AsType[*secondRequestError](c.err); ok && c.err == nil {`,
		pkg:  "idemddb", run: "TestACommitThatLosesARecordPastItsRetentionBeginsAnew",
	},
	{
		why:  "a claim that is found in the place of a record past its retention is asked for again",
		file: "idemddb/replace.go",
		old:  `err == nil && rec.IsOwn(a.Token) {`,
		new:  `err == nil && rec.IsOwn(a.Token) && put == nil {`,
		pkg:  "idemddb", run: "TestAClaimThatIsFoundInThePlaceOfARecordPastItsRetentionIsWonAtOnce",
	},
	{
		why:  "between two tries of a transaction, the lease is extended beyond the deadline of the invocation",
		file: "idemddb/complete_with.go",
		old:  `bound := engine.LeaseBound(ctx)`,
		new:  `bound := engine.LeaseBound(write)`,
		pkg:  "idemddb", run: "TestBetweenTheTriesOfATransactionTheLeaseIsNotExtendedBeyondTheDeadline",
	},
	{
		why:  "a claim whose extension another worker refuses is held until its old lease ends",
		file: "idemddb/acquire.go",
		old:  `return err == nil && a.claim.left() > 0`,
		new:  `return (err == nil || true) && a.claim.left() > 0`,
		pkg:  "idemddb", run: "TestAClaimWhoseExtensionIsRefusedIsNotReturned",
	},
	{
		why:  "a claim behind the deadline of its invocation has a lease that ended before it",
		file: "idemddb/claim.go",
		old:  `lease = max(0, min(lease, time.Until(deadline)))`,
		new:  `lease = min(lease, time.Until(deadline))`,
		pkg:  "idemddb", run: "TestAClaimBehindTheDeadlineHasNoLeaseFromBeforeIt",
	},
	{
		why:  "a removal that meets an unreadable record counts as that of another sender",
		file: "idemddb/deliver.go",
		old:  `errors.Is(err, ErrFenced) && !errors.Is(err, ErrCorrupt)`,
		new:  `errors.Is(err, ErrFenced)`,
		pkg:  "idemddb", run: "TestARemovalThatMeetsAnUnreadableRecordIsAnError",
	},
	{
		why:  "an operator sends a parked message behind a later one of its group",
		file: "internal/delivery/sending.go",
		old:  `func(a, b record.Message) int { return a.Index - b.Index })`,
		new:  `func(record.Message, record.Message) int { return 0 })`,
		pkg:  "idemddb", run: "TestAnOperatorSendsAParkedMessageBeforeALaterOneThatIsUnsent",
	},
	{
		why:  "a release after an operator's release is an error",
		file: "idemddb/complete.go",
		old:  `c.lost != nil && c.lost.Current != c.held.Fence`,
		new:  `c.lost != nil`,
		pkg:  "idemddb", run: "TestAReleaseAfterAnOperatorsReleaseIsNoError",
	},
	{
		why:  "work without a claim is committed although it has forgotten what it staged",
		file: "idemddb/stage.go",
		old:  `s.effects, s.parts, s.staged, s.failed, s.bad = effects{}, nil, false, nil, nil`,
		new:  `s.effects, s.parts, s.failed, s.bad = effects{}, nil, nil, nil`,
		pkg:  "idemddb", run: "TestRunEndsAKeyAsItsWorkEnds/it_forgets_what_it_has_staged",
	},
	{
		why:  "items that leave no room for the record are staged",
		file: "idemddb/effects.go",
		old:  `delivery.Size(e.outbox) + plainRecord; e.size`,
		new:  `delivery.Size(e.outbox); e.size`,
		pkg:  "idemddb", run: "TestStageRefusesTooMuch/items_that_leave_no_room",
	},
	{
		why:  "a result is sent although it does not fit into the transaction beside the items",
		file: "idemddb/effects.go",
		old:  `min(dbitem.MaxSize, maxTransaction-dbitem.WriteSize(e.writes()...)) - size`,
		new:  `min(dbitem.MaxSize, maxTransaction) - size`,
		pkg:  "idemddb", run: "TestAResultThatDoesNotFitBesideTheItemsIsOmitted",
	},
	{
		why:  "the records of a group do not count for the size of its transaction",
		file: "idemddb/effects.go",
		old:  `Size: e.size + value`,
		new:  `Size: e.size - plainRecord + value`,
		pkg:  "idemddb", run: "TestTheRecordsOfAGroupCountForTheSizeOfItsTransaction",
	},
	{
		why:  "a transaction has 101 items",
		file: "internal/planner/depart.go",
		old:  `items > maxItems || `,
		new:  `items > maxItems+1 || `,
		pkg:  "internal/planner", run: "TestTheLimitsOfATransaction/101_items",
	},
	{
		why:  "a transaction has a byte more than 4 MB",
		file: "internal/planner/depart.go",
		old:  `size > maxSize || `,
		new:  `size > maxSize+1 || `,
		pkg:  "internal/planner", run: "TestTheLimitsOfATransaction/4_MB_and_a_byte",
	},
}
