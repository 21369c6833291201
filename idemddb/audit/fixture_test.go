package audit_test

import (
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/audit"
)

// This file is scaffolding for the tests and the examples: records, and what is made of them.

type attributes = map[string]types.AttributeValue

// start is the time of the first claim.
const (
	start  = int64(1893456000000)
	second = int64(1000)
	far    = int64(253402300799)
	ttl    = int64(7 * 24 * 3600)
	digits = "Q5B7ZK4X2M6R3T1V8Y9W0NHJ"
	printA = "1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	printB = "1:BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB"
	txA    = digits + "TX"
	trace1 = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	trace2 = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
)

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
func blob(s string) types.AttributeValue { return &types.AttributeValueMemberB{Value: []byte(s)} }
func list(all ...types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberL{Value: all}
}
func at(ms int64) time.Time { return time.UnixMilli(ms) }

// owner is the token of a worker, by the two characters that end it.
func owner(name string) types.AttributeValue { return text("request-" + name + "/" + digits + name) }

// but returns a copy of a record in which some attributes are other ones; nil takes one away.
func but(record attributes, changes attributes) attributes {
	record = maps.Clone(record)
	maps.Copy(record, changes)
	maps.DeleteFunc(record, func(_ string, v types.AttributeValue) bool { return v == nil })

	return record
}

// claimed is a key that a worker has claimed for the first time.
func claimed() attributes {
	return attributes{
		"pk": text("payments#p-1"), "v": num(1), "st": text("INPROGRESS"), "own": owner("W1"), "fence": num(start + 1),
		"lease": num(start + 30*second), "prev": num(0), "took": num(0), "exp": num(start/1000 + ttl), "att": num(1), "born": num(start),
	}
}

// takenOver is the same key after its lease was over, and another worker took it over, 40 s after the start.
func takenOver() attributes {
	return but(claimed(), attributes{
		"own": owner("W2"), "fence": num(start + 2), "lease": num(start + 70*second), "prev": num(start + 30*second),
		"took": num(start + 30*second), "exp": num(start/1000 + 40 + ttl), "att": num(2),
	})
}

func released() attributes {
	return but(claimed(), attributes{"lease": num(0), "err": text("the bank is away")})
}

// done is the key that its first worker has completed, a second after the start.
func done() attributes {
	return but(claimed(), attributes{
		"st": text("COMPLETED"), "done": num(start + second), "exp": num(start/1000 + 1 + ttl), "res": blob("paid"),
	})
}

func failed() attributes {
	return but(claimed(), attributes{"st": text("FAILED"), "err": text("account closed"), "exp": num(start/1000 + 1 + ttl)})
}

func message(i int64, cause string) types.AttributeValue {
	m := attributes{"i": num(i), "to": text("receipts"), "body": text("receipt " + strconv.FormatInt(i, 10))}
	if cause != "" {
		m["cause"] = text(cause)
	}

	return &types.AttributeValueMemberM{Value: m}
}

// unsent is the key that was completed together with three messages.
func unsent() attributes {
	return but(done(), attributes{
		"tx": text(txA), "exp": num(far), "ends": num(start/1000 + 1 + ttl), "due": num(start + second), "due_ns": text("payments#7"),
		"outbox": list(message(0, ""), message(1, ""), message(2, "")),
	})
}

// sealedMessage is a message whose body is sealed.
func sealedMessage(i int64, more attributes) types.AttributeValue {
	return &types.AttributeValueMemberM{Value: but(attributes{"i": num(i), "to": text("bank"), "body": blob("bytes")}, more)}
}

func parked() attributes {
	return but(unsent(), attributes{"outbox": nil, "due": nil, "due_ns": nil, "parked": list(message(1, "no such queue"))})
}

func op(what string, ms int64) types.AttributeValue {
	return text(`{"what":"` + what + `","by":"anna","why":"a reason","at":` + strconv.FormatInt(ms, 10) + `,"id":"` + strconv.FormatInt(ms, 36) + `"}`)
}

// has reports whether one of the violations is of this rule.
func has(violations []audit.Violation, rule audit.Rule) bool {
	for _, v := range violations {
		if v.Rule == rule {
			return true
		}
	}

	return false
}

func told(violations []audit.Violation) string {
	var b strings.Builder
	for _, v := range violations {
		b.WriteString("\n  " + string(v.Rule) + " " + v.Attribute + ": " + v.Text)
	}

	return b.String()
}

func newChecker(t *testing.T, options audit.Options) *audit.Checker {
	t.Helper()

	checker, err := audit.NewChecker(options)
	if err != nil {
		t.Fatal(err)
	}

	return checker
}

func elements(v types.AttributeValue) []types.AttributeValue {
	return v.(*types.AttributeValueMemberL).Value
}
