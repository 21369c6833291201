package idemddb

import (
	"bytes"
	"cmp"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/record"
)

// keepRecord keeps a copy of a completed record in memory, because it does not change until its retention ends.
func (s *Store) keepRecord(partition string, rec *record.Stored) {
	if s.opts.Cache == 0 {
		return
	}

	kept := *rec
	if b, ok := rec.Result.(*types.AttributeValueMemberB); ok {
		kept.Result = &types.AttributeValueMemberB{Value: bytes.Clone(b.Value)}
	}

	s.cache.Add(partition, &kept)
}

// cached looks the key up in memory. It returns false if there is no record, or if its retention has ended.
func (a *acquisition) cached() bool {
	now := a.store.opts.Now().Unix()

	rec, ok := a.store.cache.Get(a.Partition, func(rec *record.Stored) bool { return cmp.Or(rec.Ends, rec.Expires) > now })

	switch {
	case !ok:
	case !rec.Matches(a.Fingerprint):
		a.err = a.mismatch(rec)
	default:
		a.record, a.result = answerOf(rec, a.key), rec.Result
		a.record.Result = bytes.Clone(a.record.Result)
	}

	return ok
}
