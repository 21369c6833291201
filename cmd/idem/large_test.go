package main

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/localstack/auditing"
)

// A list of a large table stays within its budget, reports how far it is, and goes on where it stopped, until each key was found
// once. IDEM_RECORDS is how many records there are; 100,000 take a few minutes, most of them to make the table.
func TestListOfALargeTable(t *testing.T) {
	t.Parallel()

	n := onDynamoDBLocal(t)
	count := records(t)
	n.fill(count)
	n.clock.Advance(time.Hour)

	// This call reads everything, by the default budget.
	begun := time.Now()
	n.idem("list")
	n.expect(exitDone)

	whole := n.summary()
	if whole.read != count || whole.found != count/100*2 || whole.units > 10_000 {
		t.Errorf("got %+v, want %d records and %d keys", whole, count, count/100*2)
	}

	took := time.Since(begun)
	reports := strings.Count(n.screen.String(), "\nread ")
	t.Logf("%d records in %v: %+v, progress reported %d times", count, took.Round(time.Millisecond), whole, reports)

	if reports < int(took.Seconds())/2 {
		t.Errorf("progress was reported %d times in %v", reports, took)
	}

	n.testParts(count, whole)
}

// records is how many records the tests of a large table have.
func records(t *testing.T) int {
	t.Helper()

	text := os.Getenv("IDEM_RECORDS")
	if text == "" {
		return 4_000 // with fewer, a part of their price is too small for several segments
	}

	count, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("IDEM_RECORDS: %v", err)
	}

	return count
}

// An audit of a large stream stays within its budget, and says how far it came. IDEM_RECORDS is how many changes there are.
func TestAuditOfALargeStream(t *testing.T) {
	t.Parallel()

	n := onDynamoDBLocal(t)
	count := records(t)

	n.claim("p-9", "8f6e1c1e")
	like := n.take("p-9")

	if err := auditing.Enable(t.Context(), n.client, n.table); err != nil {
		t.Fatal(err)
	}

	n.write(count, func(int) map[string]types.AttributeValue { return like })

	begun := time.Now()

	n.idem("audit")
	n.expect(exitDone, fmt.Sprintf("audit: %d changes judged: %d new claim; 0 violations", count, count))

	took := time.Since(begun)
	reports := strings.Count(n.screen.String(), "read ") - 1
	t.Logf("%d changes in %v, progress reported %d times: %s", count, took.Round(time.Millisecond), reports, n.shown())

	if reports < int(took.Seconds())/2 {
		t.Errorf("progress was reported %d times in %v", reports, took)
	}

	n.screen.Reset()
	n.idem("audit", "--budget", "2")
	n.expect(exitError, "the budget ended before the stream was read to its end; raise --budget")

	if !strings.Contains(n.screen.String(), "changes read in 2 requests") || strings.Contains(n.screen.String(), fmt.Sprintf("%d changes judged", count)) {
		t.Errorf("the budget of two requests was not kept:\n%s", n.screen.String())
	}
}

// testParts lists with a budget of two fifths of what is needed.
func (n *night) testParts(count int, whole summary) {
	n.t.Helper()

	var (
		budget = whole.units * 2 / 5
		all    summary
		keys   = map[string]int{}
		cursor []string
		calls  int
	)

	for more := true; more; calls++ {
		n.screen.Reset()
		n.idem(append([]string{"list", "--json", "--budget", fmt.Sprint(budget)}, cursor...)...)

		part := n.summary()
		if part.units > budget || calls > 20 { // of a small budget much is lost to rounding
			n.t.Fatalf("call %d has used %v read units of %v", calls, part.units, budget)
		}

		all.read, all.found, all.units = all.read+part.read, all.found+part.found, all.units+part.units

		for _, key := range regexp.MustCompile(`"key":"([^"]+)"`).FindAllStringSubmatch(n.lastOut, -1) {
			keys[key[1]]++
		}

		_, next, ok := strings.Cut(n.screen.String(), "and: --cursor ")
		cursor, more = []string{"--cursor", strings.TrimSpace(next)}, ok
	}

	if all.read != count || all.found != whole.found || len(keys) != whole.found {
		n.t.Errorf("%d calls with %.0f read units each found %d keys: %+v, want %+v", calls, budget, len(keys), all, whole)
	}

	n.t.Logf("%d calls with a budget of %.0f: %+v", calls, budget, all)
}

// summary is the last line of a list.
type summary struct {
	found, read int
	units       float64
}

func (n *night) summary() (s summary) {
	n.t.Helper()

	line := regexp.MustCompile(`(\d+) found among (\d+) records, ([0-9.]+) read units`).FindStringSubmatch(n.screen.String())
	if line == nil {
		n.t.Fatalf("no summary:\n%s", n.shown())
	}

	s.found, _ = strconv.Atoi(line[1])
	s.read, _ = strconv.Atoi(line[2])
	s.units, _ = strconv.ParseFloat(line[3], 64)

	return s
}

// fill writes records into the table: of each hundred one has failed, one is stuck, and the others are completed.
func (n *night) fill(count int) {
	n.t.Helper()
	n.complete("completed")
	n.fail("failed", "account anna is closed")
	n.claim("stuck", "8f6e1c1e")

	completed, failed, stuck := n.take("completed"), n.take("failed"), n.take("stuck")

	n.write(count, func(i int) map[string]types.AttributeValue {
		switch i % 100 {
		case 0:
			return failed
		case 1:
			return stuck
		default:
			return completed
		}
	})
}

// take deletes the record of a key, and returns it.
func (n *night) take(key string) map[string]types.AttributeValue {
	n.t.Helper()

	record := n.item(key)

	if _, err := n.client.DeleteItem(n.t.Context(), &dynamodb.DeleteItemInput{
		TableName: &n.table, Key: map[string]types.AttributeValue{"pk": record["pk"]},
	}); err != nil {
		n.t.Fatal(err)
	}

	return record
}

// write writes records that are like others, each with a key of its own.
func (n *night) write(count int, like func(i int) map[string]types.AttributeValue) {
	n.t.Helper()

	const atOnce, most = 8, 25

	var (
		writers sync.WaitGroup
		batches = make(chan []types.WriteRequest)
	)

	for range atOnce {
		writers.Go(func() {
			for batch := range batches {
				out, err := n.client.BatchWriteItem(n.t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{n.table: batch}})
				if err != nil || len(out.UnprocessedItems) > 0 {
					n.t.Errorf("%v, %v", out, err)
				}
			}
		})
	}

	for from := 0; from < count; from += most {
		var batch []types.WriteRequest

		for i := from; i < min(from+most, count); i++ {
			item := maps.Clone(like(i))
			item["pk"] = &types.AttributeValueMemberS{Value: fmt.Sprintf("payments#p-%06d", i)}
			batch = append(batch, types.WriteRequest{PutRequest: &types.PutRequest{Item: item}})
		}

		batches <- batch
	}

	close(batches)
	writers.Wait()
}
