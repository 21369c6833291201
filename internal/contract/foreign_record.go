package contract

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

// foreignRecordCases say what becomes of records that something else wrote: another version of the library, another program, a
// person.
var foreignRecordCases = []testCase{
	{name: "a record of a newer version is reported, never taken or written: in progress, lease over, past its retention", check: func(h *harness) {
		for name, age := range map[string]time.Duration{
			"in progress": 0, "lease over": lease + skew + time.Millisecond, "past its retention": retention + time.Minute,
		} {
			s := h.store()
			h.claim(s, name)
			h.edit(name, attributes{"v": num(2)})
			h.Advance(age)
			h.refuse(s, name, nil, idemddb.ErrCorrupt)
		}
	}},
	{name: "a record that cannot be read is reported, never written", check: func(h *harness) {
		for name, change := range map[string]attributes{
			"no version":        {"v": nil},
			"version as text":   {"v": str("1")},
			"no state":          {"st": nil},
			"unknown state":     {"st": str("DONE")},
			"no owner token":    {"own": nil, "st": str("COMPLETED")},
			"no fencing token":  {"fence": nil, "st": str("COMPLETED")},
			"fence as text":     {"fence": str("x")},
			"lease as text":     {"lease": str("x")},
			"no expiry":         {"exp": nil},
			"expiry as text":    {"exp": str("x")},
			"result as text":    {"res": str("x"), "st": str("COMPLETED")},
			"attempts as a map": {"att": &types.AttributeValueMemberM{Value: attributes{}}},
		} {
			s := h.store()
			h.claim(s, name)
			h.edit(name, change)
			h.refuse(s, name, nil, idemddb.ErrCorrupt)
		}
	}},
	{name: "a completion that meets a record that cannot be read writes nothing and says so, with effects and without", check: func(h *harness) {
		for name, e := range map[string]idemddb.Effects{"alone": {}, "with effects": effects(h.count("a"))} {
			c := h.claim(h.store(), name)
			h.edit(name, attributes{"fence": str("x")})
			h.unchanged(name, func() {
				h.equal("Current", as[*idemddb.FencedError](h, c.CompleteWith(h.Context(), nil, e)).Current, int64(-1))
			})
		}
	}},
	{name: "a released record whose fencing token makes no sense is not worked on", check: func(h *harness) {
		for name, fence := range map[string]string{"fraction": "1.5", "huge": "1E30"} {
			s := h.store()
			h.must(h.claim(s, name).Release(h.Context(), nil))
			h.edit(name, attributes{"fence": &types.AttributeValueMemberN{Value: fence}})

			_, _, err := s.Claim(h.Context(), name, nil)
			h.is(err, idemddb.ErrCorrupt)
		}
	}},
	{name: "a record in progress without a lease holds its key to the end of its retention", check: func(h *harness) {
		s := h.store()
		h.claim(s, "k")
		h.edit("k", attributes{"lease": nil})
		h.Advance(lease + time.Minute)

		refusal := as[*idemddb.InProgressError](h, h.refuse(s, "k", nil, idemddb.ErrInProgress))
		h.equal("Until", refusal.Until.Unix(), h.number("k", "exp"))
		h.Advance(retention)
		h.claim(s, "k")
	}},
}
