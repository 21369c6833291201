package idemddbtest

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/fakedynamo/attribute"
)

const (
	maxItemSize = 400 << 10
	writeUnit   = 1 << 10
	readUnit    = 4 << 10
)

// consumption is the number of capacity units that a request consumes in its table and in each index.
type consumption struct {
	table   float64
	indexes map[string]float64 // nil: none
}

// written returns the consumption of a write that changes no index.
func written(units int) consumption { return consumption{table: float64(units)} }

// transactional doubles the units of the table, because DynamoDB prepares and commits each item. It does not double the units of
// the indexes, because DynamoDB writes them after the transaction, as after any other write.
func (c consumption) transactional() consumption {
	c.table *= 2

	return c
}

func (c *consumption) add(other consumption) {
	c.table += other.table

	for name, units := range other.indexes {
		if c.indexes == nil {
			c.indexes = map[string]float64{}
		}

		c.indexes[name] += units
	}
}

func (c consumption) total() float64 {
	sum := c.table
	for _, units := range c.indexes {
		sum += units
	}

	return sum
}

// report returns the ConsumedCapacity of the answer, nil if the request does not ask for it.
func (c consumption) report(want types.ReturnConsumedCapacity, t *table) *types.ConsumedCapacity {
	if want != types.ReturnConsumedCapacityTotal && want != types.ReturnConsumedCapacityIndexes {
		return nil
	}

	out := &types.ConsumedCapacity{TableName: new(t.name), CapacityUnits: new(c.total())}
	if want == types.ReturnConsumedCapacityTotal {
		return out
	}

	out.Table = &types.Capacity{CapacityUnits: new(c.table)}

	for name, units := range c.indexes {
		if out.GlobalSecondaryIndexes == nil {
			out.GlobalSecondaryIndexes = map[string]types.Capacity{}
		}

		out.GlobalSecondaryIndexes[name] = types.Capacity{CapacityUnits: new(units)}
	}

	return out
}

// writeUnits returns the price of a write of an item, or of a write that is refused because of it: one for each KB of its names
// and values or part of a KB, and at least one. Of the item before a write and the one after it the larger counts. A transaction
// costs double.
func writeUnits(it attribute.Item) int { return units(attribute.ItemSize(it), writeUnit) }

// readUnits returns the price of reading this much at once. A read that is not consistent costs half.
func readUnits(size int, consistent *bool) float64 {
	n := float64(units(size, readUnit))
	if consistent != nil && *consistent {
		return n
	}

	return n / 2
}

// units returns how many units this size costs, at least one.
func units(size, unit int) int { return max(1, (size+unit-1)/unit) }
