package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// The last try begins shortly before the end, so it often has no answer.
func TestALastTryThatIsCutOffDoesNotHideWhyTheOthersFailed(t *testing.T) {
	t.Parallel()

	for _, isSingle := range []bool{false, true} {
		t.Run(fmt.Sprint("single: ", isSingle), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db := newDB(t)
				s := storeOn(t, db, &idemddb.Options{Single: isSingle})

				begun := time.Now()

				db.Intercept(func(ctx context.Context, _ idemddbtest.Request) idemddbtest.Fault {
					if time.Since(begun) > 1900*time.Millisecond {
						<-ctx.Done()
					}

					return idemddbtest.Throttle
				})

				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()

				_, _, err := s.Claim(ctx, "k", nil)

				_, isThrottled := errors.AsType[*types.ProvisionedThroughputExceededException](err)
				if !errors.Is(err, context.DeadlineExceeded) || isThrottled {
					t.Errorf("got %v, want the error of the last try, which had no answer", err)
				}

				if !strings.Contains(err.Error(), "ProvisionedThroughputExceededException") {
					t.Errorf("got %v, want why DynamoDB refused the tries before", err)
				}
			})
		})
	}
}
