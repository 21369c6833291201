package mutation

// funcMutants change the wrapper of functions and the keys of events.
var funcMutants = []mutant{
	{
		why:  "a claim that comes too late for the handler counts as an attempt",
		file: "lambdawrap/func.go",
		old:  `errors.Join(ErrNoTime, claim.ReleaseUnused(ctx))`,
		new:  `errors.Join(ErrNoTime, claim.Release(ctx, nil))`,
		pkg:  "lambdawrap", run: "TestAClaimOfFuncThatComesTooLateIsGivenBackUnused",
	},
	{
		why:  "a handler starts without the time that it needs",
		file: "lambdawrap/func.go",
		old:  `case !r.invocation.hasTime() || ctx.Err() != nil:`,
		new:  `case ctx.Err() != nil:`,
		pkg:  "lambdawrap", run: "TestAClaimOfFuncThatComesTooLateIsGivenBackUnused",
	},
	{
		why:  "an invocation waits for a key until there is no time left for the handler",
		file: "lambdawrap/func.go",
		old:  `wait = max(0, min(wait, v.untilLastStart()))`,
		new:  `wait = max(0, wait)`,
		pkg:  "lambdawrap", run: "TestFuncWaitsForAKeyThatIsHeldButNotLongerThanThereIsTime",
	},
	{
		why:  "the context of the handler does not end with its time-out",
		file: "lambdawrap/handler.go",
		old:  `return context.WithTimeout(ctx, timeout)`,
		new:  `return context.WithCancel(ctx)`,
		pkg:  "lambdawrap", run: "TestTheContextOfAHandlerOfFuncEndsWithItsTimeAndWhatItReturnsCounts",
	},
	{
		why:  "another input under the same key is answered with the result of the first",
		file: "lambdawrap/key.go",
		old:  `err == nil && asks.Key != "" && fingerprint != nil {`,
		new:  `err == nil && asks.Key == "" && fingerprint != nil {`,
		pkg:  "lambdawrap", run: "TestAnotherInputUnderTheSameKeyOfFuncIsRefused",
	},
	{
		why:  "an object that is removed has the key of its creation, and its removal is never worked on",
		file: "lambdawrap/event_key.go",
		old:  `field{"eventName", r.EventName}, `,
		new:  `field{"eventName", "object"}, `,
		pkg:  "lambdawrap", run: "TestKeysOfEvents",
	},
	{
		why:  "two changes of an object's tags have one key",
		file: "lambdawrap/event_key.go",
		old:  `if !isCreatedOrRemoved(r) {`,
		new:  `if len(r.EventName) == 0 {`,
		pkg:  "lambdawrap", run: "TestKeysOfEvents",
	},
	{
		why:  "two restores of an object have one key",
		file: "lambdawrap/envelope_service.go",
		old:  `case r.S3.Object.Sequencer == "" || !isCreatedOrRemoved(r):`,
		new:  `case r.S3.Object.Sequencer == "":`,
		pkg:  "lambdawrap", run: "TestASecondRestoreOfAnObjectIsNotTakenForTheFirst",
	},
	{
		why:  "all objects of a bucket whose versions are suspended have the version null",
		file: "lambdawrap/event_key.go",
		old:  `if version.value == "" || version.value == "null" {`,
		new:  `if version.value == "" {`,
		pkg:  "lambdawrap", run: "TestKeysOfEvents",
	},
	{
		why:  "a part of a key may be absent",
		file: "lambdawrap/key.go",
		old:  `if f.value == "" {`,
		new:  `if f.name == "" {`,
		pkg:  "lambdawrap", run: "TestKeysOfEvents",
	},
	{
		why:  "JSON fills a field from a member whose name differs in case, which Body does not see",
		file: "internal/strictjson/name.go",
		old:  `if !isKnown {`,
		new:  `if !isKnown && false {`,
		pkg:  "lambdawrap", run: "TestBodyAndJSONCompareNamesAsTheyStand",
	},
	{
		why:  "a body is keyed by one spelling of a name and worked on by the other",
		file: "internal/strictjson/name.go",
		old:  `return strings.EqualFold(p.name, name)`,
		new:  `return p.name == name`,
		pkg:  "lambdawrap", run: "TestBodyAndJSONCompareNamesAsTheyStand",
	},
}
