package main

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// probe is what the permissions are asked with: writes of a key that has no record, under a condition that is never true.
type probe struct {
	*dynamodb.Client

	table *string
	key   map[string]types.AttributeValue
	other map[string]types.AttributeValue // another key
	names map[string]string
	never string
}

// permissions asks for each action of a worker and of idem. Nothing is written.
func (c *checking) permissions(ctx context.Context) {
	p, err := c.probe()
	if err != nil {
		c.unasked("permissions", err)

		return
	}

	c.lenient = p.takesAnyCredentials(ctx)

	c.workerPermissions(ctx, p)

	_, err = p.GetItem(ctx, &dynamodb.GetItemInput{TableName: p.table, Key: p.key})
	c.permission("dynamodb:GetItem", err, "results of more than 32 KB, the sweep, and idem show")

	_, err = p.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: p.table, Key: p.key, ConditionExpression: &p.never, ExpressionAttributeNames: p.names,
	})
	c.permission("dynamodb:DeleteItem", err, "idem forget")
}

// probe returns what the permissions are asked with. Its keys belong to idem, so that no worker has a record of them.
func (c *checking) probe() (*probe, error) {
	key, err := c.desk.store.GetItemInput("idem check probe: never written")
	other, errOther := c.desk.store.GetItemInput("idem check probe: never written either")

	if err = errors.Join(err, errOther); err != nil {
		return nil, err
	}

	return &probe{
		Client: c.desk.client, table: key.TableName, key: key.Key, other: other.Key,
		names: map[string]string{"#pk": c.desk.store.Options().PartitionKey}, never: "attribute_exists(#pk) AND attribute_not_exists(#pk)",
	}, nil
}

// workerPermissions asks for the actions of a worker, in the order in which a worker needs them.
func (c *checking) workerPermissions(ctx context.Context, p *probe) {
	c.itemPermissions(ctx, p)
	c.transactionPermission(ctx, p)

	if isARN(*p.table) {
		c.addf("PartiQL", note, "not checked, because no statement takes the table's ARN: workers that name the table by it share no requests; "+
			"give its name if yours do")

		return
	}

	c.updateStatementPermission(ctx, p)
	c.insertStatementPermission(ctx, p)
	c.selectStatementPermission(ctx, p)
}

// itemPermissions asks for the writes of a single record.
func (c *checking) itemPermissions(ctx context.Context, p *probe) {
	_, err := p.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: p.table, Key: p.key, ConditionExpression: &p.never, ExpressionAttributeNames: p.names,
	})
	c.permission("dynamodb:UpdateItem", err, "claims and completions")

	_, err = p.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: p.table, Item: p.key, ConditionExpression: &p.never, ExpressionAttributeNames: p.names,
	})
	c.permission("dynamodb:PutItem", err, "claims of keys past their retention, and results of more than 32 KB")
}

// transactionPermission asks for the transaction that writes staged effects with the record.
func (c *checking) transactionPermission(ctx context.Context, p *probe) {
	_, err := p.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Update: &types.Update{
		TableName: p.table, Key: p.key, ConditionExpression: &p.never, ExpressionAttributeNames: p.names,
		UpdateExpression:          new("SET st = :st"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":st": &types.AttributeValueMemberS{Value: "never"}},
	}}}})
	c.permission("TransactWriteItems", err, "staged effects, beside the actions on their items")
}

// updateStatementPermission asks for the PartiQL statement with which several writes share a request.
func (c *checking) updateStatementPermission(ctx context.Context, p *probe) {
	text, parameters := p.update()
	err := p.statement(ctx, types.BatchStatementRequest{Statement: text, Parameters: parameters})
	c.permission("dynamodb:PartiQLUpdate", err, "shared requests; without it every write is a request of its own")
}

// insertStatementPermission asks for the PartiQL statement that claims new keys. An INSERT takes no condition: in one transaction
// with an update that is refused, it writes nothing.
func (c *checking) insertStatementPermission(ctx context.Context, p *probe) {
	text, parameters := p.update()
	inserted, item := p.insert()
	_, err := p.ExecuteTransaction(ctx, &dynamodb.ExecuteTransactionInput{TransactStatements: []types.ParameterizedStatement{
		{Statement: text, Parameters: parameters}, {Statement: inserted, Parameters: item},
	}})
	c.permission("dynamodb:PartiQLInsert", err, "shared requests of new keys")
}

