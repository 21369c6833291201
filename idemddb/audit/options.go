package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Options say how the workers of a table are set up, and how well the time of a change is known. The zero value is right for
// workers with the default options and for exact times.
type Options struct {
	// PartitionKey is the name of the table's partition key, as in the workers' options. Defaults to "pk".
	PartitionKey string

	// SortKey is the name of the table's sort key, as in the workers' options. If it is set, only items whose sort key is the string
	// "idemddb" are records. Defaults to none.
	SortKey string

	// TTLAttribute is the name of the attribute with the end of a record, as in the workers' options. Defaults to "exp".
	TTLAttribute string

	// Namespaces are those of the workers' stores. Every item in one of them is a record, and no other item is. If it is empty, an
	// item is a record if its partition key is a string with '#' and it has at least three of the attributes v, st, own, fence and
	// lease. A change of an item that is no record is counted and not judged. So is recognised, by its partition key, a part of a
	// result that is kept beside its record. Defaults to none.
	Namespaces []string

	// ClockSkew is that of the workers: how much their clocks may differ. Two of them, or one and the service's, that differ by more
	// are found. Negative is an error. Defaults to 1 s.
	ClockSkew time.Duration

	// Lease is that of the workers, if all have the same. The start of a lease is then compared with the time of its change. Negative
	// is an error. Defaults to 0: the start of a lease is not compared, its end is.
	Lease time.Duration

	// Retention is that of the workers, if all have the same. The clock of each write that sets the end of a record is then known,
	// also where it stands nowhere else. Negative is an error. Defaults to 0: an end is only compared with what it ends.
	Retention time.Duration

	// Resolution is that of Change.Time: 0 if it is exact, a second for DynamoDB's streams, a minute for those of DynamoDB Local.
	// With a minute or more, times are not compared with the service's. Negative is an error. Defaults to 0.
	Resolution time.Duration

	// Untimed says that Change.Time is not to be compared with the workers' times. What the times of one record say about each other
	// is still judged. Defaults to false: it is compared.
	Untimed bool

	// Lifetime is how much later than it was made a request may change the table: as long as DynamoDB accepts its signature. A
	// worker's time that is older than the change by up to Lifetime makes the change late, and one that is older still is a
	// violation. A call that claims a key has one owner token for all its tries, so the token may come back for as long. Workers that
	// try one completion for long, through an outage, need more. Negative is an error. Defaults to 15 minutes.
	Lifetime time.Duration

	// OldWorkers says that workers from before took, tookat and nt share the table. Their writes leave these attributes as they are.
	// Defaults to false: such a write is a violation, so that a worker that was forgotten at a deployment is found.
	OldWorkers bool
}

// settings are the options with their defaults, in the units of the record.
type settings struct {
	Options

	names map[string]string // the names of this table's attributes, by those of the page
	pages map[string]string // the other way round
}

const (
	defaultClockSkew = time.Second
	defaultLifetime  = 15 * time.Minute
	day              = 24 * time.Hour
)

// withDefaults returns the settings, or an error that names the field.
func (o Options) withDefaults() (*settings, error) {
	for name, d := range map[string]time.Duration{
		"ClockSkew": o.ClockSkew, "Lease": o.Lease, "Retention": o.Retention, "Resolution": o.Resolution, "Lifetime": o.Lifetime,
	} {
		if d < 0 {
			return nil, fmt.Errorf("audit: Options.%s: must not be negative, and is %v", name, d)
		}
	}

	for _, namespace := range o.Namespaces {
		if strings.Contains(namespace, "#") {
			return nil, fmt.Errorf("audit: Options.Namespaces: %q must not contain '#'", namespace)
		}
	}

	s := newSettings(o)
	if len(s.pages) < len(s.names) {
		return nil, fmt.Errorf("audit: Options.PartitionKey, SortKey and TTLAttribute: %q, %q and %q must differ from each other and from "+
			"the other attributes of a record", s.PartitionKey, s.SortKey, s.TTLAttribute)
	}

	return s, nil
}

// newSettings fills in the defaults. A negative duration becomes 0, for [Judge], which returns no error.
func newSettings(o Options) *settings {
	s := &settings{Options: o, names: map[string]string{}, pages: map[string]string{}}

	s.PartitionKey = orDefault(o.PartitionKey, attrPartition)
	s.TTLAttribute = orDefault(o.TTLAttribute, attrExp)
	s.Namespaces = slices.Clone(o.Namespaces)
	s.ClockSkew = orDefault(max(o.ClockSkew, 0), defaultClockSkew)
	s.Lifetime = orDefault(max(o.Lifetime, 0), defaultLifetime)
	s.Lease = max(o.Lease, 0)
	s.Retention = max(o.Retention, 0)
	s.Resolution = max(o.Resolution, 0)
	s.Untimed = o.Untimed || o.Resolution >= time.Minute

	for _, name := range attributes {
		s.names[name] = name
	}

	s.names[attrPartition], s.names[attrExp] = s.PartitionKey, s.TTLAttribute
	if s.SortKey != "" {
		s.names[attrSort] = s.SortKey
	}

	for page, name := range s.names {
		s.pages[name] = page
	}

	return s
}

func orDefault[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}

	return v
}

// tolerance is how far a worker's clock and the time of a change may be apart.
func (s *settings) tolerance() time.Duration { return s.ClockSkew + s.Resolution }
