package lambdawrap

import (
	"errors"
	"fmt"
	"strings"
)

// The bounds of CloudWatch, in bytes where they are of texts.
const (
	maxDimensions      = 30
	maxNamespace       = 255
	maxDimensionName   = 255
	maxDimensionValue  = 1024
	namespaceMarks     = "._-/#: "
	reservedNamespaces = "AWS/"
)

func checkNamespace(namespace string) error {
	err := checkText(namespace, maxNamespace)

	switch {
	case err != nil:
	case strings.HasPrefix(namespace, ":"):
		err = errors.New("must not begin with a colon")
	case strings.HasPrefix(namespace, reservedNamespaces):
		err = fmt.Errorf("must not begin with %q, which belongs to AWS", reservedNamespaces)
	case !isWord(namespace, namespaceMarks):
		err = fmt.Errorf("must have letters, digits and characters of %q only", namespaceMarks)
	}

	if err != nil {
		return fmt.Errorf("lambdawrap: NewMetrics: namespace %q: %w", namespace, err)
	}

	return nil
}

// take stores the dimensions of all sets. It returns an error that names the first dimension that CloudWatch would not accept.
func (m *Metrics) take(sets []map[string]string) error {
	for _, set := range sets {
		if len(set) > maxDimensions {
			return fmt.Errorf("lambdawrap: NewMetrics: a set of dimensions: must have at most %d, has %d", maxDimensions, len(set))
		}

		for name, value := range set {
			err := checkDimension(name, value)
			if other, ok := m.values[name]; err == nil && ok && other != value {
				err = fmt.Errorf("must have one value in all sets, has %q and %q", value, other)
			}

			if err != nil {
				return fmt.Errorf("lambdawrap: NewMetrics: dimension %q: %w", name, err)
			}

			m.values[name] = value
		}
	}

	return nil
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

	for _, metric := range lineMetrics {
		if name == metric.name {
			return errors.New("its name must not be that of a metric")
		}
	}

	if name == metricsDirective || name == requestIDProperty {
		return errors.New("its name must not be that of another member of the line")
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
