package idemddbtest_test

import (
	"strings"
	"testing"
)

func TestRulesOfTheLimitsOfConditions(t *testing.T) {
	one := attributes{":v": n("1")}
	repeated := func(times int, term, between string) string {
		return strings.Repeat(term+between, times-1) + term
	}

	checkRules(t, []conditionRule{
		{"302 operators, with a NOT", attributes{"a": n("1")}, repeated(150, "a=:v", " OR ") + " OR NOT b<>:v", one, invalid},
		{"299 operators", attributes{"a": n("1")}, repeated(150, "a=:v", " OR "), one, ""},
		{"301 operators", attributes{"a": n("1")}, repeated(151, "a=:v", " OR "), one, invalid},
		{"size is an operator, too", attributes{"a": s("x")}, repeated(101, "size(a)=:v", " OR "), one, invalid},
		{"100 operands of IN", attributes{"a": n("1")}, "a IN (" + repeated(100, ":v", ",") + ")", one, ""},
		{"101 operands of IN", attributes{"a": n("1")}, "a IN (" + repeated(101, ":v", ",") + ")", one, invalid},
	})
}
