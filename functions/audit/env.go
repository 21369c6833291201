package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/idemddb/go-idemddb/idemddb/audit"
)

// readTable reads the name of the table, which is only for the log: an operator gives it to idem audit.
func readTable() (string, error) {
	table := os.Getenv("TABLE_NAME")
	if table == "" {
		return "", errors.New("audit: TABLE_NAME: must name the table of idempotency records")
	}

	return table, nil
}

// readOptions reads how the workers of the table are set up. An empty variable stands for the default of the field of
// audit.Options. The error names every variable that is wrong.
func readOptions() (audit.Options, error) {
	namespaces, errNamespaces := parseNamespaces(os.Getenv("NAMESPACES"))
	skew, errSkew := parseMilliseconds("CLOCK_SKEW_MS", os.Getenv("CLOCK_SKEW_MS"))
	lease, errLease := parseMilliseconds("LEASE_MS", os.Getenv("LEASE_MS"))

	options := audit.Options{
		PartitionKey: os.Getenv("PARTITION_KEY"), SortKey: os.Getenv("SORT_KEY"), TTLAttribute: os.Getenv("TTL_ATTRIBUTE"),
		Namespaces: namespaces, ClockSkew: skew, Lease: lease, Resolution: resolution(os.Getenv("AWS_ENDPOINT_URL")),
	}

	_, errNames := audit.NewChecker(options) // Judge returns no error for wrong options
	if errNames != nil {
		errNames = fmt.Errorf("audit: PARTITION_KEY, SORT_KEY and TTL_ATTRIBUTE: must be the names that the workers' Options have: %w", errNames)
	}

	return options, errors.Join(errNamespaces, errSkew, errLease, errNames)
}

// resolution is that of the times in the stream. DynamoDB has whole seconds. LocalStack, which sets the endpoint for its
// functions, has whole minutes, so that times are not judged there.
func resolution(endpoint string) time.Duration {
	if endpoint == "" || strings.Contains(endpoint, "amazonaws.com") {
		return time.Second
	}

	return time.Minute
}

func parseNamespaces(list string) ([]string, error) {
	if list == "" {
		return nil, nil
	}

	namespaces := strings.Split(list, ",")
	for i, name := range namespaces {
		namespaces[i] = strings.TrimSpace(name)

		if namespaces[i] == "" || strings.Contains(name, "#") {
			return nil, fmt.Errorf("audit: NAMESPACES: must be the namespaces of the workers' stores with commas between them, without '#', is %q", list)
		}
	}

	return namespaces, nil
}

func parseMilliseconds(name, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}

	ms, err := strconv.ParseUint(text, 10, 32)
	if err != nil || ms == 0 {
		return 0, fmt.Errorf("audit: %s: must be a whole number of milliseconds, 1 or more, or empty, is %q", name, text)
	}

	return time.Duration(ms) * time.Millisecond, nil
}
