package contract

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

// situation is what a claim finds.
type situation struct {
	name        string
	fingerprint string // of the claim
	prepare     func(l *lab, s *idemddb.Store, key string)
}

// claimedAt is when the situations are met.
var claimedAt = epoch.Add(time.Second)

// A record without born, which none of ours is, stays so in a group: the one difference, and it shows nowhere.
var claimSituations = []situation{
	{"new", "", func(*lab, *idemddb.Store, string) {}},
	{"new, with a fingerprint", "a", func(*lab, *idemddb.Store, string) {}},
	{"held", "", func(l *lab, s *idemddb.Store, key string) { l.claim(s, key) }},
	{"released", "", edited(nil, released)},
	{"released with a cause", "", func(l *lab, s *idemddb.Store, key string) {
		l.must(l.claim(s, key).Release(l.Context(), errors.New("bank closed")))
	}},
	{"never used", "", func(l *lab, s *idemddb.Store, key string) { l.must(l.claim(s, key).ReleaseUnused(l.Context())) }},
	{"released twice", "", func(l *lab, s *idemddb.Store, key string) {
		released(l, l.claim(s, key))

		if c, _, err := s.Claim(l.Context(), key, nil); err == nil {
			released(l, c)
		}
	}},
	{"attempts used up and released", "", edited(map[string]types.AttributeValue{"att": num(2)}, released)},
	{"more than all attempts, lease over", "", edited(map[string]types.AttributeValue{"att": num(3), "lease": num(1)})},
	{"the last attempt", "", edited(map[string]types.AttributeValue{"att": num(1)}, released)},
	{"taken over and never used", "", func(l *lab, _ *idemddb.Store, key string) {
		l.abandoned(key)
		l.must(l.claim(l.store(), key).ReleaseUnused(l.Context()))
	}},
	{"taken over and released", "", func(l *lab, _ *idemddb.Store, key string) {
		l.abandoned(key)
		released(l, l.claim(l.store(), key))
	}},
	{"lease over", "", edited(map[string]types.AttributeValue{"lease": num(claimedAt.Add(-skew).UnixMilli() - 1)})},
	{"lease over for the clock skew to the millisecond", "", edited(map[string]types.AttributeValue{"lease": num(claimedAt.Add(-skew).UnixMilli())})},
	{"lease over for less than the clock skew", "", edited(map[string]types.AttributeValue{"lease": num(claimedAt.Add(-skew).UnixMilli() + 1)})},
	{"completed", "", completed},
	{"completed without a result", "", func(l *lab, s *idemddb.Store, key string) { l.must(l.claim(s, key).Complete(l.Context(), nil)) }},
	{"completed, result omitted", "", edited(map[string]types.AttributeValue{"res": &types.AttributeValueMemberNULL{Value: true}}, finished)},
	{"completed, with a lease that is over", "", edited(map[string]types.AttributeValue{"lease": num(1)}, finished)},
	{"completed by the claim with a fingerprint", "a", completed},
	{"failed", "", func(l *lab, s *idemddb.Store, key string) {
		l.must(l.claim(s, key).Fail(l.Context(), errors.New("no such account")))
	}},
	{"completed, past its retention", "", edited(map[string]types.AttributeValue{"exp": num(claimedAt.Unix())}, finished)},
	{"completed, in the last second of its retention", "", edited(map[string]types.AttributeValue{"exp": num(claimedAt.Unix() + 1)}, finished)},
	{"released, past its retention", "", edited(map[string]types.AttributeValue{"exp": num(claimedAt.Unix())}, released)},
	{"released, long past its retention", "", edited(map[string]types.AttributeValue{"exp": num(1)}, released)},
	{"released, in the last second of its retention", "", edited(map[string]types.AttributeValue{"exp": num(claimedAt.Unix() + 1)}, released)},
	{"held, past its retention", "", edited(map[string]types.AttributeValue{"exp": num(1)})},
	{"lease over, past its retention", "", edited(map[string]types.AttributeValue{"exp": num(1), "lease": num(1)})},
	{"another input, held", "b", fingerprinted()},
	{"another input, released", "b", fingerprinted(released)},
	{"another input, completed", "b", fingerprinted(finished)},
	{"the same input, held", "a", fingerprinted()},
	{"the same input, released", "a", fingerprinted(released)},
	{"the same input, completed", "a", fingerprinted(finished)},
	{"no input compared, released", "", fingerprinted(released)},
	{"an input from before inputs were compared, released", "a", edited(nil, released)},
	{"another version, released", "", edited(map[string]types.AttributeValue{"v": num(2)}, released)},
	{"another version, completed", "", edited(map[string]types.AttributeValue{"v": num(2)}, finished)},
	{"no version", "", edited(map[string]types.AttributeValue{"v": nil}, released)},
	{"no token, released", "", edited(map[string]types.AttributeValue{"own": nil}, released)},
	{"no token, held", "", edited(map[string]types.AttributeValue{"own": nil})},
	{"no fence, released", "", edited(map[string]types.AttributeValue{"fence": nil}, released)},
	{"no lease", "", edited(map[string]types.AttributeValue{"lease": nil})},
	{"no lease, past its retention", "", edited(map[string]types.AttributeValue{"lease": nil, "exp": num(1)})},
	{"no attempts, released", "", edited(map[string]types.AttributeValue{"att": nil}, released)},
	{"no TTL", "", edited(map[string]types.AttributeValue{"exp": nil}, released)},
	{"attempts that are no number, released", "", edited(map[string]types.AttributeValue{"att": str("x")}, released)},
	{"a fence that is no whole number, released", "", edited(map[string]types.AttributeValue{"fence": &types.AttributeValueMemberN{Value: "1.5"}}, released)},
	{"a lease that is no number", "", edited(map[string]types.AttributeValue{"lease": str("x")})},
	{"an unknown state", "", edited(map[string]types.AttributeValue{"st": str("PAUSED")}, released)},
	{"a result that is no bytes", "", edited(map[string]types.AttributeValue{"res": str("x")}, finished)},
}

