package lambdawrap_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// On Lambda the logger is that of lambdacontext.NewLogger, which writes JSON with the invocation's request id.
func ExampleSDKLogger() {
	logger := slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime}))

	cfg, err := config.LoadDefaultConfig(context.Background(), config.WithLogger(lambdawrap.SDKLogger(logger)))
	if err != nil {
		fmt.Println(err)

		return
	}

	cfg.Logger.Logf(logging.Warn, "failed to discard remaining HTTP response body: %v", "connection reset by peer") // the SDK logs such lines
	// Output: {"level":"WARN","msg":"AWS SDK: failed to discard remaining HTTP response body: connection reset by peer"}
}
