package storage

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
)

const (
	maxItemSize = 400 << 10
	writeUnit   = 1 << 10
	readUnit    = 4 << 10
)

// Consumption is the number of capacity units that a request consumes in its table and in each index.
type Consumption struct {
	table   float64
	indexes map[string]float64 // nil: none
}

// written returns the consumption of a write that changes no index.
func written(units int) Consumption { return Consumption{table: float64(units)} }

// ReadCost returns the price of reading an item.
func ReadCost(it attribute.Item, consistent *bool) Consumption {
	return Consumption{table: readUnits(attribute.ItemSize(it), consistent)}
}

// RepeatCost returns the price of a write of a transaction that is repeated with its token: it reads the item.
func RepeatCost(it attribute.Item) Consumption {
	return Consumption{table: float64(2 * units(attribute.ItemSize(it), readUnit))}
}

// Transactional doubles the units of the table, because DynamoDB prepares and commits each item. It does not double the units of
// the indexes, because DynamoDB writes them after the transaction, as after any other write.
func (c Consumption) Transactional() Consumption {
	c.table *= 2

	return c
}

// Add adds the units of another request, or of another part of the request.
func (c *Consumption) Add(other Consumption) {
	c.table += other.table

	for name, units := range other.indexes {
		if c.indexes == nil {
			c.indexes = map[string]float64{}
		}

		c.indexes[name] += units
	}
}

// Total returns the units of the table and of all indexes.
func (c Consumption) Total() float64 {
	sum := c.table
	for _, units := range c.indexes {
		sum += units
	}

	return sum
}

// Report returns the ConsumedCapacity of the answer, nil if the request does not ask for it.
func (c Consumption) Report(want types.ReturnConsumedCapacity, table string) *types.ConsumedCapacity {
	if want != types.ReturnConsumedCapacityTotal && want != types.ReturnConsumedCapacityIndexes {
		return nil
	}

	out := &types.ConsumedCapacity{TableName: &table, CapacityUnits: new(c.Total())}
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
