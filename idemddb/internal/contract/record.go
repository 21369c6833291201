package contract

import (
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

// recordCases: keys, fingerprints, and records that somebody else wrote.
var recordCases = []contractCase{
	{"another fingerprint is refused on a record in any state, and nothing is written", func(l *lab) {
		for name, end := range map[string]func(*idemddb.Claim){
			"in progress": func(*idemddb.Claim) {},
			"completed":   func(c *idemddb.Claim) { l.must(c.Complete(l.Context(), nil)) },
			"failed":      func(c *idemddb.Claim) { l.must(c.Fail(l.Context(), nil)) },
			"released":    func(c *idemddb.Claim) { l.must(c.Release(l.Context(), nil)) },
			"lease over":  func(*idemddb.Claim) { l.Advance(lease + skew + time.Millisecond) },
		} {
			s := l.store()
			c, _, err := s.Claim(l.Context(), name, &idemddb.ClaimOptions{Fingerprint: "a"})
			l.must(err)
			end(c)
			l.refuse(s, name, &idemddb.ClaimOptions{Fingerprint: "b"}, idemddb.ErrMismatch)
		}
	}},
	{"the same fingerprint replays, and takes over, and is kept as a digest", func(l *lab) {
		s := l.store()
		opts := &idemddb.ClaimOptions{Fingerprint: "account a-1, 12.50"}
		_, _, err := s.Claim(l.Context(), "k", opts)
		l.must(err)

		if fp := l.text("fp"); !strings.HasPrefix(fp, "1:") || strings.Contains(fp, "a-1") || len(fp) != 45 {
			l.Errorf("fp: %q", fp)
		}

		l.Advance(lease + skew + time.Millisecond)

		c, _, err := s.Claim(l.Context(), "k", opts)
		l.must(err)
		l.must(c.Complete(l.Context(), nil))

		for range 2 {
			_, rec, err := s.Claim(l.Context(), "k", opts)
			l.must(err)
			l.equal("replayed", rec != nil, true)
		}
	}},
	{"a record from before fingerprints were compared matches any, and a taker's is kept", func(l *lab) {
		s := l.store()
		opts := &idemddb.ClaimOptions{Fingerprint: "a"}
		l.must(l.claim(s, "done").Complete(l.Context(), nil))

		_, rec, err := s.Claim(l.Context(), "done", opts)
		l.must(err)
		l.equal("replayed", rec != nil, true)

		l.must(l.claim(s, "free").Release(l.Context(), nil))

		_, _, err = s.Claim(l.Context(), "free", opts)
		l.must(err)
		l.refuse(s, "free", &idemddb.ClaimOptions{Fingerprint: "b"}, idemddb.ErrMismatch)
	}},
	{"a taker without a fingerprint drops the old one", func(l *lab) {
		s := l.store()
		_, _, err := s.Claim(l.Context(), "k", &idemddb.ClaimOptions{Fingerprint: "a"})
		l.must(err)
		l.Advance(lease + skew + time.Millisecond)
		l.claim(s, "k")
		l.equal("fp", l.text("fp"), "")
	}},
	{"a fingerprint of another algorithm never matches", func(l *lab) {
		s := l.store()
		opts := &idemddb.ClaimOptions{Fingerprint: "a"}
		c, _, err := s.Claim(l.Context(), "k", opts)
		l.must(err)
		l.must(c.Complete(l.Context(), nil))
		l.edit("k", map[string]types.AttributeValue{"fp": str("2:" + l.text("fp")[2:])})
		l.refuse(s, "k", opts, idemddb.ErrMismatch)
	}},
	{"a record of a newer version is reported, never taken or written: in progress, lease over, completed, past its retention", func(l *lab) {
		for name, advance := range map[string]time.Duration{
			"in progress": 0, "lease over": lease + skew + time.Millisecond, "past its retention": retention + time.Minute,
		} {
			s := l.store()
			l.claim(s, name)
			l.edit(name, map[string]types.AttributeValue{"v": num(2)})
			l.Advance(advance)
			l.refuse(s, name, nil, idemddb.ErrCorrupt)
		}
	}},
	{"a record that can't be read is reported, never written", func(l *lab) {
		for name, change := range map[string]map[string]types.AttributeValue{
			"no version":        {"v": nil},
			"version as text":   {"v": str("1")},
			"no state":          {"st": nil},
			"unknown state":     {"st": str("DONE")},
			"no token":          {"own": nil, "st": str("COMPLETED")},
			"no fence":          {"fence": nil, "st": str("COMPLETED")},
			"fence as text":     {"fence": str("x")},
			"lease as text":     {"lease": str("x")},
			"no expiry":         {"exp": nil},
			"expiry as text":    {"exp": str("x")},
			"result as text":    {"res": str("x"), "st": str("COMPLETED")},
			"attempts as a map": {"att": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}}},
		} {
			s := l.store()
			l.claim(s, name)
			l.edit(name, change)
			l.refuse(s, name, nil, idemddb.ErrCorrupt)
		}
	}},
	{"a released record whose numbers make no sense is not worked on", func(l *lab) {
		for name, fence := range map[string]string{"fraction": "1.5", "huge": "1E30"} {
			s := l.store()
			l.must(l.claim(s, name).Release(l.Context(), nil))
			l.edit(name, map[string]types.AttributeValue{"fence": &types.AttributeValueMemberN{Value: fence}})
			l.refuseOnly(s, name, idemddb.ErrCorrupt)
		}
	}},
	{"a record in progress without a lease blocks its key to the end of its retention", func(l *lab) {
		s := l.store()
		l.claim(s, "k")
		l.edit("k", map[string]types.AttributeValue{"lease": nil})
		l.Advance(lease + time.Minute)

		refusal, _ := errors.AsType[*idemddb.InProgressError](l.refuse(s, "k", nil, idemddb.ErrInProgress))
		l.equal("Until", refusal.Until.Unix(), l.number("k", "exp"))
		l.Advance(retention)
		l.claim(s, "k")
	}},
	{"namespaces do not see each other's keys", func(l *lab) {
		s := l.store()
		other, err := idemddb.New(l.engine, l.table, l.namespace+"-other", &idemddb.Options{
			PartitionKey: l.options.PartitionKey, SortKey: l.options.SortKey, TTLAttribute: l.options.TTLAttribute, Now: l.Now,
		})
		l.must(err)
		l.must(l.claim(s, "k").Complete(l.Context(), []byte("one")))

		c, _, err := other.Claim(l.Context(), "k", nil)
		l.must(err)
		l.equal("claimed", c != nil, true)
	}},
	{"each Store honours its own retention on one table", func(l *lab) {
		long := l.store(func(o *idemddb.Options) { o.Retention = 24 * time.Hour })
		l.must(l.claim(l.store(), "short").Complete(l.Context(), nil))
		l.must(l.claim(long, "long").Complete(l.Context(), nil))
		l.equal("apart", l.number("long", "exp")-l.number("short", "exp"), int64(23*60*60))
	}},
	{"a key of up to 1,024 bytes is stored as it is, a longer one as its digest", func(l *lab) {
		s := l.store()
		short, long := strings.Repeat("k", 1024), strings.Repeat("k", 1025)
		l.claim(s, short)
		l.claim(s, long)
		l.equal("short", l.item(short) != nil, true)
		l.refuseOnly(s, long, idemddb.ErrInProgress)
		l.claim(s, long[:1023]+"xy")
		l.refuseOnly(s, long[:1023]+"xy", idemddb.ErrInProgress)
		l.claim(s, strings.Repeat("k", 3000))
	}},
	{"no short key stands for a long one", func(l *lab) {
		s := l.store()
		long := strings.Repeat("k", 2000)
		digest := "sha256:" + idemddb.KeyHash(long)[len("sha256:"):]
		l.claim(s, long)
		l.claim(s, digest)
		l.equal("stored as it is", l.item(digest) == nil, true)
	}},
	{"keys that differ in anything are different keys", func(l *lab) {
		s := l.store()
		for _, key := range []string{"a", "A", " a", "a ", "a#b", "#", "ä", "a\u0308", "a\x00", "\"a\""} {
			l.claim(s, key)
		}
	}},
	{"an empty key, or one that is not UTF-8, is refused before any request", func(l *lab) {
		w := &wire{Engine: l.engine}
		s := l.storeOn(w)

		for _, key := range []string{"", "a\xffb"} {
			_, _, err := s.Claim(l.Context(), key, nil)
			l.is(err, idemddb.ErrBadKey)
			l.is(s.Reopen(l.Context(), key), idemddb.ErrBadKey)
		}

		l.equal("requests", w.requests.Load(), int64(0))
	}},
	{"no error shows the key", func(l *lab) {
		s := l.store()
		c := l.claim(s, "4111-1111-1111-1111")
		_, _, err := s.Claim(l.Context(), "4111-1111-1111-1111", nil)
		l.must(c.Fail(l.Context(), nil))

		_, _, failed := s.Claim(l.Context(), "4111-1111-1111-1111", nil)
		for _, err := range []error{err, failed, c.Complete(l.Context(), nil)} {
			if err == nil || strings.Contains(err.Error(), "4111") {
				l.Errorf("got %v", err)
			}
		}
	}},
	{"a table that is missing is named", func(l *lab) {
		s, err := idemddb.New(l.engine, "no-such-table", l.namespace, nil)
		l.must(err)

		_, _, err = s.Claim(l.Context(), "k", nil)
		if _, ok := errors.AsType[*types.ResourceNotFoundException](err); !ok || !strings.Contains(err.Error(), `"no-such-table" is missing`) {
			l.Errorf("got %v", err)
		}
	}},
	{"a table with another key is explained", func(l *lab) {
		s := l.store(func(o *idemddb.Options) { o.PartitionKey = "id" })
		_, _, err := s.Claim(l.Context(), "k", nil)

		if err == nil || !strings.Contains(err.Error(), `Options.PartitionKey "id"`) {
			l.Errorf("got %v", err)
		}
	}},
	{"a record without a result stays below 1 KB and costs 1 write unit a write", func(l *lab) {
		s := l.store()
		key := strings.Repeat("k", 200)
		_, _, err := s.Claim(l.Context(), key, &idemddb.ClaimOptions{Fingerprint: "f"})
		l.must(err)
		l.Advance(lease + skew + time.Millisecond)

		c, _, err := s.Claim(l.Context(), key, &idemddb.ClaimOptions{Fingerprint: "f"})
		l.must(err)
		l.must(c.Release(l.Context(), errors.New(strings.Repeat("x", 300))))

		out, err := l.engine.UpdateItem(l.Context(), &dynamodb.UpdateItemInput{
			TableName: &l.table, Key: l.key(key), UpdateExpression: new("SET att = att"), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		l.must(err)
		l.equal("units", *out.ConsumedCapacity.CapacityUnits, 1.0)
	}},
}

// refuseOnly demands an error where the record can't be looked up by its key.
func (l *lab) refuseOnly(s *idemddb.Store, key string, want error) {
	l.Helper()

	_, _, err := s.Claim(l.Context(), key, nil)
	l.is(err, want)
}