func released(l *lab, c *idemddb.Claim) { l.must(c.Release(l.Context(), nil)) }
func finished(l *lab, c *idemddb.Claim) { l.must(c.Complete(l.Context(), []byte("paid"))) }

func completed(l *lab, s *idemddb.Store, key string) { finished(l, l.claim(s, key)) }

// edited claims a key, ends the claim, and changes the record.
func edited(change map[string]types.AttributeValue, end ...func(*lab, *idemddb.Claim)) func(*lab, *idemddb.Store, string) {
	return func(l *lab, s *idemddb.Store, key string) {
		c := l.claim(s, key)

		for _, f := range end {
			f(l, c)
		}

		l.edit(key, change)
	}
}

// fingerprinted claims a key with the fingerprint "a", and ends the claim.
func fingerprinted(end ...func(*lab, *idemddb.Claim)) func(*lab, *idemddb.Store, string) {
	return func(l *lab, s *idemddb.Store, key string) {
		c, _, err := s.Claim(l.Context(), key, &idemddb.ClaimOptions{Fingerprint: "a"})
		l.must(err)

		for _, f := range end {
			f(l, c)
		}
	}
}

// compareClaims meets each situation three times: by a single claim, and in one group with all others as a first delivery and as a
// redelivery. The single claim says what is right.
func (l *lab) compareClaims(situations []situation, change ...func(*idemddb.Options)) {
	l.Helper()

	s := l.store(change...)
	guesses := []string{"alone, ", "new, ", "redelivered, "}
	before := map[string]map[string]types.AttributeValue{}

	for _, of := range situations {
		for _, guess := range guesses {
			of.prepare(l, s, guess+of.name)
			before[guess+of.name] = l.item(guess + of.name)
		}
	}

	l.Advance(claimedAt.Sub(l.Now()))

	var (
		want     []idemddb.ClaimAnswer
		requests []idemddb.ClaimRequest
	)

	for _, of := range situations {
		var a idemddb.ClaimAnswer

		a.Claim, a.Record, a.Err = s.Claim(l.Context(), guesses[0]+of.name, &idemddb.ClaimOptions{Fingerprint: of.fingerprint})
		want = append(want, a)

		for i, guess := range guesses[1:] {
			requests = append(requests, idemddb.ClaimRequest{Key: guess + of.name, Fingerprint: of.fingerprint, Redelivered: i == 1})
		}
	}

	for i, got := range s.Group().Claim(l.Context(), requests) {
		key, of := requests[i].Key, situations[i/2].name
		l.equal(key, describe(got), describe(want[i/2]))
		l.equal("record of "+key, l.effect(key, before[key]), l.effect(guesses[0]+of, before[guesses[0]+of]))

		if got.Claim != nil {
			l.equal("fence of "+key, got.Claim.Fence(), l.number(key, "fence"))
		}
	}
}

