package main

import "github.com/idemddb/go-idemddb/internal/planner"

// events returns what can happen now.
func (w *world) events() (list []event) {
	for i, writer := range w.writers {
		if writer.canCome() && !w.hasTwinBefore(i) {
			list = append(list, event{comes, int8(i), 0})
		}

		if w.leaving > 0 && writer.write != nil {
			list = append(list, event{leaves, int8(i), 0})
		}
	}

	for i, f := range w.flights {
		if list = append(list, event{lands, int8(i), 0}); w.faults > 0 {
			list = append(list, w.faultsOf(int8(i), f)...)
		}
	}

	for i := range w.lost {
		list = append(list, event{arrives, int8(i), 0})
	}

	if w.isLate {
		return append(list, event{wakes, 0, 0})
	}

	if !w.wakeAt.IsZero() && !w.endsBefore(w.wakeAt) {
		if list = append(list, event{wakes, 0, 0}); w.sleeping > 0 {
			list = append(list, event{sleeps, 0, 0})
		}
	}

	return list
}

// faultsOf returns what can go wrong with a request that is under way.
func (w *world) faultsOf(i int8, f *flight) []event {
	if f.isReading {
		return []event{{losesAnswer, i, 0}}
	}

	list := []event{{losesRequest, i, 0}, {losesAnswer, i, 0}, {throttled, i, 0}}

	one := partThrottled

	switch {
	case w.items != "":
		one = conflicts
	case !f.IsShared():
		return list
	default:
		list = append(list, event{denied, i, 0})
	}

	for j := range f.Writes {
		list = append(list, event{one, i, int8(j)})
	}

	return list
}

func (w *writer) canCome() bool { return w.phase == ready || w.phase == holding }

// hasTwinBefore reports whether an earlier writer is as this one, so that it does not matter who comes first.
func (w *world) hasTwinBefore(i int) bool {
	for _, earlier := range w.writers[:i] {
		if this := w.writers[i]; this.phase == ready && earlier.phase == ready && (earlier.key == this.key && earlier.item == this.item || w.isClaimed) {
			return true
		}
	}

	return false
}

// happen lets an event happen.
func (w *world) happen(e event) {
	switch e.kind {
	case comes:
		w.come(w.writers[e.who])
	case wakes:
		w.wake()
	case sleeps:
		w.sleep()
	case leaves:
		w.leave(w.writers[e.who])
	case arrives:
		w.arriveLate(int(e.who))
	default:
		w.land(int(e.who), e)
	}
}

func (w *world) come(c *writer) {
	if c.phase = (map[phase]phase{ready: claiming, holding: completing}[c.phase]); w.items != "" {
		c.phase = committing
	}

	c.since, c.pauses, c.turns, c.isInsert = w.now, 0, 0, true
	w.number++
	c.number = w.number
	w.tellf("%s %s %s", c.name, c.phase, c.key)

	if c.isClaim() && w.isGroup {
		c.group.Members, c.group.Expected = c.group.Members+1, max(0, c.group.Expected-1)
	}

	wasIdle := len(w.flights) == 0 && !w.isLate // what is overdue leaves first

	if w.without == ruleAlone {
		c.group.Expected++ // the wrong wrapper announces what does not come
	}

	c.write = &planner.Write{
		Policy: planner.Policy{End: w.now.Add(longAfter), Pause: longestPause}, Record: w.recordOf(c), Group: c.group, Handle: c,
		Joint: c.joint(),
	}

	if f := w.planner.Submit(w.now, c.write); f != nil {
		w.depart(f)
	} else {
		w.departAll()
	}

	if w.isColdBehindGate(c) && !w.isUnderWay(c) {
		w.violatef(ruleGate, "%s touches no hot item, and its write stands behind the gate", c.name)
	}

	if wasIdle && !w.isGroup && !w.isUnderWay(c) && !w.isGated(c) {
		w.violatef(ruleAlone, "%s is alone, and its write does not leave in the same step", c.name)
	}
}

// recordOf returns the record of a write as the planner is told.
func (w *world) recordOf(c *writer) string {
	if w.without == ruleLimits || w.without == ruleConflict {
		return c.key + " of " + c.name // the wrong driver: the planner does not know that two writers have one key
	}

	return c.key
}

func (w *world) leave(c *writer) {
	w.leaving--
	w.tellf("the caller of %s leaves", c.name)

	if w.without != ruleLeft {
		w.planner.Withdraw(c.write)
	}

	c.end(unknown)
	w.leaveGroup(c)
	w.departAll()
}

func (w *world) arriveLate(i int) {
	r := w.lost[i]
	w.lost = append(w.lost[:i:i], w.lost[i+1:]...)
	w.tellf("the lost request of %s arrives", r.of)

	if r.joined != nil {
		w.sendJoint(r)
	} else {
		w.send(r)
	}
}

func (w *world) wake() {
	if w.isLate {
		w.tellf("the planner is called late")
	} else {
		w.tellf("%v pass", w.wakeAt.Sub(w.now))
		w.now = w.wakeAt
	}

	if w.isLate = false; w.without != ruleTogether { // the wrong driver lets writes wait for landings only
		w.departAll()
	}
}

// sleep lets the time pass until after the planner wants to be called, and does not call it: timers are late, and another event
// may come first.
func (w *world) sleep() {
	late := w.wakeAt.Add(1)
	w.tellf("%v pass, and the timer is late", late.Sub(w.now))
	w.now, w.isLate = late, true
	w.sleeping--
}

// land ends a request that is under way.
func (w *world) land(i int, e event) {
	f := w.flights[i]
	w.flights = append(w.flights[:i:i], w.flights[i+1:]...)

	if e.kind != lands {
		w.faults--
	}

	if f.isReading {
		w.landRead(f, e)
		w.departAll()

		return
	}

	if w.items != "" {
		w.held = e.what
		w.landJoint(f, e)
		w.departAll()

		return
	}

	answers := w.answers(f, e)

	follow := make([]planner.Answer, len(f.Writes))
	isHeldBack := w.without == ruleItself && hasUnanswered(answers) // the wrong driver sends the whole request again

	for i, write := range f.Writes { // what is said of a write whose caller has left must not count
		if follow[i] = planner.NotNow; f.Has(write) && writerOf(write).write == write && !isHeldBack {
			follow[i] = writerOf(write).read(answers[i])
		}
	}

	w.follow(f, follow)
	w.departAll()

	for i, write := range f.Writes {
		if c := writerOf(write); c.write == write && isDecisive(answers[i]) {
			w.violatef(ruleItself, "DynamoDB has answered %s, and its write is sent again", c.name)
		}
	}
}

func (p phase) String() string { return phaseNames[p] }
