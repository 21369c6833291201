package operate_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/operate"
)

// A program that writes its ends in milliseconds, or a person who does, must not end each list that is printed as JSON.
func TestATimeBehindTheYear9999CanBePrinted(t *testing.T) {
	t.Parallel()

	d := newDesk(t, idemddbtest.New(nil), idemddb.Options{})

	for _, name := range []string{"exp", "ends", "lease", "born", "done", "tookat", "prev"} {
		for _, number := range []string{"1767322800000", "1767322800000000", "1767322800000000000", "9223372036854775807", "-9223372036854775808"} {
			d.complete("p-1")
			d.set("p-1", item{name: n(number)})

			v := d.look("p-1")
			if _, err := json.Marshal(v); err != nil {
				t.Errorf("%s of %s: %v", name, number, err)
			}

			if number[0] != '-' && (name == "exp" || name == "lease") && v.Status != operate.Completed {
				t.Errorf("%s of %s: got %s", name, number, v.Status)
			}

			if err := d.Forget(t.Context(), v, "anna", "the next case"); err != nil {
				t.Errorf("%s of %s: %v", name, number, err)
			}
		}
	}
}

// A record of another format version may have its messages in another form. It was refused as changed meanwhile, each time anew.
func TestMessagesThatCannotBeReadAreLostOnPurposeOnly(t *testing.T) {
	t.Parallel()

	d := newDesk(t, idemddbtest.New(nil), idemddb.Options{})

	for name, messages := range map[string]types.AttributeValue{"outbox": s("sealed as a whole"), "parked": n("7")} {
		d.complete("p-1")
		d.set("p-1", item{"v": n("2"), name: messages})

		seen := d.look("p-1")
		if err := d.Forget(t.Context(), seen, "anna", "why"); !errors.Is(err, operate.ErrUnsent) || d.look("p-1").Last != nil {
			t.Errorf("%s: got %v, %+v", name, err, d.look("p-1").Last)
		}

		if _, err := d.Send(t.Context(), seen, "anna", "why"); !errors.Is(err, operate.ErrNotAllowed) || strings.Contains(err.Error(), "no messages") {
			t.Errorf("%s: got %v", name, err)
		}

		if err := d.ForgetUnsent(t.Context(), seen, "anna", "they are lost"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
