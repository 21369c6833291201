package idemddb

import (
	"cmp"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/record"
)

// Record is what a completed key answers.
type Record struct {
	Key           string    // as it was claimed
	Fence         int64     // of the claim that completed it
	Trace         string    // that claim's traceparent, by Options.Trace; "" for none
	Attempts      int       // claims whose work began, that one included
	Result        []byte    // nil if the work had none, if it was omitted, or with ClaimOptions.SkipResult; the caller's own copy
	ResultOmitted bool      // the work had a result that was not kept: too large, not encodable, or gone from where it was kept
	CompletedAt   time.Time // by the clock of the worker that completed it; zero if the record does not say
	ExpiresAt     time.Time // the end of its retention, whole seconds
}

type item = map[string]types.AttributeValue

// answerOf returns the answer of a completed key.
func answerOf(r *record.Stored, key string) *Record {
	rec := &Record{
		Key:       key,
		Fence:     *r.Fence,
		Trace:     r.Trace,
		Attempts:  r.Attempts,
		ExpiresAt: time.Unix(cmp.Or(r.Ends, r.Expires), 0),
	}

	if r.Done != 0 {
		rec.CompletedAt = time.UnixMilli(r.Done)
	}

	switch result := r.Result.(type) {
	case *types.AttributeValueMemberB:
		rec.Result = result.Value
	case *types.AttributeValueMemberNULL:
		rec.ResultOmitted = true
	}

	return rec
}
