package main

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
	"unicode"
)

// site is a call of a function that is not the user's own, or of a method of an interface.
type site struct {
	info *types.Info
	call *ast.CallExpr
	f    *types.Func
}

// effect says what a call does to the world; "" for nothing that is known.
func (c site) effect() string {
	path, name := pathOf(c.f), c.f.Name()
	first, _, _ := strings.Cut(path, "/")

	switch {
	case c.operation() != "":
		return c.awsEffect()
	case path == "net/http":
		return c.httpEffect()
	case path == "net/smtp" && name == "SendMail":
		return "a send, smtp.SendMail"
	case c.isSQL():
		return c.sqlEffect()
	case path != "" && !strings.Contains(first, "."): // of the standard library
		return ""
	case strings.HasPrefix(path, "github.com/stripe/stripe-go"):
		return c.stripeEffect()
	case isIn(path, "gorm.io/gorm"):
		return listed(name, "a write, gorm."+name, "Create", "CreateInBatches", "Save", "Update", "UpdateColumn", "Updates", "Delete", "Exec")
	case isIn(path, "go.mongodb.org/mongo-driver"):
		return prefixed(name, "a write, mongo."+name, "Insert", "Update", "Replace", "Delete", "FindOneAnd", "BulkWrite")
	case isIn(path, "github.com/redis/go-redis") || isIn(path, "github.com/go-redis/redis"):
		return prefixed(name, "a write, redis."+name, "Set", "Incr", "Decr", "Del", "HSet", "HIncr", "LPush", "RPush", "SAdd", "ZAdd", "XAdd", "Publish")
	default:
		return c.verbEffect()
	}
}

// operation returns the operation of AWS that a call makes, as the type of its input names it; "" for none.
func (c site) operation() string {
	for parameter := range c.f.Signature().Params().Variables() {
		named := namedOf(parameter.Type())
		if named == nil || service(pathOf(named.Obj())) == "" {
			continue
		}

		operation, ok := strings.CutSuffix(named.Obj().Name(), "Input")
		if ok && (c.f.Name() == operation || c.f.Name() == operation+"WithContext" || c.f.Name() == "Upload") {
			return operation
		}
	}

	return ""
}

// service returns the name of the service of AWS whose client is in a package; "" for others.
func service(path string) string {
	for _, sdk := range []string{"github.com/aws/aws-sdk-go-v2/service/", "github.com/aws/aws-sdk-go/service/"} {
		if rest, ok := strings.CutPrefix(path, sdk); ok {
			name, _, _ := strings.Cut(rest, "/")

			return name
		}
	}

	return ""
}

// awsEffect leaves out what only reads, what acknowledges a message, and the services that watch and keep secrets.
func (c site) awsEffect() string {
	var name string

	for parameter := range c.f.Signature().Params().Variables() {
		if named := namedOf(parameter.Type()); named != nil && service(pathOf(named.Obj())) != "" {
			name = service(pathOf(named.Obj()))
		}
	}

	operation := c.operation()
	reads := prefixed(operation, "reads",
		"Get", "List", "Describe", "Query", "Scan", "Head", "BatchGet", "TransactGet", "Select", "Lookup", "Search", "Receive", "Filter")
	acknowledges := listed(operation, "acknowledges", "DeleteMessage", "DeleteMessageBatch", "ChangeMessageVisibility", "ChangeMessageVisibilityBatch")
	watches := listed(name, "watches",
		"kms", "sts", "cloudwatch", "cloudwatchlogs", "xray", "secretsmanager", "ssm", "dynamodbstreams", "bedrockruntime")

	switch {
	case reads+acknowledges+watches != "":
		return ""
	case prefixed(operation, "sends", "Send", "Publish", "PutEvents", "Invoke", "PutRecord", "StartExecution") != "":
		return "a send, " + name + "." + operation
	default:
		return "a write, " + name + "." + operation
	}
}

