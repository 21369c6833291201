package lambdawrap_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"github.com/aws/smithy-go/logging"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

type nameKey struct{}

// nameHandler adds the name that it finds in the context, as the handler of lambdacontext adds the request id.
type nameHandler struct{ slog.Handler }

func (h nameHandler) Handle(ctx context.Context, r slog.Record) error {
	if name, ok := ctx.Value(nameKey{}).(string); ok {
		r.AddAttrs(slog.String("name", name))
	}

	return h.Handler.Handle(ctx, r)
}

func TestSDKLogger(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		log  func(logging.Logger)
		want string
	}{
		"a warning": {
			func(l logging.Logger) { l.Logf(logging.Warn, "no %s after %d s", "answer", 2) },
			"level=WARN msg=\"AWS SDK: no answer after 2 s\"\n",
		},
		"a line without values": {
			func(l logging.Logger) { l.Logf(logging.Warn, "cut") },
			"level=WARN msg=\"AWS SDK: cut\"\n",
		},
		"a line of another class": {
			func(l logging.Logger) { l.Logf("", "cut") },
			"level=INFO msg=\"AWS SDK: cut\"\n",
		},
		"a line below the level": {
			func(l logging.Logger) { l.Logf(logging.Debug, "sent") },
			"",
		},
		"the context of a request": {
			func(l logging.Logger) {
				logging.WithContext(context.WithValue(t.Context(), nameKey{}, "r-1"), l).Logf(logging.Warn, "cut")
				l.Logf(logging.Warn, "cut again")
			},
			"level=WARN msg=\"AWS SDK: cut\" name=r-1\nlevel=WARN msg=\"AWS SDK: cut again\"\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var out bytes.Buffer

			c.log(lambdawrap.SDKLogger(slog.New(nameHandler{slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: withoutTime})})))

			if got := out.String(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestSDKLoggerPanicsForANilLogger(t *testing.T) {
	t.Parallel()

	defer func() {
		if got, want := recover(), "lambdawrap: SDKLogger: logger: must not be nil"; got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}()

	lambdawrap.SDKLogger(nil)
}
