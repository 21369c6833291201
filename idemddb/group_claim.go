package idemddb

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ClaimRequest is one key to claim in a [Group].
type ClaimRequest struct {
	Key string

	// Fingerprint is that of ClaimOptions.
	Fingerprint string

	// Redelivered says that the key has probably been claimed before. It changes only the cost: without it, a key that has a
	// record costs a second statement, and with it, a key that has none.
	Redelivered bool
}

// ClaimAnswer is the answer to a ClaimRequest. Exactly one of Claim, Record and Err is not nil, as in the answer of [Store.Claim].
type ClaimAnswer struct {
	Index  int // of the request
	Claim  *Claim
	Record *Record
	Err    error
}

// Claim asks for the right to do the work of many keys, and returns an answer for each, in the order of the requests, with the
// errors of [Store.Claim]. A key that stands twice is claimed once; the others of its name meet that claim.
//
// It costs a request for each 25 new keys, and one more if some of them have records. A new key costs 1 write unit, a redelivered
// one with a record too, and 2 if Redelivered says otherwise. A lone key costs what Store.Claim does; the rare ones (a record
// past its retention, attempts used up) cost that, too.
//
// It returns with the last answer: a key whose requests meet faults again and again holds the others up. See ClaimEach.
func (g *Group) Claim(ctx context.Context, requests []ClaimRequest) []ClaimAnswer {
	answers := make([]ClaimAnswer, len(requests))
	g.ClaimEach(ctx, requests, func(known []ClaimAnswer) {
		for _, a := range known {
			answers[a.Index] = a
		}
	})

	return answers
}

// ClaimEach is Claim for a caller who begins with the work of some keys while others still have no answer: known is called with
// answers as soon as they are there, with each once, and never twice at a time. ClaimEach returns when all are known. The leases
// run from then on: Keep them.
func (g *Group) ClaimEach(ctx context.Context, requests []ClaimRequest, known func([]ClaimAnswer)) {
	s := g.store

	if len(requests) == 1 {
		claim, rec, err := s.Claim(ctx, requests[0].Key, &ClaimOptions{Fingerprint: requests[0].Fingerprint})
		g.tell([]*groupClaim{{answer: ClaimAnswer{Claim: claim, Record: rec, Err: err}}}, known)

		return
	}

	calls := make([]*groupClaim, 0, len(requests))
	seen := make(map[string]bool, len(requests))

	var alone, done []*groupClaim

	for i, r := range requests {
		call, answer := s.newClaim(ctx, r.Key, r.Fingerprint)
		c := &groupClaim{claimCall: call, index: i, insert: !r.Redelivered, answer: answer}

		switch {
		case call == nil:
			done = append(done, c)
		case seen[c.partition]:
			alone = append(alone, c)
		default:
			seen[c.partition] = true
			calls = append(calls, c)
		}
	}

	g.tell(done, known)

	for batch := range slices.Chunk(calls, groupSize) {
		if len(batch) == 1 || !s.Grouped() {
			alone = append(alone, batch...)
		} else {
			alone = append(alone, g.claimTogether(ctx, batch, known)...)
		}
	}

	g.claimAlone(ctx, alone, known)
}

// groupClaim is a claimCall in a group: an INSERT if there is probably no record, or an UPDATE.
type groupClaim struct {
	*claimCall

	index  int // of its request
	insert bool
	turns  int // how often an answer told to try the other one
	last   attempted
	answer ClaimAnswer
}

// tell hands answers out. All that are won belong to the Group before the first one can be settled: so the writes wait for each
// other.
func (g *Group) tell(calls []*groupClaim, known func([]ClaimAnswer)) {
	if len(calls) == 0 {
		return
	}

	answers := make([]ClaimAnswer, len(calls))

	for i, c := range calls {
		answers[i] = c.answer
		answers[i].Index = c.index

		if c.answer.Claim != nil && g.store.Grouped() {
			g.join(c.answer.Claim)
		}
	}

	known(answers)
}

// join makes the claim's writes go through the Group.
func (g *Group) join(c *Claim) {
	g.mu.Lock()
	defer g.mu.Unlock()

	g.open++
	c.group, c.awaited = g, true
}