// httpEffect knows requests whose method is written down and changes something.
func (c site) httpEffect() string {
	switch fullName(c.f) {
	case "Post", "PostForm", "Client.Post", "Client.PostForm":
		return "a request, http.Post"
	case "NewRequest", "NewRequestWithContext":
		for _, argument := range c.call.Args {
			if text, ok := textOf(c.info, argument); ok {
				return listed(text, "a request, http "+text, "POST", "PUT", "PATCH", "DELETE")
			}
		}
	}

	return ""
}

// isSQL reports whether a call is one of a database's client.
func (c site) isSQL() bool {
	path := pathOf(c.f)

	return path == "database/sql" || isIn(path, "github.com/jmoiron/sqlx") || isIn(path, "github.com/jackc/pgx")
}

// sqlEffect goes by the statement where it is written down, else by the method.
func (c site) sqlEffect() string {
	name := c.f.Name()
	executes := prefixed(name, "executes", "Exec", "NamedExec", "MustExec") != ""
	queries := prefixed(name, "queries", "Query", "NamedQuery", "Get", "Select") != ""

	if !executes && !queries {
		return listed(name, "a write, "+name, "SendBatch", "CopyFrom")
	}

	statement, ok := c.statement()
	if !ok {
		if executes {
			return "a write, SQL"
		}

		return ""
	}

	word, _, _ := strings.Cut(strings.TrimSpace(statement)+" ", " ")

	return listed(strings.ToUpper(word), "a write, SQL "+strings.ToUpper(word), "INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE", "CALL", "WITH")
}

// statement returns the text of an SQL statement that is written down.
func (c site) statement() (string, bool) {
	for _, argument := range c.call.Args {
		if text, ok := textOf(c.info, argument); ok {
			return strings.Join(strings.Fields(text), " "), true
		}
	}

	return "", false
}

func (c site) stripeEffect() string {
	return listed(c.f.Name(), "a payment, stripe "+c.f.Name(), "New", "Create", "Capture", "Confirm", "Update", "Cancel", "Refund", "Pay")
}

// verbEffect goes by the first word of a name, for clients that are not known by their package and for interfaces.
func (c site) verbEffect() string {
	var (
		name     = c.f.Name()
		word     = firstWord(name)
		receiver = c.f.Signature().Recv()
	)

	if receiver == nil && !takesContext(c.f) || strings.HasPrefix(pathOf(c.f), "github.com/getsentry/") {
		return ""
	}

	what := fullName(c.f)

	return listed(word, "a payment, "+what, "Charge", "Pay", "Capture", "Refund", "Transfer", "Payout", "Debit", "Credit", "Withdraw", "Deposit") +
		listed(word, "a send, "+what, "Send", "Publish", "Produce", "Enqueue") +
		listed(name, "a send, "+what, "WriteMessages")
}

// announcement says which line of a log a call writes in which something is told as done; "" for other calls and for other
// levels.
func (c site) announcement() string {
	path, name := pathOf(c.f), c.f.Name()

	switch {
	case path == "log" || path == "fmt":
		return prefixed(name, path+"."+name, "Print")
	case path == "log/slog" || isIn(path, "go.uber.org/zap") || isIn(path, "github.com/sirupsen/logrus") || isIn(path, "github.com/rs/zerolog"):
		return prefixed(name, fullName(c.f), "Info")
	default:
		return ""
	}
}

func takesContext(f *types.Func) bool {
	parameters := f.Signature().Params()

	return parameters.Len() > 0 && isType(parameters.At(0).Type(), "context", "Context")
}

// firstWord returns the first word of a name: Pay of PayInvoice, and Payload of Payload.
func firstWord(name string) string {
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			return name[:i]
		}
	}

	return name
}

// isIn reports whether a package is in a module or one of its later versions.
func isIn(path, module string) bool { return path == module || strings.HasPrefix(path, module+"/") }

// listed returns text if name is one of names.
func listed(name, text string, names ...string) string {
	if slices.Contains(names, name) {
		return text
	}

	return ""
}

// prefixed returns text if name begins with one of the prefixes.
func prefixed(name, text string, prefixes ...string) string {
	for _, p := range prefixes {
		if strings.HasPrefix(name, p) {
			return text
		}
	}

	return ""
}
