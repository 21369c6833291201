package mutation

// plannerMutants change which writes travel together, when, and when again.
var plannerMutants = []mutant{
	{
		why:  "the first claim of a group leaves before those that are announced",
		file: "internal/planner/planner.go",
		old:  `&& !isGated && w.Group.lingerOf(w) == 0`,
		new:  `&& !isGated`,
		pkg:  "internal/planner", run: "TestWhatAGroupAnnouncesDelaysItsOwnWritesOnly",
	},
	{
		why:  "a write waits until the flight before it has landed, however long that takes",
		file: "internal/planner/depart.go",
		old:  `return oldest.Add(p.times[lane].t() / togetherPart)`,
		new:  `return oldest.Add(time.Hour)`,
		pkg:  "internal/planner", run: "TestAWriteWaitsForOthersForAThirdOfT",
	},
	{
		why:  "a write that comes while a flight is under way does not wait for others",
		file: "internal/planner/depart.go",
		old:  `return oldest.Add(p.times[lane].t() / togetherPart)`,
		new:  `return oldest`,
		pkg:  "internal/planner", run: "TestAWriteWaitsForOthersForAThirdOfT",
	},
	{
		why:  "nothing wakes the planner when a write has waited for a third of T",
		file: "internal/planner/depart.go",
		old: `			p.note(now, at)

			continue`,
		new: `			continue`,
		pkg: "internal/planner", run: "TestAWriteWaitsForOthersForAThirdOfT",
	},
	{
		why:  "any number of flights is under way at a time",
		file: "internal/planner/depart.go",
		old:  `case all >= maxFlights:`,
		new:  `case all >= 100*maxFlights:`,
		pkg:  "internal/planner", run: "TestAWriteWaitsForOthersForAThirdOfT",
	},
	{
		why:  "a flight that hangs keeps all others waiting",
		file: "internal/planner/depart.go",
		old:  `!f.isCounted || !f.due.IsZero() || !end.After(now)`,
		new:  `!f.isCounted || !f.due.IsZero()`,
		pkg:  "internal/planner", run: "TestAWriteWaitsForOthersForAThirdOfT",
	},
	{
		why:  "a group with many writes keeps another one waiting until it is done",
		file: "internal/planner/queue.go",
		old:  `p.groups[w.lane] = append(without(p.groups[w.lane], g), g)`,
		new:  `_ = g`,
		pkg:  "internal/planner", run: "TestGroupsHaveTheirTurns",
	},
	{
		why:  "writes of a group wait for members at work for as long as announced claims do",
		file: "internal/planner/planner.go",
		old:  `return lingerTime`,
		new:  `return expectTime`,
		pkg:  "internal/planner", run: "TestWhatAGroupAnnouncesDelaysItsOwnWritesOnly",
	},
	{
		why:  "claims that are announced and do not come are waited for again and again",
		file: "internal/planner/depart.go",
		old:  `			g.Expected = 0`,
		new:  `			_ = g.Expected`,
		pkg:  "internal/planner", run: "TestWhatAGroupAnnouncesDelaysItsOwnWritesOnly",
	},
	{
		why:  "an extension whose lease is almost over waits for others of its group",
		file: "internal/planner/depart.go",
		old:  `if now.Before(g.until) && !w.IsUrgent && !w.hasLeft`,
		new:  `if now.Before(g.until) && !w.hasLeft`,
		pkg:  "internal/planner", run: "TestWhatAGroupAnnouncesDelaysItsOwnWritesOnly",
	},
	{
		why:  "the pauses between tries do not double, so that an outage gets a request each 25 ms",
		file: "internal/planner/planner.go",
		old:  `w.pause = min(2*w.pause, w.Pause)`,
		new:  `w.pause = min(w.pause, w.Pause)`,
		pkg:  "idemddb", run: "TestPausesDouble",
	},
	{
		why:  "the pauses between tries grow without limit",
		file: "internal/planner/planner.go",
		old:  `w.pause = min(2*w.pause, w.Pause)`,
		new:  `w.pause = 2 * w.pause`,
		pkg:  "idemddb", run: "TestPausesDouble",
	},
	{
		why:  "the last try is given up because its pause does not fit",
		file: "internal/planner/planner.go",
		old:  `min(time.Duration(jitter*float64(w.pause))+1, w.End.Sub(now)/2)`,
		new:  `time.Duration(jitter*float64(w.pause)) + 1`,
		pkg:  "idemddb", run: "TestASettlementIsSentUntilTheEndOfItsTimeWithShortPauses",
	},
	{
		why:  "one try may take all of the time that is left",
		file: "internal/planner/planner.go",
		old:  `f.Limit = Limit(end.Sub(now))`,
		new:  `f.Limit = max(minTry, end.Sub(now))`,
		pkg:  "idemddb", run: "TestAReplyThatNeverComesLeavesTimeForAnotherTry",
	},
	{
		why:  "a completion that is denied is sent for longer than one Lease",
		file: "internal/planner/planner.go",
		old:  `now.Sub(w.denied) >= w.Denied`,
		new:  `w.Denied == 0`,
		pkg:  "idemddb", run: "TestACompletionThatIsDeniedIsSentForOneLease",
	},
	{
		why:  "a key that is throttled for good delays those whose requests it is in",
		file: "internal/planner/planner.go",
		old:  `w.passedOver >= maxPassedOver`,
		new:  `w.passedOver >= 1000*maxPassedOver`,
		pkg:  "internal/planner", run: "TestAWriteBelongsToItself",
	},
	{
		why:  "a write whose caller has left is sent again",
		file: "internal/planner/planner.go",
		old:  `if w := f.Writes[i]; w.flight == f && !p.landed`,
		new:  `if w := f.Writes[i]; !p.landed`,
		pkg:  "internal/planner", run: "TestEnds",
	},
	{
		why:  "no write leaves its flight when its end comes",
		file: "internal/planner/depart.go",
		old:  `if w.flight == f && (f.IsShared() || !f.due.IsZero()) {`,
		new:  `if false {`,
		pkg:  "internal/planner", run: "TestEnds",
	},
	{
		why:  "the end of a write that is past hides those of others",
		file: "internal/planner/queue.go",
		old:  `if end = later(end, now.Add(1)); p.nextEnd`,
		new:  `if p.nextEnd`,
		pkg:  "internal/planner", run: "TestEnds",
	},
	{
		why:  "the end of a write is forgotten that passed by while it travelled alone",
		file: "internal/planner/queue.go",
		old:  `p.noteEnd(now, w.lastMoment())`,
		new: `if w.tries == 0 {
		p.noteEnd(now, w.lastMoment())
	}`,
		pkg: "internal/planner", run: "TestEnds",
	},
	{
		why:  "a claim whose time is over when it comes is not tried",
		file: "internal/planner/queue.go",
		old:  `return later(w.End, begun.Add(minTry))`,
		new:  `return later(w.End, begun)`,
		pkg:  "internal/planner", run: "TestEnds",
	},
	{
		why:  "two writes of one key share a request, which DynamoDB refuses as a whole",
		file: "internal/planner/depart.go",
		old:  `case item.As == "" || as != item.As:`,
		new:  `case item.Key == "" || as != item.As:`,
		pkg:  "idemddb", run: "TestAKeyNeverStandsTwiceInARequest",
	},
	{
		why:  "two writes of one key are under way at once",
		file: "internal/planner/depart.go",
		old:  `return p.isHeld(now, w) || `,
		new:  `return `,
		pkg:  "internal/planner", run: "TestNoConflictWithOneself",
	},
	{
		why:  "a request that hangs keeps its keys from others for as long as it hangs",
		file: "internal/planner/depart.go",
		old:  `f.Born.Add(heldFor * p.times[f.lane].t())`,
		new:  `f.Born.Add(time.Hour)`,
		pkg:  "internal/planner", run: "TestNoConflictWithOneself",
	},
	{
		why:  "a flight that lands late frees the key of a later one",
		file: "internal/planner/planner.go",
		old:  `if p.held[item.Key] == f {`,
		new:  `if p.held[item.Key] != nil {`,
		pkg:  "internal/planner", run: "TestNoConflictWithOneself",
	},
	{
		why:  "an extension goes before a completion that waits",
		file: "internal/planner/depart.go",
		old:  `|| w.IsExtend && !w.IsUrgent && p.givesWay(w)`,
		new:  ``,
		pkg:  "internal/planner", run: "TestNoConflictWithOneself",
	},
	{
		why:  "extensions give way for ever where many claim their key",
		file: "internal/planner/depart.go",
		old:  ` && other.Group == w.Group }`,
		new:  ` }`,
		pkg:  "internal/planner", run: "TestNoConflictWithOneself",
	},
	{
		why:  "one AccessDenied turns shared requests off for good",
		file: "internal/planner/write.go",
		old:  `d.until = now.Add(deniedFor)`,
		new:  `d.until = now.Add(1000 * deniedFor)`,
		pkg:  "idemddb", run: "TestSharedRequestsThatWereDeniedAreTriedAgainAfterFiveMinutes",
	},
	{
		why:  "after an AccessDenied, the next batch asks again at once",
		file: "internal/planner/write.go",
		old:  `d.until = now.Add(deniedFor)`,
		new:  `d.until = now.Add(deniedFor / 5)`,
		pkg:  "idemddb", run: "TestSharedRequestsThatWereDeniedAreTriedAgainAfterFiveMinutes",
	},
	{
		why:  "after a denial, several requests at a time ask whether it is over",
		file: "internal/planner/planner.go",
		old: `		p.separate()
`,
		new: ``,
		pkg: "internal/planner", run: "TestDenied",
	},
	{
		why:  "writes that come while one request asks whether a denial is over ask, too",
		file: "internal/planner/write.go",
		old: `d.isProbing = !d.until.IsZero()

	return d.isProbing`,
		new: `return !d.until.IsZero()`,
		pkg: "internal/planner", run: "TestDenied",
	},
	{
		why:  "a shared request from before the denial ends the memory of it",
		file: "internal/planner/planner.go",
		old: `if f.isProbe {
		p.denied[f.lane].until`,
		new: `if f != nil {
		p.denied[f.lane].until`,
		pkg: "internal/planner", run: "TestDenied",
	},
	{
		why:  "nothing wakes the planner when the record of a write is let go",
		file: "internal/planner/depart.go",
		old: `	p.note(now, until)

`,
		new: ``,
		pkg: "internal/checks/explore", run: "TestEveryOrderOfEventsKeepsEachRule",
	},
	{
		why:  "a write whose caller leaves in a pause is sent after it",
		file: "internal/planner/planner.go",
		old: `		p.paused = without(p.paused, w)
`,
		new: ``,
		pkg: "internal/checks/explore", run: "TestEveryOrderOfEventsKeepsEachRule",
	},
	{
		why:  "writes share requests although that was denied a moment ago",
		file: "internal/planner/planner.go",
		old:  `!d.isProbing && now.After(d.until)`,
		new:  `!d.isProbing`,
		pkg:  "internal/checks/explore", run: "TestEveryOrderOfEventsKeepsEachRule",
	},
}