// claimAlone claims each key in a request of its own, side by side.
func (g *Group) claimAlone(ctx context.Context, calls []*groupClaim, known func([]ClaimAnswer)) {
	var mu sync.Mutex // known is called by one at a time

	claim := func(c *groupClaim) {
		claim, rec, err := c.try(ctx)
		c.answer = c.ended(ctx, claim, rec, err)

		mu.Lock()
		defer mu.Unlock()

		g.tell([]*groupClaim{c}, known)
	}

	for batch := range slices.Chunk(calls, groupSize) {
		var running sync.WaitGroup

		panics := make([]any, len(batch)) // of the client: the caller meets them

		for i, c := range batch {
			running.Go(func() {
				panics[i] = errExited // until it returns

				defer func() {
					if v := recover(); v != nil {
						panics[i] = v
					}
				}()

				claim(c)

				panics[i] = nil
			})
		}

		running.Wait()

		for _, v := range panics {
			if v != nil {
				panic(v)
			}
		}
	}
}

// maxTogether is how often keys are asked for together while others of their group have answers.
const maxTogether = 3

// claimTogether claims up to groupSize keys in one group, and returns those that must be claimed alone.
func (g *Group) claimTogether(
	ctx context.Context, calls []*groupClaim, known func([]ClaimAnswer),
) (alone []*groupClaim) {
	s, waiting, attempts := g.store, calls, 0

	_, err := send(ctx, s, "", func(actx context.Context) (none struct{}, fault error) {
		next := waiting
		waiting = nil

		for len(next) > 0 { // what is told to try the other statement does so at once, what met a fault waits for the next attempt
			responses := s.execute(actx, s.claims(ctx, next))
			asked := next
			next = nil

			var done []*groupClaim

			for i, c := range asked {
				switch does, err := c.read(ctx, responses[i]); does {
				case other:
					next = append(next, c)
				case again:
					waiting, fault = append(waiting, c), err
				case single:
					alone = append(alone, c)
				case answered:
					done = append(done, c)
				}
			}

			g.tell(done, known)
		}

		// Where some have an answer the service is there, and what is still refused is a matter of single keys.
		if attempts++; attempts >= maxTogether && len(waiting) < len(calls) {
			alone = append(alone, waiting...)
			waiting, fault = nil, nil
		}

		return none, fault
	})

	for _, c := range waiting {
		c.answer = c.ended(ctx, nil, nil, keyError("claim", c.key, s.explain(err)))
	}

	g.tell(waiting, known)

	return alone
}

// claims are the statements of claims for one attempt, all with the same time.
func (s *Store) claims(ctx context.Context, calls []*groupClaim) []types.BatchStatementRequest {
	now := s.attempt(ctx)
	statements := make([]types.BatchStatementRequest, len(calls))

	for i, c := range calls {
		c.last = now

		if c.insert {
			statements[i] = c.insertion(now)
		} else {
			statements[i] = c.again(now).request(s)
		}
	}

	return statements
}

// next is what an answer asks for.
type next int

const (
	answered next = iota // nothing: the claim has its answer
	other                // the other statement: there is a record after all, or none
	again                // the same statement
	single               // the single claim
)

// read takes the answer to one statement.
func (c *groupClaim) read(ctx context.Context, r response) (next, error) {
	if r.err == nil && !c.insert && len(r.item) == 0 {
		return single, nil // something on the way dropped what RETURNING asked for: the fence is in there
	}

	if r.err == nil {
		claim, err := c.won(r.item, c.last)
		c.answer = c.ended(ctx, claim, nil, err)

		return answered, nil
	}

	if comesAgain(r.err) {
		return again, r.err
	}

	_, duplicate := errors.AsType[*types.DuplicateItemException](r.err)
	found, isRefused := refusedItem(r.err)

	switch {
	case duplicate || isRefused && found == nil:
		if c.turns++; c.turns == maxTries {
			return single, nil
		}

		c.insert = !duplicate

		return other, nil
	case !isRefused:
		return single, nil
	}

	claim, rec, err := c.answerOf(found, c.last)
	if _, rare := errors.AsType[*rareError](err); rare {
		return single, nil
	}

	c.answer = c.ended(ctx, claim, rec, err)

	return answered, nil
}