// effect is a record as it is now, as text, but for its key and its token, of which it only tells whether it is still the one before.
func (l *lab) effect(key string, before map[string]types.AttributeValue) string {
	l.Helper()

	it := l.item(key)
	if it == nil {
		return "none"
	}

	token := show(map[string]types.AttributeValue{"own": it["own"]})
	kept := token == show(map[string]types.AttributeValue{"own": before["own"]})

	maps.DeleteFunc(it, func(name string, _ types.AttributeValue) bool {
		_, isKey := l.key(key)[name]

		return isKey || name == "own"
	})

	result, _ := it["res"].(*types.AttributeValueMemberB)
	if result != nil {
		it["res"] = str("bytes: " + string(result.Value))
	}

	return fmt.Sprintf("%s, token kept: %t", show(it), kept)
}

// describe is an answer as text, without keys and tokens.
func describe(a idemddb.ClaimAnswer) string {
	switch c := a.Claim; {
	case c != nil && a.Record == nil && a.Err == nil:
		return fmt.Sprintf("claim: fence %d, attempt %d, takeover %t, until %d", c.Fence(), c.Attempt(), c.Takeover(), c.Deadline().UnixMilli())
	case c == nil && a.Record != nil && a.Err == nil:
		return describeRecord(a.Record)
	case c == nil && a.Record == nil && a.Err != nil:
		return describeError(a.Err)
	}

	return fmt.Sprintf("not exactly one answer: %+v", a)
}

func describeRecord(r *idemddb.Record) string {
	if r == nil {
		return "no record"
	}

	return fmt.Sprintf("record: fence %d, attempts %d, result %q (none: %t, omitted: %t), completed %d, until %d",
		r.Fence, r.Attempts, r.Result, r.Result == nil, r.ResultOmitted, r.CompletedAt.UnixMilli(), r.ExpiresAt.Unix())
}

func describeError(err error) string {
	if err == nil {
		return "success"
	}

	if e, ok := errors.AsType[*idemddb.InProgressError](err); ok {
		return fmt.Sprintf("in progress until %d", e.Until.UnixMilli())
	}

	if e, ok := errors.AsType[*idemddb.FailedError](err); ok {
		return fmt.Sprintf("failed after %d attempts: %s", e.Attempts, e.Cause)
	}

	if e, ok := errors.AsType[*idemddb.FencedError](err); ok {
		return fmt.Sprintf("fenced: held %d, current %d, %s", e.Held, e.Current, describeRecord(e.Record))
	}

	var is []string

	for _, sentinel := range []error{
		idemddb.ErrMismatch, idemddb.ErrUnrecorded, idemddb.ErrTooLarge, idemddb.ErrBadKey, idemddb.ErrCorrupt, idemddb.ErrInProgress,
		idemddb.ErrFenced, idemddb.ErrFailed,
	} {
		if errors.Is(err, sentinel) {
			is = append(is, sentinel.Error())
		}
	}

	if is == nil {
		return fmt.Sprintf("another error, %T", errors.Unwrap(err))
	}

	return strings.Join(is, ", ")
}

