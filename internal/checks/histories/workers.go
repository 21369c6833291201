package histories

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

// subject is a way to hold keys: the library, or another one.
type subject interface {
	// claim returns Won, Held, Done or Unknown, and what settles the claim if it was won.
	claim(ctx context.Context, key string) (Output, holder)
	// effects returns how often the effect of a key has happened.
	effects(ctx context.Context, key string) (int, error)
}

// holder settles a claim. Both return Done, Fenced or Unknown.
type holder interface {
	complete(ctx context.Context, result string) Answer
	release(ctx context.Context) Answer
}

// run is one history.
type run struct {
	clients    int
	operations int // at least
	subject    func(client int, now func() time.Time) subject
	lease      time.Duration
	skew       time.Duration // clocks differ by less
	seed       uint64

	claims atomic.Int64 // numbers them
	done   atomic.Int64 // operations

	mu      sync.Mutex
	history []porcupine.Operation
	workers int // numbers of workers that were given: one whose call has no answer goes on as a new one
}

// The workers meet at so many keys, and go on to the next ones after so many calls for each. With the pauses between the calls,
// this takes longer than a few leases: a key whose worker is late is taken over before all others have gone on.
const (
	keysAtOnce  = 4
	callsPerKey = 60
)

// record lets the workers loose and returns what they have seen.
func (r *run) record(ctx context.Context) ([]porcupine.Operation, error) {
	r.workers = r.clients

	var group sync.WaitGroup
	for client := range r.clients {
		group.Go(func() { r.work(ctx, client) })
	}

	group.Wait()

	end := time.Now().UnixNano()
	for i := range r.history {
		if r.history[i].Output.(Output).Answer == Unknown { //nolint:forcetypeassert // this package makes them
			r.history[i].Return = end
		}
	}

	r.addTries(end)

	return r.history, r.read(ctx)
}

// addTries adds a claim without an answer for each lease that may have begun and ended while a claim was tried: its first try was
// applied, its answer was lost, and another worker has taken the key over before the next try. The answer is then that of another
// claim.
func (r *run) addTries(end int64) {
	for _, o := range r.history {
		in := o.Input.(Input) //nolint:forcetypeassert // this package makes them
		if in.Kind != Claim {
			continue
		}

		for range time.Duration(o.Return-o.Call) / r.lease { // and less than that with the skew, on clocks that differ
			if o.Return == end {
				break // it has no answer itself
			}

			in.Holder = int(r.claims.Add(1))
			r.history = append(r.history, porcupine.Operation{ClientId: r.workers, Input: in, Call: o.Call, Output: Output{Answer: Unknown}, Return: end})
			r.workers++
		}
	}
}

// work is one worker: it claims keys, is slow, and completes, releases or forgets them.
func (r *run) work(ctx context.Context, client int) {
	random := rand.New(rand.NewPCG(r.seed, uint64(client))) //nolint:gosec // a seed, so that choices can be repeated
	behind := time.Duration(random.Int64N(int64(r.skew/2))) - r.skew/4
	now := func() time.Time { return time.Now().Add(behind) }
	s := r.subject(client, now)
	number := client

	for r.done.Load() < int64(r.operations) && ctx.Err() == nil {
		key := fmt.Sprintf("k-%d-%d", r.done.Load()/(keysAtOnce*callsPerKey), random.IntN(keysAtOnce))
		in := Input{Kind: Claim, Key: key, Holder: int(r.claims.Add(1))}

		var h holder

		out := r.call(&number, in, now, func() (out Output) {
			out, h = s.claim(ctx, key)

			return out
		})

		switch out.Answer {
		case Won:
			r.settle(ctx, &number, random, in, h, now)
		case Held, Done, Unknown:
			wait(ctx, time.Duration(random.Int64N(int64(r.lease/3))))
		case Fenced:
		}
	}
}

// settle works on a key for a while, sometimes for longer than the lease lasts.
func (r *run) settle(ctx context.Context, number *int, random *rand.Rand, in Input, h holder, now func() time.Time) {
	pause := time.Duration(random.Int64N(int64(r.lease / 20)))
	if random.IntN(4) == 0 {
		pause = r.lease + time.Duration(random.Int64N(int64(r.lease)))
	}

	wait(ctx, pause)

	switch n := random.IntN(10); {
	case n < 2:
		in.Kind = Complete
		in.Result = fmt.Sprintf("r-%d", in.Holder)
		r.call(number, in, now, func() Output { return Output{Answer: h.complete(ctx, in.Result)} })
	case n < 9:
		in.Kind = Release
		r.call(number, in, now, func() Output { return Output{Answer: h.release(ctx)} })
	default: // the worker dies
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// call makes a call and writes it down.
func (r *run) call(number *int, in Input, now func() time.Time, answer func() Output) Output {
	call := time.Now().UnixNano()
	in.From = now()
	out := answer()
	in.To = now()

	r.mu.Lock()
	defer r.mu.Unlock()

	r.done.Add(1)
	r.history = append(r.history, porcupine.Operation{ClientId: *number, Input: in, Call: call, Output: out, Return: time.Now().UnixNano()})

	if out.Answer == Unknown { // it may still happen: who goes on is another one
		*number = r.workers
		r.workers++
	}

	return out
}

// read adds what has become of each key in the end.
func (r *run) read(ctx context.Context) error {
	s := r.subject(0, time.Now)

	for _, part := range byKey(r.history) {
		key := part[0].Input.(Input).Key //nolint:forcetypeassert // this package makes them

		call := time.Now().UnixNano()

		n, err := s.effects(ctx, key)
		if err != nil {
			return fmt.Errorf("read %s: %w", key, err)
		}

		r.history = append(r.history, porcupine.Operation{
			ClientId: r.workers, Input: Input{Kind: Read, Key: key}, Call: call, Output: Output{Answer: Done, Effects: n}, Return: time.Now().UnixNano(),
		})
	}

	return nil
}
