package idemddb_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/record"
)

// A caller who acknowledges by IsDone must not lose work that did not succeed.
func TestIsDoneHoldsOnlyForWorkThatIsDone(t *testing.T) {
	t.Parallel()

	for err, want := range map[error]bool{
		nil: true, idemddb.ErrUnrecorded: true, idemddb.ErrTooLarge: true, idemddb.ErrResultOmitted: true,

		idemddb.ErrInProgress: false, idemddb.ErrFailed: false, idemddb.ErrMismatch: false, idemddb.ErrCorrupt: false, idemddb.ErrBadKey: false,
		idemddb.ErrUncommitted: false, idemddb.ErrEffectRefused: false, idemddb.ErrNoClaim: false, idemddb.ErrNotStaged: false,
		idemddb.ErrBadEffects: false, idemddb.ErrUnsent: false, idemddb.ErrUnread: false, idemddb.ErrUnsendable: false, idemddb.ErrMisuse: false,
		context.Canceled: false, errors.New("the charge failed"): false,
	} {
		wrapped := err
		if err != nil {
			wrapped = fmt.Errorf("complete: %w", err)
		}

		if got := isDone(wrapped); got != want {
			t.Errorf("IsDone(%v) = %t, want %t", err, got, want)
		}
	}
}

// The way of docs/do.md: failed work is an error, also if its release is written, and finished work is none, also without its
// record.
func TestTheStepsOfTheDocsReportFailedWorkAndAcknowledgeFinishedWork(t *testing.T) {
	t.Parallel()

	errClosed := errors.New("the bank is closed")
	byClaim := func(f *fixture, charge func() error) error {
		claim := claim(f, f.store, "k")
		defer claim.Release(f.Context(), nil)

		if err := charge(); err != nil {
			return errors.Join(err, claim.Release(f.Context(), err))
		}

		if err := claim.Complete(f.Context(), nil); !claim.IsDone(err) {
			return err
		}

		return nil
	}

	bubble(t, nil, func(f *fixture) {
		is(f, byClaim(f, func() error { return errClosed }), errClosed)
		must(f, byClaim(f, func() error {
			f.db.Intercept(always(idemddbtest.ServerError)) // the completion gets no answer

			return nil
		}))
	})
}

// The texts stand in logs. They show the hash of the key, which stands in a field.
func TestTheTextsOfTheErrorsSayWhoHasTheKey(t *testing.T) {
	t.Parallel()

	const key = "payment-1"

	until := time.Date(2026, 1, 2, 12, 0, 30, 0, time.UTC)

	for want, err := range map[string]error{
		" is in progress until 2026-01-02T12:00:30Z":                              &idemddb.InProgressError{Key: key, Until: until},
		" failed for good (attempts: 2): account is closed":                       &idemddb.FailedError{Key: key, Cause: "account is closed", Attempts: 2},
		": claim with fencing token 7 is fenced, the key has fencing token 8 now": &idemddb.FencedError{Key: key, Held: 7, Current: 8},
		": claim with fencing token 7 is fenced, completed with fencing token 8": &idemddb.FencedError{
			Key: key, Held: 7, Current: 8, Record: &idemddb.Record{Fence: 8},
		},
		": claim with fencing token 7 is fenced, it was settled before":     &idemddb.FencedError{Key: key, Held: 7, Current: 7},
		": claim with fencing token 7 is fenced, its record is gone":        &idemddb.FencedError{Key: key, Held: 7, Current: 0},
		": claim with fencing token 7 is fenced, its record cannot be read": &idemddb.FencedError{Key: key, Held: 7, Current: -1},
	} {
		if want = "idemddb: key sha256:a-IBemZtKSDe" + want; err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
}

// An operator searches the log for the hash in the error's text.
func TestTheErrorOfAStoredKeyHasTheHashOfTheKey(t *testing.T) {
	t.Parallel()

	s := storeOn(t, idemddbtest.New(nil), &idemddb.Options{HashKeys: true})
	sum := sha256.Sum256([]byte("payment-1"))
	pk := s.Namespace() + "#sha256:" + base64.RawURLEncoding.EncodeToString(sum[:])

	_, err := s.SendStored(t.Context(), map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: pk}, "v": &types.AttributeValueMemberN{Value: "9"},
	}, false)
	if err == nil || !strings.Contains(err.Error(), record.KeyHash("payment-1")) {
		t.Errorf("got %v, want %s in it", err, record.KeyHash("payment-1"))
	}
}
