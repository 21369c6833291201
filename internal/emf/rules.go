package emf

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// CloudWatch's limits. Those of texts are in bytes.
const (
	maxDimensions      = 30
	maxNamespace       = 255
	maxDimensionName   = 255
	maxDimensionValue  = 1024
	namespaceMarks     = "._-/#: "
	reservedNamespaces = "AWS/"
)

func checkNamespace(namespace string) error {
	if err := checkText(namespace, maxNamespace); err != nil {
		return err
	}

	switch {
	case strings.HasPrefix(namespace, ":"):
		return errors.New("must not begin with a colon")
	case strings.HasPrefix(namespace, reservedNamespaces):
		return fmt.Errorf("must not begin with %q, which belongs to AWS", reservedNamespaces)
	case strings.ContainsFunc(namespace, isForeign):
		return fmt.Errorf("must have letters, digits and characters of %q only", namespaceMarks)
	default:
		return nil
	}
}

// isForeign reports whether a character of ASCII must not be in a namespace.
func isForeign(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(namespaceMarks, r)
}

func checkDimension(name, value string) error {
	if err := checkText(name, maxDimensionName); err != nil {
		return fmt.Errorf("its name %w", err)
	}

	if err := checkText(value, maxDimensionValue); err != nil {
		return fmt.Errorf("its value %q %w", value, err)
	}

	if strings.HasPrefix(name, ":") {
		return errors.New("its name must not begin with a colon")
	}

	return nil
}

// checkText checks the rules that CloudWatch has for all of its texts.
func checkText(text string, most int) error {
	switch {
	case text == "" || len(text) > most:
		return fmt.Errorf("must have 1 to %d bytes, has %d", most, len(text))
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }):
		return errors.New("must have ASCII characters only, and no control characters")
	case strings.TrimSpace(text) == "":
		return errors.New("must have a character that is not blank")
	default:
		return nil
	}
}
