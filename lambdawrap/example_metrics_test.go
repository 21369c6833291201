package lambdawrap_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// The second batch has three messages: one whose payment was made before, and two of another payment, which is made once.
func ExampleMetrics() {
	var log bytes.Buffer // a function has os.Stdout

	metrics := lambdawrap.NewMetrics(&log, "Payments", map[string]string{"Function": "payments"})
	store, _ := inMemory(&idemddb.Options{Observe: metrics.Observe})

	function := lambdawrap.Measure(metrics, lambdawrap.SQS(store, func(context.Context, events.SQSMessage) error {
		return nil
	}, &lambdawrap.Options{Key: byPaymentID(), Logger: quiet}))

	invoke(function, received(`{"paymentId":"p-1"}`))
	log.Reset()
	invoke(function, received(`{"paymentId":"p-1"}`, `{"paymentId":"p-2"}`, `{"paymentId":"p-2"}`))

	var line map[string]any
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		fmt.Println(err)
	}

	for _, name := range []string{"Function", "Messages", "NotDone", "Claimed", "Completed", "Replayed"} {
		fmt.Println(name, line[name])
	}
	// Output:
	// come back: []
	// come back: []
	// Function payments
	// Messages 3
	// NotDone 0
	// Claimed 1
	// Completed 1
	// Replayed 1
}

func ExampleMeasure() {
	var log bytes.Buffer // a function has os.Stdout

	metrics := lambdawrap.NewMetrics(&log, "Payments")
	store, _ := inMemory(&idemddb.Options{Observe: metrics.Observe})

	function := lambdawrap.Measure(metrics, lambdawrap.Kinesis(store, func(context.Context, events.KinesisEventRecord) error {
		return nil
	}, nil))

	_, err := function(context.Background(), events.KinesisEvent{Records: []events.KinesisEventRecord{
		shardRecord("101", "ada", "p-1"), shardRecord("102", "ben", "p-2"),
	}})

	var line map[string]any
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		fmt.Println(err)
	}

	fmt.Println("Messages", line["Messages"], "NotDone", line["NotDone"], err)
	// Output: Messages 2 NotDone 0 <nil>
}

// The client did not get the first answer, and sends its request again.
func ExampleMetrics_MeasureHTTP() {
	var log bytes.Buffer // a function has os.Stdout

	metrics := lambdawrap.NewMetrics(&log, "API")
	store, _ := inMemory(&idemddb.Options{Observe: metrics.Observe})

	api := metrics.MeasureHTTP(lambdawrap.HTTP(store, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
	}), &lambdawrap.HTTPOptions{Caller: func(*http.Request) (string, error) { return "ada", nil }}))

	for range 2 {
		log.Reset()

		r := httptest.NewRequest(http.MethodPost, "/payments", strings.NewReader(`{"amount":125}`))
		r.Header.Set("Idempotency-Key", "key-1")
		api.ServeHTTP(httptest.NewRecorder(), r)

		var line map[string]any
		if err := json.Unmarshal(log.Bytes(), &line); err != nil {
			fmt.Println(err)
		}

		fmt.Println("Messages", line["Messages"], "Completed", line["Completed"], "Replayed", line["Replayed"])
	}
	// Output:
	// Messages 1 Completed 1 Replayed 0
	// Messages 1 Completed 0 Replayed 1
}

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
