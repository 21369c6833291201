package turns

// Turn is one message's way through the limits. After Answer, its methods are called in this order: Start or Leave; after the start, End,
// and then Recorded if End was told of an effect.
type Turn struct {
	limits *Limits
	index  int  // of the message in its batch
	ready  bool // has its claim or needs none, and wants a worker
	works  bool // has a worker
	answer chan bool

	finished bool // its effect has happened and has no record yet
	troubled bool
	refusals int // of records, that were known when its own was sent last
}

// Answer gives true when the message may be claimed, or has its worker if it needs no claim. It gives false if nothing starts any more; then
// the turn is over.
func (t *Turn) Answer() <-chan bool { return t.answer }

// Leave gives the place or the worker of a message back whose work does not begin.
func (t *Turn) Leave() {
	t.change(func(l *Limits) {
		if l.remove(t); t.works {
			l.working--
		}
	})
}

// Start waits for a worker, unless the message has one. It returns false if nothing starts any more; then the turn is over.
func (t *Turn) Start() bool {
	if t.works {
		return true
	}

	t.change(func(*Limits) { t.ready = true })

	return <-t.answer
}

// End gives the worker back. If the handler had an effect, Recorded must follow.
func (t *Turn) End(effect bool) {
	t.change(func(l *Limits) {
		l.working--

		if effect {
			l.unrecorded++
			t.finished, t.refusals = true, l.refusals
		}
	})
}

// Trouble reports that the record of the effect does not get through: it was refused, or it takes long. It returns true the first time
// in the invocation.
func (t *Turn) Trouble(refused bool) bool {
	l := t.limits

	l.mu.Lock()
	defer l.mu.Unlock()

	if !t.finished {
		return false
	}

	if refused {
		l.refusals++
		l.refused, t.refusals = true, l.refusals
	}

	if t.troubled {
		return false
	}

	t.troubled = true
	l.troubled++

	isFirst := !l.warned
	l.warned = true

	return isFirst
}

// Recorded reports that the effect has its record, or that the record was given up.
func (t *Turn) Recorded(written bool) {
	t.change(func(l *Limits) {
		l.unrecorded--
		t.finished = false

		if t.troubled {
			l.troubled--
		}

		if written && t.refusals == l.refusals {
			l.refused = false
		}
	})
}

func (t *Turn) change(f func(*Limits)) {
	l := t.limits

	l.mu.Lock()
	defer l.mu.Unlock()

	f(l)
	l.grant()
}
