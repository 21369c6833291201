package main

import (
	"go/ast"
	"go/types"
	"regexp"
	"strings"
)

// guardName is how libraries and programs call what asks whether a piece of work is done already.
var guardName = regexp.MustCompile(`(?i)idempot|dedup|exactly_?once|already_?(processed|handled|done|seen)|(processed|handled|seen)_?before|is_?duplicate|set_?nx|run_?once|claim_?(key|once|message|event)`)

// tokenName is how the inputs of other systems call the token by which they know a request that comes again.
var tokenName = regexp.MustCompile(`(?i)^(set)?(idempotency|deduplication)|^(ClientRequestToken|ClientToken|MessageDeduplicationId|MsgId|WithMsgID)$|idempotency-key`)

// isGuard reports whether a call asks if the work is done already, so that what follows does not happen twice.
func isGuard(c site) bool {
	path, name := pathOf(c.f), fullName(c.f)

	switch {
	case path == core:
		return listed(name, "guards", "Run", "Do", "Store.Claim", "Store.Begin", "Store.Commit") != ""
	case path == wrap:
		return listed(name, "guards", "SQS", "Batch", "Kinesis", "DynamoDBStream", "Kafka", "Func", "HTTP") != ""
	case isLibrary(path):
		return path == core+"/outbox" && name == "Sweep"
	case namesGuard(c.f) || guardName.MatchString(receiverName(c)):
		return true
	case c.isSQL():
		statement, _ := c.statement()
		statement = strings.ToUpper(statement)

		return prefixed(statement, "writes", "INSERT", "MERGE", "WITH") != "" && (strings.Contains(statement, "ON CONFLICT") ||
			strings.Contains(statement, "ON DUPLICATE KEY") || strings.Contains(statement, "IGNORE") || strings.Contains(statement, "NOT EXISTS") ||
			strings.HasPrefix(statement, "MERGE"))
	case path == "github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression":
		return listed(name, "guards", "AttributeNotExists", "NameBuilder.AttributeNotExists") != ""
	default:
		return false
	}
}

// namesGuard reports whether a function, its type or its package is called as guards are.
func namesGuard(f *types.Func) bool {
	return !isLibrary(pathOf(f)) && (guardName.MatchString(fullName(f)) || guardName.MatchString(pathOf(f)))
}

// receiverName returns the name of the type that a method is called on, which may say more than the interface that has it.
func receiverName(c site) string {
	s, ok := ast.Unparen(c.call.Fun).(*ast.SelectorExpr)
	if !ok {
		return ""
	}

	if id, ok := s.X.(*ast.SelectorExpr); ok { // a field: h.dedup.First(id)
		return id.Sel.Name
	}

	if named := namedOf(c.info.TypeOf(s.X)); named != nil {
		return named.Obj().Name()
	}

	return ""
}

// isCondition reports whether a field that is set makes a write of DynamoDB depend on what is there. That an item must be there
// says nothing.
func isCondition(info *types.Info, field string, value ast.Expr) bool {
	if field != "ConditionExpression" || isNil(info, value) {
		return false
	}

	if call, ok := ast.Unparen(value).(*ast.CallExpr); ok && len(call.Args) == 1 { // aws.String, new
		value = call.Args[0]
	}

	text, ok := textOf(info, value)

	return !ok || strings.Contains(text, "attribute_not_exists") || strings.ContainsAny(text, "=<>")
}

// isConditional reports whether the call itself has a condition or a token.
func (c site) isConditional() bool {
	found := false

	for _, argument := range c.call.Args {
		ast.Inspect(argument, func(n ast.Node) bool {
			pair, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return true
			}

			if id, ok := pair.Key.(*ast.Ident); ok && isCondition(c.info, id.Name, pair.Value) {
				found = true
			}

			return true
		})
	}

	return found
}

// hasToken reports whether a part of a function hands over a token, by which another system knows a request that comes again: a
// field, a method or a header of such a name.
func hasToken(info *types.Info, n ast.Node) bool {
	found := false

	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			id, ok := n.Key.(*ast.Ident)
			found = found || ok && tokenName.MatchString(id.Name) && !isNil(info, n.Value)
		case *ast.SelectorExpr:
			found = found || tokenName.MatchString(n.Sel.Name)
		case *ast.BasicLit:
			found = found || tokenName.MatchString(strings.Trim(n.Value, "\"`"))
		}

		return !found
	})

	return found
}
