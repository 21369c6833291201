package contract

import (
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

// judged gives each change of an engine to the case that has made it, because the cases share a table, and each has a clock of
// its own. So the specification judges every change, beside what the case itself looks at.
type judged struct {
	partitionKey string
	options      audit.Options

	mu    sync.Mutex
	cases map[string]*harness // by namespace
}

// judge returns nil if the engine does not show its changes.
func judge(engine Engine, tab table) *judged {
	shown, isShown := engine.(interface {
		OnChange(see func(idemddbtest.Change))
	})
	if !isShown {
		return nil
	}

	j := &judged{
		partitionKey: *tab.schema.KeySchema[0].AttributeName, cases: map[string]*harness{},
		options: audit.Options{
			PartitionKey: tab.options.PartitionKey, SortKey: tab.options.SortKey, TTLAttribute: tab.options.TTLAttribute, ClockSkew: skew,
		},
	}

	shown.OnChange(j.see)

	return j
}

// add lets the changes of a case be judged until it ends.
func (j *judged) add(h *harness) {
	h.Helper()

	if j == nil {
		return
	}

	h.changes = audited.New(h, j.options)

	j.mu.Lock()
	defer j.mu.Unlock()

	j.cases[h.namespace] = h
}

func (j *judged) see(change idemddbtest.Change) {
	either := change.Before
	if either == nil {
		either = change.After
	}

	key, _ := either[j.partitionKey].(*types.AttributeValueMemberS)
	if key == nil {
		return
	}

	namespace, _, _ := strings.Cut(key.Value, "#")

	j.mu.Lock()
	h := j.cases[namespace]
	j.mu.Unlock()

	if h == nil {
		return // an item of a case that is no record: what an effect writes
	}

	change.Time = h.Now()
	h.changes.See(change)
}
