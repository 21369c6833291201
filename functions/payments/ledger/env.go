package ledger

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// Env is what the function takes from its environment, beside what the SDK reads itself (AWS_REGION,
// AWS_ENDPOINT_URL_DYNAMODB and so on).
type Env struct {
	Table         string        // TABLE_NAME: the table of idemddb's records
	LedgerTable   string        // LEDGER_TABLE: the table of accounts and entries
	CapturedQueue string        // CAPTURED_QUEUE_URL: the queue for the announcements of payments
	Pause         time.Duration // PAUSE_MS: whole milliseconds, up to 49 days; empty is none
}

// ReadEnv reads the environment. Its error names every variable that is missing or wrong.
func ReadEnv() (Env, error) {
	env := Env{Table: os.Getenv("TABLE_NAME"), LedgerTable: os.Getenv("LEDGER_TABLE"), CapturedQueue: os.Getenv("CAPTURED_QUEUE_URL")}

	var errTable, errLedger, errQueue error

	if env.Table == "" {
		errTable = errors.New("payments: TABLE_NAME: must name the table of idempotency records")
	}

	if env.LedgerTable == "" {
		errLedger = errors.New("payments: LEDGER_TABLE: must name the table of accounts")
	}

	if env.CapturedQueue == "" {
		errQueue = errors.New("payments: CAPTURED_QUEUE_URL: must be the URL of the queue for captured payments")
	}

	pause, errPause := parsePause(os.Getenv("PAUSE_MS"))
	env.Pause = pause

	return env, errors.Join(errTable, errLedger, errQueue, errPause)
}

func parsePause(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}

	ms, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("payments: PAUSE_MS: must be a whole number of milliseconds, 0 or more, is %q", text)
	}

	return time.Duration(ms) * time.Millisecond, nil
}
