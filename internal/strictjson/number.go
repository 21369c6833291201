package strictjson

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxExponent is the largest exponent of a number that is written with one digit before the point. It keeps the arithmetic on
// exponents inside int64. It bounds the number and not its spelling: of two equal numbers, both have a key or neither has.
const maxExponent = 1e18 - 1

var errExponent = errors.New("and whose exponent has more than 18 digits")

// canonicalNumber writes a JSON number as JavaScript would, but with all its digits: 1, 1.0, 1e0 and 100e-2 become 1, -0 becomes
// 0, 1e21 becomes 1e+21. It moves the decimal point in the text, so neither its time nor its memory depends on the size of the
// number: 1e999999999 costs no more than 1.
func canonicalNumber(text string) (string, error) {
	text, negative := strings.CutPrefix(text, "-")

	mantissa, exponent := text, "0"
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], text[i+1:]
	}

	whole, fraction, _ := strings.Cut(mantissa, ".")

	digits := strings.TrimLeft(whole+fraction, "0")
	leadingZeros := len(whole) + len(fraction) - len(digits)

	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		return "0", nil
	}

	shift, err := parseExponent(exponent)
	if err != nil {
		return "", err
	}
	// The value is 0.digits × 10^point.
	point := int64(len(whole)) - int64(leadingZeros) + shift
	if point-1 > maxExponent || point-1 < -maxExponent {
		return "", errExponent
	}

	sign := ""
	if negative {
		sign = "-"
	}

	return sign + placePoint(digits, point), nil
}

func parseExponent(text string) (int64, error) {
	exponent, err := strconv.ParseInt(text, 10, 64)
	if err != nil || exponent > 2*maxExponent || exponent < -2*maxExponent {
		return 0, errExponent // no mantissa is long enough to bring such a number back into range
	}

	return exponent, nil
}

func placePoint(digits string, point int64) string {
	length := int64(len(digits))
	switch {
	case point > 21 || point < -5: // such a number is at least 1e21, or below 1e-6
		if length > 1 {
			digits = digits[:1] + "." + digits[1:]
		}

		return fmt.Sprintf("%se%+d", digits, point-1)
	case point <= 0:
		return "0." + strings.Repeat("0", int(-point)) + digits
	case point >= length:
		return digits + strings.Repeat("0", int(point-length))
	default:
		return digits[:point] + "." + digits[point:]
	}
}
