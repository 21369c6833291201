// Package emf writes lines in CloudWatch's embedded metric format. CloudWatch reads them from a log and makes metrics of them.
package emf

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// The members of a line that are neither dimension nor metric.
const (
	directiveMember = "_aws"

	// RequestID is the property that has the id of the invocation, as Lambda's own lines have it. A property costs nothing.
	RequestID = "requestId"
)

// Format is what all lines of one kind have in common. It does not change, so it is safe for concurrent use.
type Format struct {
	metrics    []string
	dimensions map[string]string // the dimensions of all sets, with their values
	definition definition
}

// directive tells CloudWatch which of the other members of a line are metrics and which are dimensions.
type directive struct {
	Timestamp         int64
	CloudWatchMetrics []definition
}

type definition struct {
	Namespace  string
	Dimensions [][]string // the names of the dimensions of each set, sorted
	Metrics    []metric
}

type metric struct{ Name, Unit string }

// New returns the format of lines with these metrics. All of them are counts. For each set of dimensions, CloudWatch makes every
// metric once; without a set, the metrics have no dimensions. The error names what CloudWatch would not accept.
func New(namespace string, metrics []string, sets []map[string]string) (*Format, error) {
	if err := checkNamespace(namespace); err != nil {
		return nil, fmt.Errorf("namespace %q: %w", namespace, err)
	}

	f := &Format{metrics: metrics, dimensions: map[string]string{}, definition: definition{Namespace: namespace}}

	for _, name := range metrics {
		f.definition.Metrics = append(f.definition.Metrics, metric{name, "Count"})
	}

	if len(sets) == 0 {
		sets = []map[string]string{nil}
	}

	for _, set := range sets {
		if err := f.take(set); err != nil {
			return nil, err
		}
	}

	return f, nil
}

// Write writes a line in one piece, because Lambda makes a log event of each write. A metric without a value is zero, so that an
// alarm finds no gap. A line without a request id does not have the property. A line that cannot be written is lost.
func (f *Format) Write(out io.Writer, values map[string]int, requestID string) {
	line := map[string]any{directiveMember: directive{time.Now().UnixMilli(), []definition{f.definition}}}

	for _, name := range f.metrics {
		line[name] = values[name]
	}

	for name, value := range f.dimensions {
		line[name] = value
	}

	if requestID != "" {
		line[RequestID] = requestID
	}

	text, err := json.Marshal(line)
	if err != nil {
		return // a line of texts and numbers can always be encoded
	}

	_, _ = out.Write(append(text, '\n'))
}

// take adds a set of dimensions.
func (f *Format) take(set map[string]string) error {
	if len(set) > maxDimensions {
		return fmt.Errorf("a set of dimensions: must have at most %d, has %d", maxDimensions, len(set))
	}

	names := slices.AppendSeq([]string{}, maps.Keys(set)) // a nil slice would be null in JSON
	slices.Sort(names)

	for _, name := range names {
		if err := f.checkDimension(name, set[name]); err != nil {
			return fmt.Errorf("dimension %q: %w", name, err)
		}

		f.dimensions[name] = set[name]
	}

	f.definition.Dimensions = append(f.definition.Dimensions, names)

	return nil
}

func (f *Format) checkDimension(name, value string) error {
	if err := checkDimension(name, value); err != nil {
		return err
	}

	switch other, ok := f.dimensions[name]; {
	case slices.Contains(f.metrics, name):
		return errors.New("its name must not be that of a metric")
	case name == directiveMember, name == RequestID:
		return errors.New("its name must not be that of another member of the line")
	case ok && other != value:
		return fmt.Errorf("must have one value in all sets, has %q and %q", value, other)
	default:
		return nil
	}
}
