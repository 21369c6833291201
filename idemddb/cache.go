package idemddb

import (
	"bytes"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/record"
)

// cacheRecord keeps a copy of a completed record in memory, because it does not change until its retention ends.
func (s *Store) cacheRecord(partition string, rec *record.Stored) {
	if s.opts.Cache == 0 {
		return
	}

	kept := *rec
	if b, ok := rec.Result.(*types.AttributeValueMemberB); ok {
		kept.Result = &types.AttributeValueMemberB{Value: bytes.Clone(b.Value)}
	}

	s.cache.Add(partition, &kept)
}
