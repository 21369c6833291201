package storage

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
)

// Describe returns the description of the table.
func (t *Table) Describe() *types.TableDescription {
	size := 0
	for _, it := range t.Items {
		size += attribute.ItemSize(it)
	}

	description := &types.TableDescription{
		TableName:            new(t.Name),
		TableArn:             new(t.arn()),
		TableStatus:          types.TableStatusActive,
		KeySchema:            slices.Clone(t.input.KeySchema),
		AttributeDefinitions: slices.Clone(t.input.AttributeDefinitions),
		BillingModeSummary:   &types.BillingModeSummary{BillingMode: types.BillingModePayPerRequest},
		CreationDateTime:     new(t.created),
		ItemCount:            new(int64(len(t.Items))),
		TableSizeBytes:       new(int64(size)),
	}

	for _, ix := range t.indexes {
		description.GlobalSecondaryIndexes = append(description.GlobalSecondaryIndexes, ix.describe(t))
	}

	return description
}

func (ix *index) describe(t *Table) types.GlobalSecondaryIndexDescription {
	d := types.GlobalSecondaryIndexDescription{
		IndexName: &ix.name, IndexArn: new(t.arn() + "/index/" + ix.name), IndexStatus: types.IndexStatusActive,
		ItemCount: new(int64(0)), IndexSizeBytes: new(int64(0)),
	}

	for _, definition := range t.input.GlobalSecondaryIndexes {
		if *definition.IndexName == ix.name {
			d.KeySchema, d.Projection = definition.KeySchema, definition.Projection
		}
	}

	for _, it := range t.Items {
		if entry := ix.entry(it); entry != nil {
			*d.ItemCount++
			*d.IndexSizeBytes += int64(attribute.ItemSize(entry))
		}
	}

	return d
}
