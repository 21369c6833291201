package pipeline

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Record is what idemddb stores about one payment.
type Record struct {
	State    string    // INPROGRESS, COMPLETED or FAILED
	Owner    string    // the request id of the invocation that claimed it last
	Attempts int       // handlers that began
	Fence    int64     // the fencing token
	Lease    time.Time // the end of the lease; zero after a release
	Born     time.Time // the first claim
	Err      string    // the last failure
	Unsent   int       // messages that are stored with the completion and not sent yet
	Parked   int       // messages that can never be sent
}

// Account is one account of the ledger.
type Account struct {
	Balance, Payments int
}

// Records returns the records of payments, by the payment's id. Those of the API's requests are left out.
func (p *Pipeline) Records(ctx context.Context) (map[string]Record, error) {
	return p.records(ctx, "payments#")
}

// RequestRecords returns the records of the API's requests, by their key, which has the caller and the Idempotency-Key.
func (p *Pipeline) RequestRecords(ctx context.Context) (map[string]Record, error) {
	return p.records(ctx, "api#")
}

func (p *Pipeline) records(ctx context.Context, prefix string) (map[string]Record, error) {
	items, err := p.scan(ctx, p.RecordTableName)
	records := map[string]Record{}

	for _, item := range items {
		if id, ok := strings.CutPrefix(text(item["pk"]), prefix); ok {
			records[id] = readRecord(item)
		}
	}

	return records, err
}

func readRecord(item map[string]types.AttributeValue) Record {
	owner, _, _ := strings.Cut(text(item["own"]), "/")
	r := Record{
		State:    text(item["st"]),
		Owner:    owner,
		Attempts: int(number(item["att"])),
		Fence:    number(item["fence"]),
		Err:      text(item["err"]),
		Unsent:   length(item["outbox"]),
		Parked:   length(item["parked"]),
	}

	if lease := number(item["lease"]); lease > 0 {
		r.Lease = time.UnixMilli(lease).UTC()
	}

	if born := number(item["born"]); born > 0 {
		r.Born = time.UnixMilli(born).UTC()
	}

	return r
}

// Accounts returns the accounts by name.
func (p *Pipeline) Accounts(ctx context.Context) (map[string]Account, error) {
	items, err := p.scan(ctx, p.LedgerTableName)
	accounts := map[string]Account{}

	for _, item := range items {
		if name, ok := strings.CutPrefix(text(item["pk"]), "account#"); ok {
			accounts[name] = Account{Balance: int(number(item["balance"])), Payments: int(number(item["payments"]))}
		}
	}

	return accounts, err
}

// Entry is what the ledger has of one payment.
type Entry struct {
	Account string
	Amount  int
}

// AccountsOf returns the accounts in which these payments are, each once.
func AccountsOf(payments map[string]Entry) map[string]Account {
	accounts := map[string]Account{}

	for _, e := range payments {
		a := accounts[e.Account]
		accounts[e.Account] = Account{Balance: a.Balance + e.Amount, Payments: a.Payments + 1}
	}

	return accounts
}

// Entries returns the ledger's entries by their payment's id.
func (p *Pipeline) Entries(ctx context.Context) (map[string]Entry, error) {
	return p.entries(ctx, "payment#")
}

// Requests returns the payments that the API has accepted, by their id.
func (p *Pipeline) Requests(ctx context.Context) (map[string]Entry, error) {
	return p.entries(ctx, "request#")
}

func (p *Pipeline) entries(ctx context.Context, prefix string) (map[string]Entry, error) {
	items, err := p.scan(ctx, p.LedgerTableName)
	entries := map[string]Entry{}

	for _, item := range items {
		if id, ok := strings.CutPrefix(text(item["pk"]), prefix); ok {
			entries[id] = Entry{Account: text(item["account"]), Amount: int(number(item["amount"]))}
		}
	}

	return entries, err
}

// RecordKey is the primary key of a payment's record.
func RecordKey(ctx context.Context, p *Pipeline, id string) (map[string]types.AttributeValue, error) {
	items, err := p.scan(ctx, p.RecordTableName)

	for _, item := range items {
		if text(item["pk"]) == "payments#"+id {
			return map[string]types.AttributeValue{"pk": item["pk"]}, nil
		}
	}

	return nil, fmt.Errorf("no record of the payment %s (%w)", id, err)
}

// RequestKey is the primary key of the record of a request to the API, whoever sent it, by its Idempotency-Key.
func RequestKey(ctx context.Context, p *Pipeline, idempotencyKey string) (map[string]types.AttributeValue, error) {
	items, err := p.scan(ctx, p.RecordTableName)

	for _, item := range items {
		if key := text(item["pk"]); strings.HasPrefix(key, "api#") && strings.HasSuffix(key, `,"`+idempotencyKey+`"]`) {
			return map[string]types.AttributeValue{"pk": item["pk"]}, nil
		}
	}

	return nil, fmt.Errorf("no record of the request %s (%w)", idempotencyKey, err)
}

func (p *Pipeline) scan(ctx context.Context, table string) ([]map[string]types.AttributeValue, error) {
	var items []map[string]types.AttributeValue

	pages := dynamodb.NewScanPaginator(p.DynamoDB, &dynamodb.ScanInput{TableName: aws.String(table), ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the table %s: %w", table, err)
		}

		items = append(items, page.Items...)
	}

	return items, nil
}

func text(value types.AttributeValue) string {
	if s, ok := value.(*types.AttributeValueMemberS); ok {
		return s.Value
	}

	return ""
}

func number(value types.AttributeValue) int64 {
	if n, ok := value.(*types.AttributeValueMemberN); ok {
		i, _ := strconv.ParseInt(n.Value, 10, 64) // a sum beyond 64 bits is of no account here

		return i
	}

	return 0
}

func length(value types.AttributeValue) int {
	if l, ok := value.(*types.AttributeValueMemberL); ok {
		return len(l.Value)
	}

	return 0
}
