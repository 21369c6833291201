package idemddbtest_test

import "testing"

// TestRulesOfTransactions and TestRulesOfTokens compare these answers with those of the real engine.
func TestATransactionThatIsNotValid(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)

	lacking := transaction("x", "y")
	lacking.TransactItems[1].Update.UpdateExpression = new("SET n = nosuch + :one")

	if got, want := sent(t, db, lacking), canceled+" None ValidationError"; got != want {
		t.Errorf("an attribute that is not there: got %q, want %q", got, want)
	}

	if got := sent(t, db, transaction("x", "x")); got != invalid {
		t.Errorf("two parts for one item: got %q, want %q", got, invalid)
	}

	for _, c := range []struct{ key, want string }{{"x", ""}, {"x", ""}, {"y", mismatch}} {
		if got := sent(t, db, under("token", transaction(c.key))); got != c.want {
			t.Errorf("%s under the token: got %q, want %q", c.key, got, c.want)
		}
	}

	wantNumber(t, db, "x", "1")
	wantNumber(t, db, "y", "none")
}
