package mutation

// panicMutants lose what a panic of the user's code says, or let it say more than that it is one.
var panicMutants = []mutant{
	{
		why:  "nobody finds the code that panicked",
		file: "internal/panicerror/panicerror.go",
		old:  `e := &Error{who, value, debug.Stack()}`,
		new:  `e := &Error{who, value, nil}`,
		pkg:  "idemddb", run: "TestAPanicOf.*HasItsStack",
	},
	{
		why:  "the stack of a panic that was carried from another goroutine is lost",
		file: "internal/panicerror/panicerror.go",
		old:  `carried != nil {`,
		new:  `carried == nil {`,
		pkg:  "lambdawrap", run: "TestAFailureIsLoggedWithTheStackThatItHas",
	},
	{
		why:  "a panic whose stack cannot be had ends the process",
		file: "internal/panicerror/panicerror.go",
		old: `defer func() { _ = recover() }()

	found, ok`,
		new: `found, ok`,
		pkg: "lambdawrap", run: "TestAFailureIsLoggedWithTheStackThatItHas",
	},
	{
		why:  "a panic with a typed nil pointer ends the process when its error is read",
		file: "internal/panicerror/panicerror.go",
		old:  `if !isReadable(err) {`,
		new:  `if false {`,
		pkg:  "lambdawrap", run: "TestAnErrorThatCannotBeReadCostsItsOwnMessage",
	},
	{
		why:  "a panic of a Sender parks messages that were not refused",
		file: "internal/delivery/sending.go",
		old:  `!panicerror.IsAnswer(answer, ErrUnsendable)`,
		new:  `!errors.Is(answer, ErrUnsendable)`,
		pkg:  "idemddb", run: "TestAPanicIsNoAnswer",
	},
	{
		why:  "a Sender that does not return holds the answer",
		file: "internal/delivery/targets.go",
		old: `	case <-time.After(returnTime):
		return false`,
		new: `	case <-time.After(time.Hour):
		return false`,
		pkg: "internal/delivery", run: "TestASenderThatDoesNotReturnHoldsNobody",
	},
	{
		why:  "an error of a Sender that cannot be read panics where its message is left",
		file: "internal/delivery/targets.go",
		old:  `= readable(answer)`,
		new:  `= answer`,
		pkg:  "idemddb", run: "TestAnErrorOfASenderThatCannotBeReadLeavesItsMessage",
	},
	{
		why:  "a panic of Get replays work without its result, which is not lost",
		file: "idemddb/results.go",
		old:  `case panicerror.IsAnswer(err, ErrResultOmitted):`,
		new:  `case err != nil && panicerror.IsAnswer(fmt.Errorf("%w", err), ErrResultOmitted):`,
		pkg:  "idemddb", run: "TestAPanicIsNoAnswer",
	},
	{
		why:  "a panic of Effects.Refused costs the whole batch, and the key stays held",
		file: "idemddb/effects.go",
		old:  `v := recover(); v != nil`,
		new:  `v := any(nil); v != nil`,
		pkg:  "lambdawrap", run: "TestAPanicOfEffectsRefusedCostsItsOwnMessage",
	},
	{
		why:  "an error of Effects.Refused that cannot be read panics where the key is settled",
		file: "idemddb/effects.go",
		old:  `panicerror.Readable(e.refused(e))`,
		new:  `e.refused(e)`,
		pkg:  "idemddb", run: "TestAPanicOfEffectsRefusedHasItsStackAndReleasesTheKey",
	},
	{
		why:  "a panic of Options.Trace leaves nothing",
		file: "idemddb/trace.go",
		old: `if err != nil {
		a.store.observe(ctx, Event{Kind: KindPanicked`,
		new: `if err == nil {
		a.store.observe(ctx, Event{Kind: KindPanicked`,
		pkg: "idemddb", run: "TestAPanicOfTraceIsAnEventWithItsStack",
	},
	{
		why:  "a renewal that panicked cancels the work, and no operator learns why",
		file: "idemddb/renew.go",
		old:  `r.claim.store.observe(ctx, r.claim.event(KindPanicked, err))`,
		new:  `_ = ctx`,
		pkg:  "idemddb", run: "TestAPanicOfTheClientInARenewalCancelsTheWork",
	},
	{
		why:  "an observer that panics in a renewal, and again when it gets the event of that, ends the process",
		file: "idemddb/renew.go",
		old:  `defer func() { _ = recover() }()`,
		new:  `defer func() {}()`,
		pkg:  "lambdawrap", run: "TestAPanicInARenewalCostsNoMoreThanTheClaims/of_the_observer",
	},
	{
		why:  "the log does not show where a Sender panicked",
		file: "lambdawrap/log.go",
		old:  `return panicerror.StackOf(err)`,
		new:  `return nil`,
		pkg:  "lambdawrap", run: "TestAnUnsentMessageHasItsLinesAndComesBackOnlyWithoutASweep",
	},
	{
		why:  "a Sender that panics is not an error that a person must look at",
		file: "lambdawrap/log.go",
		old:  `isPanic || isPanicInStore ||`,
		new:  `isPanic || isPanicInStore && err == nil ||`,
		pkg:  "lambdawrap", run: "TestAnUnsentMessageHasItsLinesAndComesBackOnlyWithoutASweep",
	},
}