// selectStatementPermission asks for the PartiQL statement that reads a record. There is none of the probe key.
func (c *checking) selectStatementPermission(ctx context.Context, p *probe) {
	where, parameters := p.where()
	err := p.statement(ctx, types.BatchStatementRequest{
		Statement: new("SELECT * FROM " + quoted(*p.table) + " WHERE " + where), Parameters: parameters, //nolint:unqueryvet // as a worker does
	})
	c.permission("dynamodb:PartiQLSelect", err, "staged effects: after a duplicate, it saves transactions that duplicates would cancel")
}

// statement makes a request of one statement.
func (p *probe) statement(ctx context.Context, st types.BatchStatementRequest) error {
	out, err := p.BatchExecuteStatement(ctx, &dynamodb.BatchExecuteStatementInput{Statements: []types.BatchStatementRequest{st}})
	if err == nil && len(out.Responses) > 0 && out.Responses[0].Error != nil {
		err = &smithy.GenericAPIError{Code: string(out.Responses[0].Error.Code), Message: aws.ToString(out.Responses[0].Error.Message)}
	}

	return err
}

// takesAnyCredentials reports whether the endpoint answers a reader whom nobody knows. AWS never does, so only another endpoint
// is asked.
func (p *probe) takesAnyCredentials(ctx context.Context) bool {
	if p.Options().BaseEndpoint == nil {
		return false
	}

	_, err := p.GetItem(ctx, &dynamodb.GetItemInput{TableName: p.table, Key: p.key}, func(o *dynamodb.Options) {
		o.Credentials = credentials.NewStaticCredentialsProvider(unknownReader, "nobody", "")
	})
	_, noTable := errors.AsType[*types.ResourceNotFoundException](err) // DynamoDB Local has tables for each reader

	return err == nil || noTable
}

// unknownReader is the id of an access key that AWS never gives.
const unknownReader = "IDEMCHECKNOBODY"

// update is a statement whose condition is never true: there is no record of the probe key.
func (p *probe) update() (text *string, parameters []types.AttributeValue) {
	where, parameters := p.where()

	return new("UPDATE " + quoted(*p.table) + " SET st = 'never' WHERE " + where + " AND st = 'never'"), parameters
}

// where names the probe key.
func (p *probe) where() (condition string, parameters []types.AttributeValue) {
	var equalities []string

	for name, value := range p.key {
		equalities = append(equalities, quoted(name)+" = ?")
		parameters = append(parameters, value)
	}

	return strings.Join(equalities, " AND "), parameters
}

func (p *probe) insert() (text *string, parameters []types.AttributeValue) {
	var members []string

	for name, value := range p.other {
		members = append(members, "'"+strings.ReplaceAll(name, "'", "''")+"': ?")
		parameters = append(parameters, value)
	}

	return new("INSERT INTO " + quoted(*p.table) + " VALUE {" + strings.Join(members, ", ") + "}"), parameters
}

// quoted writes a name as PartiQL takes it.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// permission reads the answer to a probe. That its condition was refused is what shows that it was allowed.
func (c *checking) permission(action string, err error, use string) {
	service, isService := errors.AsType[smithy.APIError](err)

	switch {
	case err != nil && !isConditionRefused(err) && isService && strings.HasPrefix(service.ErrorCode(), "AccessDenied"):
		c.addf(action, note, "denied to these credentials; for %s", use)
	case err != nil && !isConditionRefused(err):
		c.unasked(action, err)
	case c.lenient:
		c.addf(action, note, "works; permissions do not apply, because this endpoint takes any credentials, as LocalStack and DynamoDB Local do")
	default:
		c.addf(action, fine, "allowed; for %s", use)
	}
}

// isConditionRefused reports whether a write was refused for its condition, alone, in a transaction or in a statement.
func isConditionRefused(err error) bool {
	if cancelled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return len(cancelled.CancellationReasons) > 0 && aws.ToString(cancelled.CancellationReasons[0].Code) == "ConditionalCheckFailed"
	}

	_, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
	service, isService := errors.AsType[smithy.APIError](err)

	return ok || isService && service.ErrorCode() == string(types.BatchStatementErrorCodeEnumConditionalCheckFailed)
}
