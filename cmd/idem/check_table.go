package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// table checks the schema. It returns false if there is no such table.
func (c *checking) table(ctx context.Context) bool {
	out, err := c.desk.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: new(c.desk.store.Table())})
	if err != nil {
		if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
			c.addf("table", fault, "%q does not exist in this account and Region (%s)", c.desk.store.Table(), c.desk.config.Region)

			return false
		}

		c.addf("table", unknown, "%s", err)

		return true
	}

	c.clock()
	c.key(out.Table)
	c.index(out.Table)

	if len(out.Table.Replicas) > 0 {
		c.addf("replicas", note, "the table is replicated to %d Regions; claim a key in one of them only, because the conditions hold within one Region", len(out.Table.Replicas))
	}

	if s := out.Table.StreamSpecification; s != nil && aws.ToBool(s.StreamEnabled) {
		c.addf("stream", note, "on, %s; the library needs none", s.StreamViewType)
	} else {
		c.addf("stream", fine, "off; the library needs none")
	}

	return true
}

func (c *checking) key(t *types.TableDescription) {
	opts := c.desk.store.Options()

	want := opts.PartitionKey + ":HASH:S"
	if opts.SortKey != "" {
		want += " " + opts.SortKey + ":RANGE:S"
	}

	got := keyText(t.KeySchema, t.AttributeDefinitions)
	c.expect("key", got == want, got, fmt.Sprintf("the table has %q, the options say %q: see --partition-key and --sort-key", got, want))
}

func (c *checking) index(t *types.TableDescription) {
	want := c.desk.store.Options().UnsentIndex

	var names []string

	for _, ix := range t.GlobalSecondaryIndexes {
		if name := aws.ToString(ix.IndexName); name != want {
			names = append(names, name)

			continue
		}

		got := keyText(ix.KeySchema, t.AttributeDefinitions)
		c.expect("index", got == "due_ns:HASH:S due:RANGE:N" && (ix.IndexStatus == "" || ix.IndexStatus == types.IndexStatusActive),
			fmt.Sprintf("%q finds the unsent messages", want), fmt.Sprintf("%q has %q and is %s, must be %q and ACTIVE", want, got, ix.IndexStatus, "due_ns:HASH:S due:RANGE:N"))

		return
	}

	if want != "" {
		c.addf("index", fault, "%q is missing; there are: %s", want, strings.Join(names, ", "))
	} else {
		c.addf("index", note, "not checked: name the index of the unsent messages with --unsent-index, if handlers stage messages")
	}
}

func keyText(schema []types.KeySchemaElement, definitions []types.AttributeDefinition) string {
	kinds := map[string]types.ScalarAttributeType{}
	for _, d := range definitions {
		kinds[aws.ToString(d.AttributeName)] = d.AttributeType
	}

	parts := make([]string, len(schema))
	for i, k := range schema {
		name := aws.ToString(k.AttributeName)
		parts[i] = fmt.Sprintf("%s:%s:%s", name, k.KeyType, kinds[name])
	}

	return strings.Join(parts, " ")
}

// clock compares this machine's clock with the service's.
func (c *checking) clock() {
	skew := c.desk.store.Options().ClockSkew
	off, wrong := c.desk.clock.isWrong(skew)

	if _, known := c.desk.clock.offset(); !known {
		c.addf("clock", unknown, "the answer has no Date")

		return
	}

	c.expect("clock", !wrong, fmt.Sprintf("within %v of the service's, whose Date has whole seconds; ClockSkew is %v", off.Abs(), skew),
		fmt.Sprintf("off by about %v, more than the ClockSkew of %v: two workers can hold a key at once; set this machine's clock", off, skew))
}