// ends are the writes of a claim, by what they are.
var ends = []struct {
	name string
	end  func(context.Context, *idemddb.Claim) error
}{
	{"complete", func(ctx context.Context, c *idemddb.Claim) error { return c.Complete(ctx, nil) }},
	{"complete with a result", func(ctx context.Context, c *idemddb.Claim) error { return c.Complete(ctx, []byte("mine")) }},
	{"complete with an empty result", func(ctx context.Context, c *idemddb.Claim) error { return c.Complete(ctx, []byte{}) }},
	{"release", func(ctx context.Context, c *idemddb.Claim) error { return c.Release(ctx, nil) }},
	{"release with a cause", func(ctx context.Context, c *idemddb.Claim) error { return c.Release(ctx, errors.New("bank closed")) }},
	{"release unused", func(ctx context.Context, c *idemddb.Claim) error { return c.ReleaseUnused(ctx) }},
	{"fail", func(ctx context.Context, c *idemddb.Claim) error { return c.Fail(ctx, nil) }},
	{"fail with a cause", func(ctx context.Context, c *idemddb.Claim) error { return c.Fail(ctx, errors.New("no such account")) }},
	{"extend", func(ctx context.Context, c *idemddb.Claim) error { return c.Extend(ctx) }},
}

// fates are what becomes of a claim before its write.
var fates = []struct {
	name string
	fate func(*lab, *idemddb.Claim)
}{
	{"held", func(*lab, *idemddb.Claim) {}},
	{fateOfTaker, func(*lab, *idemddb.Claim) {}},
	{"held since a failure", func(l *lab, c *idemddb.Claim) {
		l.edit(c.Key(), map[string]types.AttributeValue{"err": str("first"), "att": num(2)})
	}},
	{"lease over", func(l *lab, c *idemddb.Claim) { l.edit(c.Key(), map[string]types.AttributeValue{"lease": num(1)}) }},
	{"extended already", func(l *lab, c *idemddb.Claim) { l.must(c.Extend(l.Context())) }},
	{"extended by a clock ahead", func(l *lab, c *idemddb.Claim) {
		l.edit(c.Key(), map[string]types.AttributeValue{"lease": num(epoch.Add(time.Minute).UnixMilli())})
	}},
	{"completed", func(l *lab, c *idemddb.Claim) { l.must(c.Complete(l.Context(), []byte("mine"))) }},
	{"failed", func(l *lab, c *idemddb.Claim) { l.must(c.Fail(l.Context(), errors.New("first"))) }},
	{"released", func(l *lab, c *idemddb.Claim) { l.must(c.Release(l.Context(), errors.New("first"))) }},
	{"taken over", func(l *lab, c *idemddb.Claim) { l.takeOver(c.Key()) }},
	{"taken over and completed", func(l *lab, c *idemddb.Claim) { l.must(l.takeOver(c.Key()).Complete(l.Context(), []byte("theirs"))) }},
	{"taken over and failed", func(l *lab, c *idemddb.Claim) { l.must(l.takeOver(c.Key()).Fail(l.Context(), nil)) }},
	{"taken over and released", func(l *lab, c *idemddb.Claim) { l.must(l.takeOver(c.Key()).Release(l.Context(), nil)) }},
	{"another token", func(l *lab, c *idemddb.Claim) {
		l.edit(c.Key(), map[string]types.AttributeValue{"own": str("another")})
	}},
	{"another fence", func(l *lab, c *idemddb.Claim) { l.edit(c.Key(), map[string]types.AttributeValue{"fence": num(1)}) }},
	{"another version", func(l *lab, c *idemddb.Claim) { l.edit(c.Key(), map[string]types.AttributeValue{"v": num(2)}) }},
	{"no lease", func(l *lab, c *idemddb.Claim) { l.edit(c.Key(), map[string]types.AttributeValue{"lease": nil}) }},
	{"gone", func(l *lab, c *idemddb.Claim) { l.drop(c.Key()) }},
}

