package lambdawrap

import (
	"cmp"
	"slices"
)

// lane holds messages that must be worked on in order: those of one key, or those of a FIFO message group and of all groups that share
// a key with it. Lanes are worked on side by side.
type lane struct {
	messages []*message
	ended    map[identity]outcome // :: piece of work → how it ended in this batch
	blocked  map[string]int32     // :: FIFO message group one of whose messages failed → seconds until that message comes back
	turn     *turn                // of the first message, which has entered the limits; nil afterwards
}

// takeTurn returns the turn of the lane's next message.
func (l *lane) takeTurn(limits *limits, m *message) *turn {
	t := l.turn
	if l.turn = nil; t == nil {
		t = limits.enter(m)[0]
	}

	return t
}

// identity tells whether two messages ask for the same piece of work.
type identity struct{ key, fingerprint string }

func (m *message) identity() identity { return identity{m.key, m.fingerprint} }

// lanes deals the messages into lanes. Within a lane they are in the order of the batch, and the lanes are in the order of their first
// messages.
func lanes(messages []*message) []*lane {
	d := dealer{byKey: map[string]int{}, byGroup: map[string]int{}}

	for _, m := range messages {
		d.deal(m)
	}

	made := make([]*lane, 0, len(d.lanes))

	for _, dealt := range d.lanes {
		if len(dealt) > 0 {
			made = append(made, &lane{messages: dealt})
		}
	}

	return made
}

// dealer deals messages into lanes.
type dealer struct {
	lanes   [][]*message
	byKey   map[string]int // :: key → lane
	byGroup map[string]int // :: FIFO message group → lane
}

func (d *dealer) deal(m *message) {
	byKey, hasKey := d.byKey[m.key]
	hasKey = hasKey && m.noKey == nil
	byGroup, hasGroup := d.byGroup[m.group]
	hasGroup = hasGroup && m.fifo

	n := len(d.lanes)

	switch {
	case hasKey && hasGroup && byKey != byGroup:
		n = d.merge(min(byKey, byGroup), max(byKey, byGroup))
	case hasKey:
		n = byKey
	case hasGroup:
		n = byGroup
	default:
		d.lanes = append(d.lanes, nil)
	}

	d.lanes[n] = append(d.lanes[n], m)

	if m.noKey == nil {
		d.byKey[m.key] = n
	}

	if m.fifo {
		d.byGroup[m.group] = n
	}
}

// merge moves the messages of one lane into another, because two message groups share a key.
func (d *dealer) merge(into, from int) int {
	d.lanes[into] = append(d.lanes[into], d.lanes[from]...)
	slices.SortFunc(d.lanes[into], func(a, b *message) int { return cmp.Compare(a.index, b.index) })
	d.lanes[from] = nil

	for _, lanes := range []map[string]int{d.byKey, d.byGroup} {
		for name, n := range lanes {
			if n == from {
				lanes[name] = into
			}
		}
	}

	return into
}

// known returns the outcome of a message that need not be worked on: an earlier message of its FIFO group failed, it has no key, or its
// piece of work has ended in this batch.
func (l *lane) known(m *message) (outcome, bool) {
	if seconds, ok := l.blocked[m.group]; ok && m.fifo {
		return outcome{name: OutcomeBlocked, err: errBlocked, seconds: seconds}, true
	}

	if m.noKey != nil {
		return noKeyOutcome(m.noKey), true
	}

	o, ok := l.ended[m.identity()]

	return o, ok
}

// note keeps how a message ended, for those behind it.
func (l *lane) note(m *message, o outcome) {
	if len(l.messages) == 1 {
		return
	}

	if l.ended == nil {
		l.ended, l.blocked = map[identity]outcome{}, map[string]int32{}
	}

	if m.noKey == nil && o.name != OutcomeBlocked {
		l.ended[m.identity()] = o.ofDuplicate()
	}

	if m.fifo && m.failed {
		l.blocked[m.group] = m.seconds
	}
}
