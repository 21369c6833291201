package attribute

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
)

// number is an exact decimal: 0.digits × 10^exp. Zero has no digits.
type number struct {
	neg    bool
	digits string // without zeros at either end
	exp    int
}

const (
	maxDigits   = 38
	maxExponent = 126  // 9.99…E+125
	minExponent = -129 // 1E-130
)

var errNotNumber = exception.Validation("A value provided cannot be converted into a number")

// CanonicalNumber returns the text that DynamoDB returns for a number, without an exponent and without needless zeros.
func CanonicalNumber(s string) (string, error) {
	if plainInteger(s) {
		return s, nil
	}

	n, err := parseNumber(s)
	if err != nil {
		return "", err
	}

	return n.String(), nil
}

// plainInteger recognises most canonical integers quickly. It returns false for texts that need to be parsed.
func plainInteger(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || len(digits) > maxDigits || digits[0] == '0' {
		return s == "0"
	}

	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return false
		}
	}

	return true
}

func parseNumber(s string) (number, error) {
	mantissa, exponent, hasExponent := strings.Cut(strings.ToLower(s), "e")
	exp := 0

	if hasExponent {
		var err error
		if exp, err = strconv.Atoi(exponent); err != nil {
			return number{}, errNotNumber
		}
	}

	var n number
	if rest, ok := strings.CutPrefix(mantissa, "-"); ok {
		n.neg, mantissa = true, rest
	} else {
		mantissa = strings.TrimPrefix(mantissa, "+")
	}

	whole, fraction, _ := strings.Cut(mantissa, ".")

	n.digits, n.exp = whole+fraction, len(whole)+exp
	if n.digits == "" || strings.Trim(n.digits, "0123456789") != "" {
		return number{}, errNotNumber
	}

	return n.normal()
}

func (n number) String() string {
	if n.digits == "" {
		return "0"
	}

	var s string

	switch {
	case n.exp <= 0:
		s = "0." + strings.Repeat("0", -n.exp) + n.digits
	case n.exp >= len(n.digits):
		s = n.digits + strings.Repeat("0", n.exp-len(n.digits))
	default:
		s = n.digits[:n.exp] + "." + n.digits[n.exp:]
	}

	if n.neg {
		return "-" + s
	}

	return s
}

// normal strips the zeros at both ends and checks the range.
func (n number) normal() (number, error) {
	trimmed := strings.TrimLeft(n.digits, "0")
	n.exp -= len(n.digits) - len(trimmed)

	n.digits = strings.TrimRight(trimmed, "0")
	switch {
	case n.digits == "":
		return number{}, nil
	case len(n.digits) > maxDigits:
		return number{}, exception.Validation("Attempting to store more than 38 significant digits in a Number")
	case n.exp > maxExponent:
		return number{}, exception.Validation("Number overflow. Attempting to store a number with magnitude larger than supported range")
	case n.exp < minExponent:
		return number{}, exception.Validation("Number underflow. Attempting to store a number with magnitude smaller than supported range")
	}

	return n, nil
}

// CompareNumbers compares canonical texts by their value. It returns -1, 0 or 1.
func CompareNumbers(a, b string) int {
	if a == b {
		return 0
	}

	x, y := mustNumber(a), mustNumber(b)
	switch {
	case x.sign() != y.sign():
		return x.sign() - y.sign()
	case x.exp != y.exp && (x.exp < y.exp) != x.neg:
		return -1
	case x.exp != y.exp:
		return 1
	case x.neg:
		return strings.Compare(y.digits, x.digits)
	}

	return strings.Compare(x.digits, y.digits)
}

func (n number) sign() int {
	switch {
	case n.digits == "":
		return 0
	case n.neg:
		return -1
	}

	return 1
}

// AddNumbers adds canonical texts. To subtract, add the result of NegateNumber.
func AddNumbers(a, b string) (string, error) {
	if len(a) < 18 && len(b) < 18 {
		x, errA := strconv.ParseInt(a, 10, 64)

		y, errB := strconv.ParseInt(b, 10, 64)
		if errA == nil && errB == nil {
			return strconv.FormatInt(x+y, 10), nil
		}
	}

	x, y := mustNumber(a), mustNumber(b)
	power := min(x.exp-len(x.digits), y.exp-len(y.digits))
	sum := new(big.Int).Add(x.scaled(power), y.scaled(power))
	n := number{neg: sum.Sign() < 0, digits: sum.Abs(sum).String()}
	n.exp = len(n.digits) + power

	n, err := n.normal()
	if err != nil {
		return "", err
	}

	return n.String(), nil
}

// NegateNumber returns the canonical text of the number with the opposite sign.
func NegateNumber(s string) string {
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		return rest
	}

	if s == "0" {
		return s
	}

	return "-" + s
}

// scaled returns n × 10^-power, for a power that leaves no fraction.
func (n number) scaled(power int) *big.Int {
	i := new(big.Int)
	if n.digits == "" {
		return i
	}

	i.SetString(n.digits+strings.Repeat("0", n.exp-len(n.digits)-power), 10)

	if n.neg {
		i.Neg(i)
	}

	return i
}

// mustNumber parses a canonical text.
func mustNumber(s string) number {
	n, err := parseNumber(s)
	if err != nil {
		panic("idemddbtest: stored number " + s + " is not one")
	}

	return n
}
