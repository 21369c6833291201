package lambdawrap

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/aws/smithy-go/logging"
)

// SDKLogger returns a logger for the AWS SDK that writes to l. The SDK's own logger writes plain text to the standard error, for
// example when a connection is cut, and so breaks the log of a function whose LogFormat is JSON. Give it to the SDK when the
// configuration is loaded:
//
//	logger := lambdacontext.NewLogger()
//	cfg, err := config.LoadDefaultConfig(ctx, config.WithLogger(lambdawrap.SDKLogger(logger)))
//
// The SDK's warnings have the level WARN, its debug lines DEBUG. Each line is written with the context of its request, so that
// a handler such as that of lambdacontext adds the invocation's request id. The SDK writes payloads only where
// aws.Config.ClientLogMode asks for them, as DEBUG.
//
// SDKLogger panics for a nil logger. What it returns is safe for concurrent use.
func SDKLogger(l *slog.Logger) logging.Logger {
	if l == nil {
		panic("lambdawrap: SDKLogger: logger: must not be nil")
	}

	return sdkLogger{logger: l, ctx: context.Background()}
}

type sdkLogger struct {
	logger *slog.Logger
	ctx    context.Context //nolint:containedctx // the SDK's interface passes the context to WithContext and not to Logf
}

// WithContext is called by the SDK with the context of a request.
func (s sdkLogger) WithContext(ctx context.Context) logging.Logger {
	return sdkLogger{logger: s.logger, ctx: ctx}
}

// Logf is called by the SDK.
func (s sdkLogger) Logf(c logging.Classification, format string, values ...any) {
	level := slog.LevelInfo

	switch c {
	case logging.Warn:
		level = slog.LevelWarn
	case logging.Debug:
		level = slog.LevelDebug
	}

	if s.logger.Enabled(s.ctx, level) {
		s.logger.Log(s.ctx, level, "AWS SDK: "+fmt.Sprintf(format, values...))
	}
}
