package histories

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Kind is what a worker calls.
type Kind string

// The calls of a worker.
const (
	Claim    Kind = "claim"
	Complete Kind = "complete"
	Release  Kind = "release"
	Read     Kind = "read" // of how often the effect of the key has happened, after all else
)

// Answer is what a call was answered.
type Answer string

// The answers.
const (
	Won     Answer = "won"     // of a claim: the key is the caller's
	Held    Answer = "held"    // of a claim: another worker has the key
	Done    Answer = "done"    // of a claim: the key is completed. Of the others: it was written
	Fenced  Answer = "fenced"  // the write was refused
	Unknown Answer = "unknown" // the call may have happened, or not
)

// Input is a call. The worker's clock is an input, because leases depend on it.
type Input struct {
	Kind   Kind      `json:"kind"`
	Key    string    `json:"key"`
	Holder int       `json:"holder"` // the number of the claim that calls, or that the call settles
	From   time.Time `json:"from"`   // the worker's clock at the call
	To     time.Time `json:"to"`     // and when it was answered
	Result string    `json:"result"` // that a completion stores
}

// Output is what it was answered.
type Output struct {
	Answer  Answer `json:"answer"`
	Fence   int64  `json:"fence"`   // of a claim that was won, 0 if the subject has none
	Result  string `json:"result"`  // of a key that is completed
	Effects int    `json:"effects"` // that Read has found
}

// state is a key.
type state struct {
	held, completed, released bool

	holder  int       // the number of the claim that has the key or had it last
	fence   int64     // at least: a claim without an answer has not said its own
	lease   time.Time // its end is not earlier
	result  string
	effects int
}

// resolution is that of the times in a record, which are cut to it.
const resolution = time.Millisecond

// rules are what the model needs to know of the workers.
type rules struct {
	lease, skew time.Duration
}

// model is one correct key. It does not accept every answer to an unknown call: such a call has happened as a whole, or not at
// all.
func (r rules) model() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Partition: byKey,
		Init:      func() []any { return []any{state{}} },
		Step: func(s, in, out any) []any {
			return r.step(s.(state), in.(Input), out.(Output)) //nolint:forcetypeassert // this package makes them
		},
		DescribeOperation: func(in, out any) string { return describe(in.(Input), out.(Output)) }, //nolint:forcetypeassert // as above
		DescribeState:     func(s any) string { return s.(state).String() },                       //nolint:forcetypeassert // as above
	}

	return m.ToModel()
}

// step returns the states in which a key may be after a call that was answered so.
func (r rules) step(s state, in Input, out Output) []any {
	switch in.Kind {
	case Claim:
		return r.claim(s, in, out)
	case Read:
		return only(s, s.effects == out.Effects)
	case Complete, Release:
	}

	owns := s.held && !s.released && s.holder == in.Holder
	after := s.settle(in)

	switch out.Answer {
	case Done:
		return only(after, owns)
	case Fenced:
		if owns && in.Kind == Release { // its first try was applied without an answer, and two others have claimed the key before the next one
			return []any{after}
		}

		return only(s, !owns)
	case Unknown:
		if owns {
			return []any{s, after}
		}

		return []any{s}
	case Won, Held:
	}

	return nil
}

func (r rules) claim(s state, in Input, out Output) []any {
	free := !s.held || s.released || in.To.After(s.lease.Add(r.skew))
	won := state{
		held: true, holder: in.Holder, fence: cmp.Or(out.Fence, s.fence+1),
		lease: in.From.Add(r.lease).Truncate(resolution), effects: s.effects,
	}

	switch out.Answer {
	case Won:
		return only(won, !s.completed && free && (out.Fence == 0 || out.Fence > s.fence))
	case Held:
		return only(s, s.held && !s.released)
	case Done:
		return only(s, s.completed && s.result == out.Result)
	case Unknown:
		if !s.completed && free {
			return []any{s, won}
		}

		return []any{s}
	case Fenced:
	}

	return nil
}

func only(s state, legal bool) []any {
	if legal {
		return []any{s}
	}

	return nil
}

// byKey makes a history for each key: a large one is slower to judge and proves no more.
func byKey(history []porcupine.Operation) [][]porcupine.Operation {
	keys := map[string][]porcupine.Operation{}

	for _, o := range history {
		key := o.Input.(Input).Key //nolint:forcetypeassert // this package makes them
		keys[key] = append(keys[key], o)
	}

	parts := make([][]porcupine.Operation, 0, len(keys))
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		parts = append(parts, keys[key])
	}

	return parts
}

func describe(in Input, out Output) string {
	text := fmt.Sprintf("%s %s by claim %d → %s", in.Kind, in.Key, in.Holder, out.Answer)

	switch {
	case in.Kind == Read:
		return fmt.Sprintf("%s has %d effects", in.Key, out.Effects)
	case out.Fence != 0:
		return fmt.Sprintf("%s, fence %d", text, out.Fence)
	case out.Result != "":
		return text + " " + out.Result
	}

	return text
}

func (s state) String() string {
	switch {
	case s.completed:
		return fmt.Sprintf("completed %s, %d effects", s.result, s.effects)
	case s.released:
		return fmt.Sprintf("released by claim %d, fence %d", s.holder, s.fence)
	case s.held:
		return fmt.Sprintf("held by claim %d, fence %d", s.holder, s.fence)
	}

	return "new"
}

// settle returns the key after a completion or a release of its holder.
func (s state) settle(in Input) state {
	if in.Kind == Release {
		s.released = true

		return s
	}

	return state{completed: true, holder: s.holder, fence: s.fence, result: in.Result, effects: s.effects + 1}
}
