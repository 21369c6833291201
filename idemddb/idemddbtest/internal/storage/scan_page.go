package storage

import (
	"hash/fnv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/expression"
)

const maxSegments = 1_000_000

// ScanPage returns what a Scan asks of a table or of an index.
func (s Source) ScanPage(in *dynamodb.ScanInput, c expression.Cache) (*Page, error) {
	if in.ProjectionExpression != nil || in.AttributesToGet != nil || in.ScanFilter != nil || in.ConditionalOperator != "" {
		return nil, exception.Validation("idemddbtest: Scan: projections, and the parameters from before expressions, are not supported")
	}

	expressions, err := c.BindReading(nil, in.FilterExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	if err != nil {
		return nil, err
	}

	if err := s.Table.checkDocuments(expressions.Binding); err != nil {
		return nil, err
	}

	segment, err := s.segment(in.Segment, in.TotalSegments)
	if err != nil {
		return nil, err
	}

	p := &Page{
		Source: s, match: segment, filter: expressions.Matcher(expressions.Filter),
		limit: in.Limit, selects: in.Select, consistent: in.ConsistentRead,
	}
	if err := p.check(); err != nil {
		return nil, err
	}

	if p.start, err = s.checkStart(in.ExclusiveStartKey); err != nil {
		return nil, err
	}

	if p.start != nil && !segment(p.start) {
		return nil, exception.Validation("The provided starting key is invalid: it does not lie within the segment")
	}

	return p, nil
}

// segment returns a function that reports whether an entry belongs to the segment, by a hash of its partition key. Without
// segments every entry does.
func (s Source) segment(segment, total *int32) (func(attribute.Item) bool, error) {
	if segment == nil && total == nil {
		return func(attribute.Item) bool { return true }, nil
	}

	if segment == nil || total == nil || *total < 1 || *total > maxSegments || *segment < 0 || *segment >= *total {
		return nil, exception.Validation("Segment and TotalSegments are specified together, with 0 <= Segment < TotalSegments <= 1000000")
	}

	name := s.key()[0].name

	return func(it attribute.Item) bool {
		h := fnv.New32a()
		_, _ = h.Write([]byte(keyText(it[name])))

		return int64(h.Sum32())%int64(*total) == int64(*segment)
	}, nil
}
