package storage

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/expression"
)

// QueryPage returns what a Query asks of a table or of an index.
func (s Source) QueryPage(in *dynamodb.QueryInput, c expression.Cache) (*Page, error) {
	switch {
	case in.ProjectionExpression != nil || in.AttributesToGet != nil || in.KeyConditions != nil || in.QueryFilter != nil || in.ConditionalOperator != "":
		return nil, exception.Validation("idemddbtest: Query: projections, and the parameters from before expressions, are not supported")
	case in.KeyConditionExpression == nil:
		return nil, exception.Validation("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}

	r, err := c.BindReading(in.KeyConditionExpression, in.FilterExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	if err != nil {
		return nil, err
	}

	if err := s.Table.checkDocuments(r.Binding); err != nil {
		return nil, err
	}

	if err := s.checkKeyCondition(r.Binding, r.Condition); err != nil {
		return nil, err
	}

	if err := s.checkFilter(r.Binding, r.Filter); err != nil {
		return nil, err
	}

	p := &Page{
		Source: s, match: r.Matcher(r.Condition), filter: r.Matcher(r.Filter), backward: in.ScanIndexForward != nil && !*in.ScanIndexForward,
		limit: in.Limit, selects: in.Select, consistent: in.ConsistentRead,
	}

	if err := p.check(); err != nil {
		return nil, err
	}

	if p.start, err = s.checkStart(in.ExclusiveStartKey); err != nil {
		return nil, err
	}

	if p.start != nil && !p.match(p.start) {
		return nil, exception.Validation("The provided starting key is outside query boundaries based on provided conditions")
	}

	return p, nil
}

// checkFilter refuses the filter of a Query if it names a key attribute, or an attribute that the index does not project.
func (s Source) checkFilter(b *expression.Binding, e *expression.Node) error {
	if e == nil {
		return nil
	}

	if e.Kind == expression.PathNode {
		name := e.Path.Resolved(b.Names)[0].Name

		switch {
		case s.key().Has(name):
			return exception.Validation("Filter Expression can only contain non-primary key attributes: Primary key attribute: %s", name)
		case s.index != nil && !s.index.all && !slices.Contains(s.index.projected, name):
			return exception.Validation(
				"One or more parameter values were invalid: Secondary index %s does not project one or more filter attributes: [%s]", s.index.name, name,
			)
		}
	}

	for _, a := range e.Args {
		if err := s.checkFilter(b, a); err != nil {
			return err
		}
	}

	return nil
}
