package dbitem

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
)

// Number is an exact decimal number, whole × 10^exp. Its zero value is 0.
type Number struct {
	whole big.Int
	exp   int
}

// What DynamoDB holds of a number.
const (
	maxDigits   = 38
	maxExponent = 125  // of the first digit
	minExponent = -130 // of the first digit
)

// Errors of ParseNumber.
var (
	errNoNumber   = errors.New("it is no number")
	errManyDigits = errors.New("it has more than 38 digits, or is larger or smaller than a number of DynamoDB")
)

// ParseNumber reads a number as DynamoDB does: with an optional sign, fraction and exponent. It returns an error for what
// DynamoDB cannot hold.
func ParseNumber(text string) (*Number, error) {
	mantissa, exponent, hasExponent := strings.Cut(strings.ReplaceAll(text, "E", "e"), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole, "+-") + fraction

	if digits == "" || len(whole)-len(strings.TrimLeft(whole, "+-")) > 1 || strings.Trim(digits, "0123456789") != "" {
		return nil, errNoNumber
	}

	n := &Number{exp: -len(fraction)}

	if hasExponent {
		exp, err := strconv.Atoi(exponent)
		if errors.Is(err, strconv.ErrSyntax) {
			return nil, errNoNumber
		}

		n.exp += exp
	}

	n.whole.SetString(digits, 10)

	if strings.HasPrefix(whole, "-") {
		n.whole.Neg(&n.whole)
	}

	if !n.IsHeld() {
		return nil, errManyDigits
	}

	if n.whole.Sign() == 0 {
		n.exp = 0
	}

	return n, nil
}

// Plus returns the sum. It is exact, also where DynamoDB cannot hold it.
func (n *Number) Plus(other *Number) *Number {
	low, high := n, other
	if low.exp > high.exp {
		low, high = high, low
	}

	sum := &Number{exp: low.exp}
	sum.whole.Exp(big.NewInt(10), big.NewInt(int64(high.exp-low.exp)), nil)
	sum.whole.Mul(&sum.whole, &high.whole)
	sum.whole.Add(&sum.whole, &low.whole)

	return sum
}

// IsHeld reports whether DynamoDB holds the number without rounding it.
func (n *Number) IsHeld() bool {
	digits := n.digits()
	if digits == "0" {
		return true
	}

	first := n.exp + len(digits) - 1

	return len(strings.TrimRight(digits, "0")) <= maxDigits && minExponent <= first && first <= maxExponent
}

// String returns the number as text that DynamoDB reads, without an exponent if it has up to 38 places.
func (n *Number) String() string {
	digits := n.digits()
	places := max(0, -n.exp)

	if digits == "0" {
		return digits
	}

	digits = strings.Repeat("0", max(0, places+1-len(digits))) + digits

	if n.whole.Sign() < 0 {
		digits = "-" + digits
	}

	switch {
	case n.exp > 0 || places > maxDigits:
		return n.whole.String() + "E" + strconv.Itoa(n.exp)
	case places > 0:
		return digits[:len(digits)-places] + "." + digits[len(digits)-places:]
	default:
		return digits
	}
}

// digits returns the digits of the whole number, without its sign.
func (n *Number) digits() string { return strings.TrimPrefix(n.whole.String(), "-") }
