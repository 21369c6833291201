package ledger

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// Env is what the function takes from its environment, beside what the SDK reads itself (AWS_REGION, AWS_ENDPOINT_URL_DYNAMODB
// and so on).
type Env struct {
	Table         string        // TABLE_NAME: the table of idemddb's records
	LedgerTable   string        // LEDGER_TABLE: the table of accounts and entries
	CapturedQueue string        // CAPTURED_QUEUE_URL: the queue for the announcements of payments
	Pause         time.Duration // PAUSE_MS: whole milliseconds, up to 49 days; empty is none
	Workers       int           // WORKERS: payments of a batch worked on at a time, 1 to 10,000; empty is 0, the default of lambdawrap
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

	workers, errWorkers := parseWorkers(os.Getenv("WORKERS"))
	env.Workers = workers

	return env, errors.Join(errTable, errLedger, errQueue, errPause, errWorkers)
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

// maxWorkers is the largest batch that Lambda takes from a queue.
const maxWorkers = 10_000

func parseWorkers(text string) (int, error) {
	if text == "" {
		return 0, nil
	}

	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxWorkers {
		return 0, fmt.Errorf("payments: WORKERS: must be a whole number from 1 to %d, is %q", maxWorkers, text)
	}

	return n, nil
}
