package idemddbtest

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/internal/fakedynamo/exception"
	"github.com/idemddb/go-idemddb/internal/fakedynamo/expression"
)

// Query returns the items of a table or of a global secondary index that have one partition key, in the order of their sort keys.
// It supports KeyConditionExpression, FilterExpression, Limit, ExclusiveStartKey, ScanIndexForward, ConsistentRead, and Select
// without SPECIFIC_ATTRIBUTES. It does not support ProjectionExpression. Entries with the same key of an index are in the order
// of the table's key, for which the service promises no order.
func (db *DB) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return call[dynamodb.QueryOutput](ctx, db, in)
}

func (db *DB) query(in *dynamodb.QueryInput, r *Request) (*dynamodb.QueryOutput, error) {
	s, err := db.source(in.TableName, in.IndexName, in.ConsistentRead)
	if err != nil {
		return nil, err
	}

	switch {
	case in.ProjectionExpression != nil || in.AttributesToGet != nil || in.KeyConditions != nil || in.QueryFilter != nil || in.ConditionalOperator != "":
		return nil, exception.Validation("idemddbtest: Query: projections, and the parameters from before expressions, are not supported")
	case in.KeyConditionExpression == nil:
		return nil, exception.Validation("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}

	p, err := db.pageOf(s, in)
	if err != nil {
		return nil, err
	}

	if p.start, err = s.checkStart(in.ExclusiveStartKey); err != nil {
		return nil, err
	}

	if p.start != nil && !p.match(p.start) {
		return nil, exception.Validation("The provided starting key is outside query boundaries based on provided conditions")
	}

	found := p.read()
	if err := s.charge(&found); err != nil {
		return nil, err
	}

	r.ReadUnits = found.cost.total()

	return &dynamodb.QueryOutput{
		Items: found.items, Count: found.count, ScannedCount: found.scanned, LastEvaluatedKey: found.last,
		ConsumedCapacity: found.cost.report(in.ReturnConsumedCapacity, s.table),
	}, nil
}

// pageOf returns what a Query asks of a table or of an index.
func (db *DB) pageOf(s source, in *dynamodb.QueryInput) (*page, error) {
	r, err := db.parsed.BindReading(in.KeyConditionExpression, in.FilterExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	if err != nil {
		return nil, err
	}

	if err := s.checkKeyCondition(r.Binding, r.Condition); err != nil {
		return nil, err
	}

	if err := s.checkFilter(r.Binding, r.Filter); err != nil {
		return nil, err
	}

	p := &page{
		source: s, match: r.Matcher(r.Condition), filter: r.Matcher(r.Filter), backward: in.ScanIndexForward != nil && !*in.ScanIndexForward,
		limit: in.Limit, selects: in.Select, consistent: in.ConsistentRead,
	}

	return p, p.check()
}

// checkFilter refuses the filter of a Query if it names a key attribute, or an attribute that the index does not project.
func (s source) checkFilter(b *expression.Binding, e *expression.Node) error {
	if e == nil {
		return nil
	}

	if e.Kind == expression.PathNode {
		name := e.Path.Resolved(b.Names)[0].Name

		switch {
		case slices.ContainsFunc(s.key(), func(k keyAttribute) bool { return k.name == name }):
			return exception.Validation("Filter Expression can only contain non-primary key attributes: Primary key attribute: %s", name)
		case s.index != nil && !s.index.all && !slices.Contains(s.index.projected, name):
			return exception.Validation("One or more parameter values were invalid: Secondary index %s does not project one or more filter attributes: [%s]", s.index.name, name)
		}
	}

	for _, a := range e.Args {
		if err := s.checkFilter(b, a); err != nil {
			return err
		}
	}

	return nil
}
