package contract

// testCase is one thing that must be true; its name says what.
type testCase struct {
	name   string
	check  func(*harness)
	costly bool // skipped under -short
}

// costly marks cases that look at the same expressions as others, with more keys or more workers.
func costly(cases ...testCase) []testCase {
	for i := range cases {
		cases[i].costly = true
	}

	return cases
}
