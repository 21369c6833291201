package emf_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/internal/emf"
)

func TestNewRefusesWhatCloudWatchWould(t *testing.T) {
	t.Parallel()

	many := map[string]string{}
	for i := range 31 {
		many[strings.Repeat("x", i+1)] = "v"
	}

	for name, c := range map[string]struct {
		namespace  string
		dimensions map[string]string
		want       string
	}{
		"no namespace":                        {"", nil, "namespace"},
		"a long namespace":                    {strings.Repeat("n", 256), nil, "namespace"},
		"a namespace of AWS":                  {"AWS/Lambda", nil, `namespace "AWS/Lambda": must not begin with "AWS/"`},
		"a namespace that begins with colon":  {":n", nil, `namespace ":n": must not begin with a colon`},
		"a blank namespace":                   {"  ", nil, "blank"},
		"a namespace that is not ASCII":       {"Zahlungen ä", nil, "ASCII"},
		"a namespace with a control":          {"a\x7f", nil, "ASCII"},
		"a namespace with another character":  {"Payments!", nil, "namespace"},
		"too many dimensions":                 {"n", many, "dimensions"},
		"a dimension without a value":         {"n", map[string]string{"Function": ""}, `"Function"`},
		"a dimension without a name":          {"n", map[string]string{"": "v"}, `dimension "": its name must have 1 to 255 bytes`},
		"a dimension with a long name":        {"n", map[string]string{strings.Repeat("x", 256): "v"}, "1 to 255 bytes, has 256"},
		"a dimension with a long value":       {"n", map[string]string{"Function": strings.Repeat("v", 1025)}, "1 to 1024 bytes, has 1025"},
		"a name that begins with a colon":     {"n", map[string]string{":a": "v"}, "colon"},
		"a blank name":                        {"n", map[string]string{" ": "v"}, "blank"},
		"a blank value":                       {"n", map[string]string{"Function": "  "}, "blank"},
		"a name that is not ASCII":            {"n", map[string]string{"Straße": "v"}, "ASCII"},
		"a value that is not ASCII":           {"n", map[string]string{"Function": "ü"}, "ASCII"},
		"a name that is not UTF-8":            {"n", map[string]string{"a\xff": "v"}, "ASCII"},
		"a value with a line end":             {"n", map[string]string{"Function": "a\nb"}, "control"},
		"a dimension named as a metric":       {"n", map[string]string{"Fenced": "x"}, `"Fenced"`},
		"a dimension named as a new metric":   {"n", map[string]string{"DeadLetters": "x"}, `"DeadLetters"`},
		"one dimension with two values":       {"n", map[string]string{"Service": "t"}, `dimension "Service": must have one value in all sets, has "t" and "s"`},
		"a dimension named as the directive":  {"n", map[string]string{"_aws": "x"}, `"_aws"`},
		"a dimension named as the request id": {"n", map[string]string{"requestId": "x"}, `"requestId"`},
	} {
		_, err := emf.New(c.namespace, []string{"Fenced", "DeadLetters"}, []map[string]string{{"Service": "s"}, c.dimensions})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error that names %s", name, err, c.want)
		}
	}
}

func TestNewTakesWhatCloudWatchTakes(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		namespace  string
		dimensions map[string]string
	}{
		"the longest texts":              {strings.Repeat("n", 255), map[string]string{strings.Repeat("d", 255): strings.Repeat("v", 1024)}},
		"all marks of a namespace":       {"a.b_c-d/e#f:g 9", nil},
		"a namespace that has AWS in it": {"Shop/AWS/Lambda", nil},
		"marks in dimensions":            {"n", map[string]string{"a: b!": ":v ~"}},
	} {
		f, err := emf.New(c.namespace, nil, []map[string]string{c.dimensions})
		if err != nil {
			t.Errorf("%s: %v", name, err)

			continue
		}

		var out bytes.Buffer

		f.Write(&out, nil, "")

		if d, _ := read(t, &out); d.CloudWatchMetrics[0].Namespace != c.namespace {
			t.Errorf("%s: got %s", name, &out)
		}
	}
}

func TestWriteWritesEveryMetricAndDimension(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		sets      []map[string]string
		requestID string
		sorted    [][]string
		want      map[string]any
	}{
		"no set, no invocation": {nil, "", [][]string{{}}, map[string]any{"Claimed": 2.0, "Late": 0.0}},
		"an empty set":          {[]map[string]string{{}}, "r-1", [][]string{{}}, map[string]any{"Claimed": 2.0, "Late": 0.0, "requestId": "r-1"}},
		"two sets": {
			[]map[string]string{{"b": "2", "a": "1"}, {"b": "2"}}, "r-1", [][]string{{"a", "b"}, {"b"}},
			map[string]any{"Claimed": 2.0, "Late": 0.0, "a": "1", "b": "2", "requestId": "r-1"},
		},
	} {
		f, err := emf.New("Payments", []string{"Claimed", "Late"}, c.sets)
		if err != nil {
			t.Fatal(err)
		}

		var out bytes.Buffer

		f.Write(&out, map[string]int{"Claimed": 2, "Others": 3}, c.requestID)
		d, line := read(t, &out)

		if diff := cmp.Diff(c.want, line); diff != "" {
			t.Errorf("%s: members (-want +got):\n%s", name, diff)
		}

		want := definition{"Payments", c.sorted, []metric{{"Claimed", "Count"}, {"Late", "Count"}}}
		if diff := cmp.Diff([]definition{want}, d.CloudWatchMetrics); diff != "" || d.Timestamp == 0 {
			t.Errorf("%s: timestamp %d, definition (-want +got):\n%s", name, d.Timestamp, diff)
		}
	}
}

type (
	metric     struct{ Name, Unit string }
	definition struct {
		Namespace  string
		Dimensions [][]string
		Metrics    []metric
	}
	directive struct {
		Timestamp         int64
		CloudWatchMetrics []definition
	}
)

// read reads the one line that was written: its directive, and its other members.
func read(t *testing.T, out *bytes.Buffer) (d directive, line map[string]any) {
	t.Helper()

	if text, ok := strings.CutSuffix(out.String(), "\n"); !ok || strings.Contains(text, "\n") {
		t.Fatalf("%q is not one line", out)
	}

	var members map[string]json.RawMessage
	if err := json.Unmarshal(out.Bytes(), &members); err != nil {
		t.Fatalf("%s: %v", out, err)
	}

	if err := json.Unmarshal(members["_aws"], &d); err != nil {
		t.Fatalf("%s: %v", out, err)
	}

	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%s: %v", out, err)
	}

	delete(line, "_aws")

	return d, line
}
