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

// ClaimAnswer is the answer to a ClaimRequest: exactly one of its fields is not nil, as in the answer of [Store.Claim].
type ClaimAnswer struct {
	Claim  *Claim
	Record *Record
	Err    error
}

// Claim asks for the right to do the work of many keys, and returns an answer for each, in the order of the requests, with the
// errors of [Store.Claim]. No key's answer depends on another's. A key that stands twice is claimed once; the others of its
// name meet that claim.
//
// It costs a request for each 25 new keys, and one more if some of them have records, 1 write unit each. A new key
// costs 1 write unit, a redelivered one with a record too, and 2 if Redelivered says otherwise. A lone key and the rare ones
// (a record past its retention, attempts used up) cost what Store.Claim does.
func (g *Group) Claim(ctx context.Context, requests []ClaimRequest) []ClaimAnswer {
	s := g.store
	answers := make([]ClaimAnswer, len(requests))
	calls := make([]*groupClaim, 0, len(requests))
	alone := make([]*groupClaim, 0, len(requests))
	seen := make(map[string]bool, len(requests))

	for i, r := range requests {
		call, done := s.newClaim(ctx, r.Key, r.Fingerprint)
		if call == nil {
			answers[i] = done

			continue
		}

		c := &groupClaim{claimCall: call, insert: !r.Redelivered, answer: &answers[i]}

		if seen[c.partition] {
			alone = append(alone, c)
		} else {
			seen[c.partition] = true
			calls = append(calls, c)
		}
	}

	if len(calls) > 1 && s.Grouped() {
		for batch := range slices.Chunk(calls, groupSize) {
			alone = append(alone, s.claimTogether(ctx, batch)...)
		}
	} else {
		alone = append(calls, alone...)
	}

	s.claimAlone(ctx, alone)

	for i := range answers {
		if won := answers[i].Claim; won != nil && s.Grouped() {
			g.join(won)
		}
	}

	return answers
}

// join makes the claim's writes go through the Group.
func (g *Group) join(c *Claim) {
	g.mu.Lock()
	defer g.mu.Unlock()

	g.open++
	c.group, c.awaited = g, true
}

// groupClaim is a claimCall in a group: an INSERT if there is probably no record, or an UPDATE.
type groupClaim struct {
	*claimCall

	insert bool
	turns  int // how often an answer told to try the other one
	last   attempted
	answer *ClaimAnswer
}

// claimAlone claims one by one, side by side.
func (s *Store) claimAlone(ctx context.Context, calls []*groupClaim) {
	var running sync.WaitGroup

	for batch := range slices.Chunk(calls, groupSize) {
		for _, c := range batch {
			running.Go(func() {
				claim, rec, err := c.try(ctx)
				*c.answer = c.tell(ctx, claim, rec, err)
			})
		}

		running.Wait()
	}
}

// claimTogether claims up to groupSize keys in one group, and returns those that must be claimed alone.
func (s *Store) claimTogether(ctx context.Context, calls []*groupClaim) (alone []*groupClaim) {
	waiting := calls

	_, err := send(ctx, s, "", func(actx context.Context) (none struct{}, fault error) {
		next := waiting
		waiting = nil

		for len(next) > 0 { // what is told to try the other statement does so at once, what met a fault waits for the next attempt
			responses := s.execute(actx, s.claims(ctx, next))
			asked := next
			next = nil

			for i, c := range asked {
				switch does, err := c.read(ctx, responses[i]); does {
				case other:
					next = append(next, c)
				case again:
					waiting, fault = append(waiting, c), err
				case single:
					alone = append(alone, c)
				case answered:
				}
			}
		}

		return none, fault
	})

	for _, c := range waiting {
		*c.answer = c.tell(ctx, nil, nil, keyError("claim", c.key, s.explain(err)))
	}

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
	if r.err == nil {
		claim, err := c.won(r.item, c.last)
		*c.answer = c.tell(ctx, claim, nil, err)

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

	*c.answer = c.tell(ctx, claim, rec, err)

	return answered, nil
}
