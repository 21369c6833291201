package contract

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

// settleCases: what the holder of a claim may write, and what others then see.
var settleCases = []contractCase{
	{"a completed key is answered from its record, retention counted from the completion", func(l *lab) {
		s := l.store()
		c := l.claim(s, "k")
		l.Advance(5 * time.Second)
		l.must(c.Complete(l.Context(), []byte("paid")))

		rec := l.replay(s, "k")
		l.equal("Key", rec.Key, "k")
		l.equal("Result", string(rec.Result), "paid")
		l.equal("ResultOmitted", rec.ResultOmitted, false)
		l.equal("Fence", rec.Fence, c.Fence())
		l.equal("Attempts", rec.Attempts, 1)
		l.equal("CompletedAt", rec.CompletedAt.UnixMilli(), l.Now().UnixMilli())
		l.equal("ExpiresAt", rec.ExpiresAt.Unix(), l.Now().Add(retention+time.Second).Unix())
		l.equal("exp", l.number("k", "exp"), rec.ExpiresAt.Unix())
		l.equal("st", l.text("st"), "COMPLETED")
	}},
	{"a completion without a result answers none, an empty one answers empty", func(l *lab) {
		s := l.store()
		l.must(l.claim(s, "none").Complete(l.Context(), nil))
		l.must(l.claim(s, "empty").Complete(l.Context(), []byte{}))
		l.equal("none", l.replay(s, "none").Result, []byte(nil))
		l.equal("empty", len(l.replay(s, "empty").Result), 0)
	}},
	{"completing again with the same result is a success, with another one is fenced", func(l *lab) {
		s := l.store()
		c := l.claim(s, "k")
		l.must(c.Complete(l.Context(), []byte("a")))
		before := l.item("k")
		l.must(c.Complete(l.Context(), []byte("a")))
		l.is(c.Complete(l.Context(), []byte("b")), idemddb.ErrFenced)
		l.is(c.Complete(l.Context(), nil), idemddb.ErrFenced)
		l.same("k", before)
	}},
	{"a zombie's complete, release, fail and extend leave the item as it is: held by another, completed, failed, released", func(l *lab) {
		for name, end := range map[string]func(*idemddb.Claim){
			"held":      func(*idemddb.Claim) {},
			"completed": func(c *idemddb.Claim) { l.must(c.Complete(l.Context(), []byte("theirs"))) },
			"failed":    func(c *idemddb.Claim) { l.must(c.Fail(l.Context(), nil)) },
			"released":  func(c *idemddb.Claim) { l.must(c.Release(l.Context(), nil)) },
		} {
			for verb, settle := range l.verbs() {
				s, key := l.store(), name+", "+verb
				zombie := l.claim(s, key)
				l.Advance(lease + skew + time.Millisecond)
				end(l.claim(s, key))
				l.Advance(time.Second)

				before := l.item(key)
				err := settle(zombie)

				fenced, ok := errors.AsType[*idemddb.FencedError](err)
				if !ok {
					l.Fatalf("%s: got %v, want a FencedError", key, err)
				}

				l.equal(key+" Held", fenced.Held, zombie.Fence())
				l.equal(key+" Current", fenced.Current, zombie.Fence()+1)
				l.equal(key+" has the other's record", fenced.Record != nil, name == "completed")
				l.same(key, before)
			}
		}
	}},
	{"a claim that is known to be lost is given back without a request, and still says who has the key", func(l *lab) {
		w := &wire{Engine: l.engine}
		zombie := l.claim(l.storeOn(w), "k")
		l.Advance(lease + skew + time.Millisecond)
		l.claim(l.store(), "k")
		l.is(zombie.Extend(l.Context()), idemddb.ErrFenced)

		requests := w.requests.Load()
		err := zombie.Release(l.Context(), nil)

		fenced, ok := errors.AsType[*idemddb.FencedError](err)
		if !ok || fenced.Current != zombie.Fence()+1 {
			l.Errorf("got %v, want a FencedError", err)
		}

		l.equal("requests", w.requests.Load(), requests)
		l.is(zombie.Complete(l.Context(), nil), idemddb.ErrFenced)
		l.equal("requests of a completion", w.requests.Load(), requests+1)
	}},
	{"a settled claim can't be settled otherwise", func(l *lab) {
		for name, end := range map[string]func(*idemddb.Claim){
			"completed": func(c *idemddb.Claim) { l.must(c.Complete(l.Context(), []byte("mine"))) },
			"failed":    func(c *idemddb.Claim) { l.must(c.Fail(l.Context(), errors.New("first"))) },
		} {
			for verb, settle := range l.verbs() {
				key := name + ", " + verb
				c := l.claim(l.store(), key)
				end(c)
				l.Advance(time.Second)

				before := l.item(key)

				if err := settle(c); verb == "fail" && name == "failed" {
					l.must(err) // the same again
				} else {
					l.is(err, idemddb.ErrFenced)
				}

				l.same(key, before)
			}
		}
	}},
	{"a released claim neither completes, fails nor extends", func(l *lab) {
		c := l.claim(l.store(), "k")
		l.must(c.Release(l.Context(), nil))
		before := l.item("k")
		l.is(c.Complete(l.Context(), nil), idemddb.ErrFenced)
		l.is(c.Fail(l.Context(), nil), idemddb.ErrFenced)
		l.is(c.Extend(l.Context()), idemddb.ErrFenced)
		l.same("k", before)
		l.must(c.Release(l.Context(), nil))
		l.same("k", before)
	}},
	{"token and fence must both fit", func(l *lab) {
		for name, change := range map[string]map[string]types.AttributeValue{
			"another token": {"own": str("another")},
			"another fence": {"fence": num(1)},
		} {
			for verb, settle := range l.verbs() {
				key := name + ", " + verb
				c := l.claim(l.store(), key)
				l.edit(key, change)
				l.Advance(time.Second)

				before := l.item(key)
				l.is(settle(c), idemddb.ErrFenced)
				l.same(key, before)
			}
		}
	}},
	{"a worker past its lease completes if nobody took over", func(l *lab) {
		s := l.store()
		c := l.claim(s, "k")
		l.Advance(lease + time.Minute)
		l.must(c.Complete(l.Context(), []byte("late")))
		l.equal("Result", string(l.replay(s, "k").Result), "late")
	}},
	{"a record that is gone is not created anew", func(l *lab) {
		for verb, settle := range l.verbs() {
			c := l.claim(l.store(), verb)
			l.drop(verb)

			fenced, ok := errors.AsType[*idemddb.FencedError](settle(c))
			if !ok || fenced.Current != 0 {
				l.Errorf("%s: got %v, want a FencedError with Current 0", verb, fenced)
			}

			if l.item(verb) != nil {
				l.Errorf("%s: there is a record again", verb)
			}
		}
	}},
	{"an extended lease holds past its old end", func(l *lab) {
		s := l.store()
		c := l.claim(s, "k")
		l.Advance(lease / 2)
		l.must(c.Extend(l.Context()))
		l.equal("Deadline", c.Deadline().UnixMilli(), l.Now().Add(lease).UnixMilli())
		l.equal("lease", l.number("k", "lease"), c.Deadline().UnixMilli())
		l.Advance(lease/2 + skew + time.Millisecond)
		l.refuse(s, "k", nil, idemddb.ErrInProgress)
	}},
	{"extending keeps the record alive longer than the lease", func(l *lab) {
		s := l.store(func(o *idemddb.Options) { o.Retention = lease })
		c := l.claim(s, "k")

		for range 5 {
			l.Advance(lease - time.Millisecond)
			l.must(c.Extend(l.Context()))
			l.refuse(s, "k", nil, idemddb.ErrInProgress)
		}
	}},
	{"extending never shortens a lease", func(l *lab) {
		c := l.claim(l.store(), "k")
		before := l.item("k")
		l.Advance(-time.Second)
		l.must(c.Extend(l.Context()))
		l.same("k", before)
		l.equal("Deadline", c.Deadline().UnixMilli(), epoch.Add(lease).UnixMilli())
	}},
	{"extending at the same moment writes nothing new and is a success", func(l *lab) {
		c := l.claim(l.store(), "k")
		before := l.item("k")
		l.must(c.Extend(l.Context()))
		l.same("k", before)
	}},
	{"a failed key is refused with its cause while it lives", func(l *lab) {
		s := l.store()
		c := l.claim(s, "k")
		l.Advance(5 * time.Second)
		l.must(c.Fail(l.Context(), errors.New("no such account")))
		err := l.refuse(s, "k", nil, idemddb.ErrFailed)

		failed, ok := errors.AsType[*idemddb.FailedError](err)
		if !ok {
			l.Fatalf("got %T, want *FailedError", err)
		}

		l.equal("Cause", failed.Cause, "no such account")
		l.equal("Attempts", failed.Attempts, 1)
		l.equal("exp", l.number("k", "exp"), l.Now().Add(retention+time.Second).Unix())
	}},
	{"a long cause is cut, not refused", func(l *lab) {
		s := l.store()
		l.must(l.claim(s, "k").Release(l.Context(), errors.New(strings.Repeat("ä", 10_000)+"\xff")))

		if text := l.text("err"); len(text) > 256 || !strings.HasPrefix(text, "ää") {
			l.Errorf("err has %d bytes: %q", len(text), text)
		}
	}},
	{"a completion forgets the failures before it, a claim keeps them", func(l *lab) {
		s := l.store()
		l.must(l.claim(s, "k").Release(l.Context(), errors.New("first")))
		c := l.claim(s, "k")
		l.equal("err", l.text("err"), "first")
		l.must(c.Complete(l.Context(), nil))
		l.equal("err", l.text("err"), "")
	}},
	{"a result just under the item limit is replayed", func(l *lab) {
		s := l.store()
		result := make([]byte, 409_000)
		l.must(l.claim(s, "k").Complete(l.Context(), result))
		l.equal("length", len(l.replay(s, "k").Result), len(result))
	}},
	{"a result over the limit is refused before it is sent, and the claim stays usable", func(l *lab) {
		w := &wire{Engine: l.engine}
		s := l.storeOn(w)
		c := l.claim(s, "k")
		before := w.requests.Load()
		l.is(c.Complete(l.Context(), make([]byte, 409_600)), idemddb.ErrTooLarge)
		l.equal("requests", w.requests.Load(), before)
		l.must(c.Complete(l.Context(), []byte("smaller")))
	}},
	{"Do: a result over the limit is done and not kept", func(l *lab) {
		s, runs := l.store(), 0
		work := func(context.Context) (string, error) {
			runs++

			return strings.Repeat("x", 500_000), nil
		}

		first, err := idemddb.Do(l.Context(), s, "k", nil, work)
		l.must(err)
		l.equal("length", len(first), 500_000)

		for range 2 {
			again, err := idemddb.Do(l.Context(), s, "k", nil, work)
			l.is(err, idemddb.ErrResultOmitted)
			l.equal("value", again, "")
		}

		l.equal("runs", runs, 1)
		l.equal("ResultOmitted", l.replay(s, "k").ResultOmitted, true)
	}},
	{"Do: a result that can't be encoded is done and not kept", func(l *lab) {
		s := l.store()
		work := func(context.Context) (func(), error) { return func() {}, nil }
		_, err := idemddb.Do(l.Context(), s, "k", nil, work)
		l.must(err)

		_, err = idemddb.Do(l.Context(), s, "k", nil, work)
		l.is(err, idemddb.ErrResultOmitted)
	}},
	{"Do: every JSON value is replayed as it was", func(l *lab) {
		s := l.store()
		for name, text := range map[string]string{
			"object": `{}`, "list": `[]`, "zero": `0`, "false": `false`, "empty": `""`, "null": `null`, "number": `9007199254740993`,
		} {
			var want any

			decoder := json.NewDecoder(strings.NewReader(text))
			decoder.UseNumber()
			l.must(decoder.Decode(&want))

			for range 2 {
				got, err := idemddb.Do(l.Context(), s, name, nil, func(context.Context) (any, error) { return want, nil })
				l.must(err)
				l.equal(name, got, want)
			}
		}
	}},
	{"Do: an error, a panic and an exit of the work give the claim back", func(l *lab) {
		s := l.store()
		cause := errors.New("bank closed")
		_, err := idemddb.Do(l.Context(), s, "error", nil, func(context.Context) (int, error) { return 0, cause })
		l.is(err, cause)

		func() {
			defer func() { l.equal("panic", recover(), any("boom")) }()

			_, _ = idemddb.Do(l.Context(), s, "panic", nil, func(context.Context) (int, error) { panic("boom") })
		}()

		for _, key := range []string{"error", "panic"} {
			l.equal(key+" lease", l.number(key, "lease"), int64(0))

			v, err := idemddb.Do(l.Context(), s, key, nil, func(context.Context) (int, error) { return 7, nil })
			l.must(err)
			l.equal(key, v, 7)
		}
	}},
	{"Do: fenced by a worker that completed, it answers with that one's result", func(l *lab) {
		s := l.store()
		got, err := idemddb.Do(l.Context(), s, "k", nil, func(context.Context) (string, error) {
			l.Advance(lease + skew + time.Millisecond)
			l.must(l.claim(s, "k").Complete(l.Context(), []byte(`"theirs"`)))

			return "mine", nil
		})
		l.must(err)
		l.equal("value", got, "theirs")
	}},
	{"Do: fenced by a worker that still runs, it says so", func(l *lab) {
		s := l.store()
		got, err := idemddb.Do(l.Context(), s, "k", nil, func(context.Context) (string, error) {
			l.Advance(lease + skew + time.Millisecond)
			l.claim(s, "k")

			return "mine", nil
		})
		l.is(err, idemddb.ErrFenced)
		l.equal("value", got, "mine")
	}},
	{"Do: operations that call each other replay their own answers", func(l *lab) {
		s, inner := l.store(), 0
		work := func(ctx context.Context) (int, error) {
			return idemddb.Do(ctx, s, "inner", nil, func(ctx context.Context) (int, error) {
				c, ok := idemddb.FromContext(ctx)
				l.equal("the claim in the context", ok && c.Key() == "inner", true)

				inner++

				return 21, nil
			})
		}

		for range 2 {
			v, err := idemddb.Do(l.Context(), s, "outer", nil, work)
			l.must(err)
			l.equal("value", v, 21)
		}

		l.equal("runs", inner, 1)
	}},
	{"Do: work that settles its own claim has the last word", func(l *lab) {
		s := l.store()
		_, err := idemddb.Do(l.Context(), s, "k", nil, func(ctx context.Context) (string, error) {
			c, _ := idemddb.FromContext(ctx)

			return "value", c.Complete(ctx, []byte(`"stored"`))
		})
		l.must(err)
		l.equal("Result", string(l.replay(s, "k").Result), `"stored"`)
	}},
}

// verbs are the writes of a claim.
func (l *lab) verbs() map[string]func(*idemddb.Claim) error {
	return map[string]func(*idemddb.Claim) error{
		"complete": func(c *idemddb.Claim) error { return c.Complete(l.Context(), []byte("zombie")) },
		"release":  func(c *idemddb.Claim) error { return c.Release(l.Context(), errors.New("zombie")) },
		"unused":   func(c *idemddb.Claim) error { return c.ReleaseUnused(l.Context()) },
		"fail":     func(c *idemddb.Claim) error { return c.Fail(l.Context(), errors.New("zombie")) },
		"extend":   func(c *idemddb.Claim) error { return c.Extend(l.Context()) },
	}
}