// fateOfTaker is of a claim that is a takeover.
const fateOfTaker = "a takeover"

// abandoned makes a record whose lease is over: its worker's clock was far behind.
func (l *lab) abandoned(key string) {
	l.Helper()
	l.claim(l.store(func(o *idemddb.Options) {
		o.Now = func() time.Time { return l.Now().Add(-lease - skew - time.Millisecond) }
	}), key)
}

// takeOver is a worker whose clock is far ahead.
func (l *lab) takeOver(key string) *idemddb.Claim {
	l.Helper()

	return l.claim(l.store(func(o *idemddb.Options) {
		o.Now = func() time.Time { return l.Now().Add(lease + skew + time.Millisecond) }
	}), key)
}

// settling is one write of one claim.
type settling struct {
	end, fate int
	key       string
	claim     *idemddb.Claim
	before    map[string]types.AttributeValue
	says      string // what was answered and what is stored
}

// compareSettling does every write to every fate of a claim, alone and in a group. Alone says what is right. What happens to go
// without company in the group is done again.
func (l *lab) compareSettling() {
	var all []*settling

	for end := range ends {
		for fate := range fates {
			all = append(all, &settling{end: end, fate: fate})
		}
	}

	want := map[string]string{}

	l.Advance(epoch.Sub(l.Now()))
	l.prepareSettling(all, "alone", func(keys []string) (answers []idemddb.ClaimAnswer) {
		s := l.store()
		for _, key := range keys {
			answers = append(answers, idemddb.ClaimAnswer{Claim: l.claim(s, key)})
		}

		return answers
	})

	for _, one := range all {
		one.do(l)
		want[one.name()] = one.says
	}

	for round := range 50 {
		w := l.hook(nil)
		s := l.storeOn(w)

		l.Advance(epoch.Sub(l.Now()))
		l.prepareSettling(all, strconv.Itoa(round), func(keys []string) []idemddb.ClaimAnswer {
			stays := "stays open, " + strconv.Itoa(round) // so that every write waits for company

			return l.ask(s, false, append(keys, stays)...)[:len(keys)]
		})

		travels, _ := w.(*groupWire)
		if travels != nil {
			travels.keys.Clear()
		}

		var running sync.WaitGroup

		for _, one := range all {
			running.Go(func() { one.do(l) })
		}

		running.Wait()

		var again []*settling

		for _, one := range all {
			l.equal(one.key, one.says, want[one.name()])

			if travels != nil && !travels.has(l.namespace+"#"+one.key) {
				again = append(again, one)
			}
		}

		switch len(again) {
		case 0:
			return
		case 1:
			again = append(again, &settling{end: (again[0].end + 1) % len(ends)}) // for company
		}

		all = again
	}

	l.Errorf("%d writes never went in company", len(all))
}

func (one *settling) name() string { return ends[one.end].name + " when " + fates[one.fate].name }

func (l *lab) prepareSettling(all []*settling, kind string, claim func(keys []string) []idemddb.ClaimAnswer) {
	l.Helper()

	keys := make([]string, len(all))
	for i, one := range all {
		one.key = one.name() + ", " + kind
		keys[i] = one.key

		if fates[one.fate].name == fateOfTaker {
			l.abandoned(one.key)
		}
	}

	answers := claim(keys)

	l.Advance(time.Second)

	for i, one := range all {
		one.claim = l.won(answers[i])
		fates[one.fate].fate(l, one.claim)
		one.before = l.item(one.key)
	}
}

func (one *settling) do(l *lab) {
	l.Helper()

	err := ends[one.end].end(l.Context(), one.claim)
	one.says = fmt.Sprintf("%s; settled %q until %d: %s",
		describeError(err), one.claim.Settled(), one.claim.Deadline().UnixMilli(), l.effect(one.key, one.before))
}
