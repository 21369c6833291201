package dbitem_test

import (
	"strings"
	"testing"

	"github.com/idemddb/go-idemddb/internal/dbitem"
)

func TestANumberIsReadAsDynamoDBDoes(t *testing.T) {
	t.Parallel()

	nines := strings.Repeat("9", 38)

	for text, want := range map[string]string{
		"0": "0", "-0": "0", "0e99": "0", "+7": "7", "-7": "-7", "007": "7", "1.50": "1.50", ".5": "0.5", "-.05": "-0.05", "5.": "5", "1e3": "1E3", "1E-3": "0.001",
		nines: nines, nines + "0": nines + "0", "0." + nines: "0." + nines, "1e-38": "0." + strings.Repeat("0", 37) + "1", "1e-39": "1E-39", "9e125": "9E125", "1e-130": "1E-130",
	} {
		if n, err := dbitem.ParseNumber(text); err != nil || n.String() != want {
			t.Errorf("%q: got %v, %v, want %s", text, n, err, want)
		}
	}

	for _, text := range []string{
		"", "-", ".", "e1", "1e", "1e5e5", "1.2.3", "--1", "-+1", "1-", "0x10", "1_000", " 1", "NaN", "Infinity", "½",
		nines + "1", "1." + nines, "1e126", "1e-131", "1e99999999999999999999", "1e-99999999999999999999",
	} {
		if n, err := dbitem.ParseNumber(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, n)
		}
	}
}

func TestASumIsExact(t *testing.T) {
	t.Parallel()

	nines := strings.Repeat("9", 38)

	for name, c := range map[string]struct {
		a, b, want string
		isHeld     bool
	}{
		"whole numbers":                {"1250", "-250", "1000", true},
		"fractions":                    {"0.1", "0.2", "0.3", true},
		"other exponents":              {"1e3", "0.5", "1000.5", true},
		"one is zero":                  {"0", "1e-130", "1E-130", true},
		"one is zero, of any exponent": {"0e-4000", "1", "1", true},
		"nothing is left":              {"1.5", "-1.5", "0", true},
		"a carry":                      {nines, "1", "1" + strings.Repeat("0", 38), true},
		"39 digits":                    {nines, "2", "1" + strings.Repeat("0", 37) + "1", false},
		"a digit far below":            {"1e38", "1", "1" + strings.Repeat("0", 37) + "1", false},
		"larger than DynamoDB's":       {"9e125", "9e125", "18E125", false},
		"zeros between of 38 digits":   {"1e37", "1", "1" + strings.Repeat("0", 36) + "1", true},
		"smaller than DynamoDB's":      {"1.1e-130", "-1e-130", "1E-131", false},
		"very far apart, not rounded":  {"1e100", "1e-100", "1" + strings.Repeat("0", 199) + "1E-100", false},
		"below zero, of 38 digits too": {"-" + nines, "-1", "-1" + strings.Repeat("0", 38), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			a, err := dbitem.ParseNumber(c.a)
			if err != nil {
				t.Fatal(err)
			}

			b, err := dbitem.ParseNumber(c.b)
			if err != nil {
				t.Fatal(err)
			}

			for _, sum := range []*dbitem.Number{a.Plus(b), b.Plus(a)} {
				if sum.String() != c.want || sum.IsHeld() != c.isHeld {
					t.Errorf("got %v, held %v, want %s, %v", sum, sum.IsHeld(), c.want, c.isHeld)
				}
			}
		})
	}
}