func (c *checking) timeToLive(ctx context.Context) {
	want := c.desk.store.Options().TTLAttribute

	out, err := c.desk.client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: new(c.desk.store.Table())})
	if err != nil || out.TimeToLiveDescription == nil {
		c.addf("time to live", unknown, "%v", err)

		return
	}

	d := out.TimeToLiveDescription
	name, isOn := aws.ToString(d.AttributeName), d.TimeToLiveStatus == types.TimeToLiveStatusEnabled || d.TimeToLiveStatus == types.TimeToLiveStatusEnabling

	switch {
	case isOn && name == want:
		c.addf("time to live", fine, "on %q, %s", name, d.TimeToLiveStatus)
	case isOn:
		c.addf("time to live", fault, "on %q, the records have their end in %q: they are never deleted. To mend it: idem ttl", name, want)
	default:
		c.addf("time to live", fault, "%s: records are never deleted. To mend it: idem ttl", d.TimeToLiveStatus)
	}
}

// permissions asks for each action of a worker by a write of a probe key whose condition is never true.
func (c *checking) permissions(ctx context.Context) {
	key, err := c.desk.store.RecordOf("idem check probe: never written")
	if err != nil {
		c.addf("permissions", unknown, "%s", err)

		return
	}

	names := map[string]string{"#pk": c.desk.store.Options().PartitionKey}
	never := "attribute_exists(#pk) AND attribute_not_exists(#pk)"
	api := c.desk.client

	_, err = api.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: key.TableName, Key: key.Key, ConditionExpression: &never, ExpressionAttributeNames: names})
	c.permission("dynamodb:UpdateItem", err, "claims and completions")

	_, err = api.PutItem(ctx, &dynamodb.PutItemInput{TableName: key.TableName, Item: key.Key, ConditionExpression: &never, ExpressionAttributeNames: names})
	c.permission("dynamodb:PutItem", err, "claims of keys past their retention")

	statement := types.BatchStatementRequest{}
	statement.Statement, statement.Parameters = c.neverUpdated(key.Key)

	out, err := api.BatchExecuteStatement(ctx, &dynamodb.BatchExecuteStatementInput{Statements: []types.BatchStatementRequest{statement}})
	if err == nil && len(out.Responses) > 0 && out.Responses[0].Error != nil {
		err = &smithy.GenericAPIError{Code: string(out.Responses[0].Error.Code), Message: aws.ToString(out.Responses[0].Error.Message)}
	}

	c.permission("dynamodb:PartiQLUpdate", err, "shared requests; without it every write is a request of its own")

	_, err = api.GetItem(ctx, key)
	c.permission("dynamodb:GetItem", err, "the sweep, and idem show")

	_, err = api.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: key.TableName, Key: key.Key, ConditionExpression: &never, ExpressionAttributeNames: names})
	c.permission("dynamodb:DeleteItem", err, "idem forget")
}

// neverUpdated is a statement whose condition is never true: there is no record of the probe key.
func (c *checking) neverUpdated(key map[string]types.AttributeValue) (text *string, parameters []types.AttributeValue) {
	quoted := func(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
	opts := c.desk.store.Options()

	where := quoted(opts.PartitionKey) + " = ?"
	parameters = append(parameters, key[opts.PartitionKey])

	if opts.SortKey != "" {
		where += " AND " + quoted(opts.SortKey) + " = ?"
		parameters = append(parameters, key[opts.SortKey])
	}

	return new("UPDATE " + quoted(c.desk.store.Table()) + " SET st = 'never' WHERE " + where + " AND st = 'never'"), parameters
}

func (c *checking) permission(action string, err error, use string) {
	_, isRefused := errors.AsType[*types.ConditionalCheckFailedException](err)
	service, isService := errors.AsType[smithy.APIError](err)

	switch {
	case err == nil, isRefused, isService && service.ErrorCode() == string(types.BatchStatementErrorCodeEnumConditionalCheckFailed):
		c.addf(action, fine, "allowed; for %s", use)
	case isService && strings.HasPrefix(service.ErrorCode(), "AccessDenied"):
		c.addf(action, note, "denied to these credentials; for %s", use)
	default:
		c.addf(action, unknown, "%s", err)
	}
}
