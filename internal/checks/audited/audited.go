// Package audited lets package audit judge the changes that tests make on the engine in memory. A test that makes a change which
// breaks a rule fails at its end, with the story of the key. The numbers of all tests are added to the file that the environment
// variable IDEMDDB_AUDIT names, so that `make test` can say how much was judged.
package audited

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// TB is what a *testing.T and a *rapid.T have in common.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(end func())
}

// Changes are those of one test. A nil *Changes judges none. All methods are safe for concurrent use.
type Changes struct {
	partitionKey string
	checker      *audit.Checker

	mu      sync.Mutex
	byHand  int               // calls of ByHand that have not returned
	edited  map[string]bool   // partition keys that a test has changed by hand, and that nobody has changed since
	exempt  map[string]string // reasons, by partition keys
	untimed bool
	broken  int // changes with violations
	gaps    []string
}

// DB judges all changes on a DB until the test ends. now is the clock of the workers; nil: that of the DB.
func DB(t TB, db *idemddbtest.DB, now func() time.Time, options audit.Options) *Changes {
	t.Helper()

	c := New(t, options)
	ofDB.Store(db, c)
	t.Cleanup(func() { ofDB.Delete(db) })
	db.OnChange(func(change idemddbtest.Change) {
		if now != nil {
			change.Time = now()
		}

		c.See(change)
	})

	return c
}

// Tables returns an engine with these tables. Give it to [DB] to have its changes judged.
func Tables(t testing.TB, opts *idemddbtest.Options, tables ...*dynamodb.CreateTableInput) *idemddbtest.DB {
	t.Helper()

	db := idemddbtest.New(opts)

	for _, table := range tables {
		if _, err := db.CreateTable(t.Context(), table); err != nil {
			t.Fatal(err)
		}
	}

	return db
}

// ofDB has the Changes of each DB that is judged: a test has the DB at hand.
var ofDB sync.Map

func of(db *idemddbtest.DB) *Changes {
	c, _ := ofDB.Load(db)
	changes, _ := c.(*Changes)

	return changes
}

// ByHand calls do, which changes items as no worker does. These changes are not judged, so the next change of each such item is a
// gap.
func ByHand(db *idemddbtest.DB, do func()) {
	of(db).ByHand(do)
}

// OtherClocks says that from now on workers have clocks which differ from that of the DB by more than ClockSkew, so that times
// are not judged.
func OtherClocks(db *idemddbtest.DB) {
	of(db).OtherClocks()
}

// New judges the changes that [Changes.See] is given, until the test ends.
func New(t TB, options audit.Options) *Changes {
	t.Helper()

	checker, err := audit.NewChecker(options)
	if err != nil {
		t.Errorf("%v", err)

		checker, _ = audit.NewChecker(audit.Options{})
	}

	c := &Changes{partitionKey: options.PartitionKey, checker: checker, edited: map[string]bool{}, exempt: map[string]string{}}
	if c.partitionKey == "" {
		c.partitionKey = "pk"
	}

	t.Cleanup(func() {
		t.Helper()

		err := c.Err()
		if err == nil { // else the test fails, and tells what is wrong
			err = count(c.checker.Report())
		}

		if err != nil {
			t.Errorf("%v", err)
		}
	})

	return c
}

// See judges a change.
func (c *Changes) See(change idemddbtest.Change) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.byHand > 0 {
		c.edited[partition(change.Before, c.partitionKey)] = true
		c.edited[partition(change.After, c.partitionKey)] = true

		return
	}

	if c.exempt[partition(change.Before, c.partitionKey)] != "" || c.exempt[partition(change.After, c.partitionKey)] != "" {
		return
	}

	if c.untimed {
		change.Time = time.Time{}
	}

	verdict := c.checker.Check(audit.Change{
		Before: change.Before, After: change.After, Time: change.Time, ByTimeToLive: change.ByTimeToLive,
	})

	if len(verdict.Violations) > 0 {
		c.broken++
	}

	if verdict.Gap && !c.edited[verdict.Partition] {
		c.gaps = append(c.gaps, verdict.Partition)
	}

	delete(c.edited, verdict.Partition)
}

func partition(it map[string]types.AttributeValue, name string) string {
	key, _ := it[name].(*types.AttributeValueMemberS)
	if key == nil {
		return ""
	}

	return key.Value
}

// ByHand is as the function of this name.
func (c *Changes) ByHand(do func()) {
	if c == nil {
		do()

		return
	}

	c.add(1)
	defer c.add(-1)

	do()
}

// OtherClocks is as the function of this name.
func (c *Changes) OtherClocks() {
	if c == nil {
		return
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	c.untimed = true
}

// Exempt says why the changes of a key are not judged from now on: a test has made a record that can be in no table, to see what
// is done to it.
func (c *Changes) Exempt(partition, reason string) {
	if c == nil {
		return
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	c.exempt[partition] = reason
}

// Err returns nil if no change so far has broken a rule, and none is missing.
func (c *Changes) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()

	var missing error
	if len(c.gaps) > 0 {
		missing = fmt.Errorf("the engine did not show every change of %s", strings.Join(c.gaps, ", "))
	}

	if c.broken == 0 {
		return missing
	}

	return errors.Join(c.checker.Report().Err(), missing)
}

// Report says what was judged so far.
func (c *Changes) Report() audit.Report { return c.checker.Report() }

func (c *Changes) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.byHand += n
}
