package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/localstack/auditing"
)

// Five faults are planted in one table, and the operator has nothing but three commands: which payments are to be looked at, and
// why?
func TestDrillFiveFaultsInOneTable(t *testing.T) {
	t.Parallel()

	n := streaming(t)
	n.clock.Advance(time.Since(n.clock.Now()) - 2*time.Minute)
	n.complete("p-1")

	// Another program writes records, and has turned Time to Live on for its own attribute.
	n.put(map[string]types.AttributeValue{"pk": text("payments#p-2"), "status": text("DONE"), "ttl": number("1767322800")})

	if _, err := n.client.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName: &n.table, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: new("ttl"), Enabled: new(true)},
	}); err != nil {
		t.Fatal(err)
	}

	// An old item is written back over a newer one, and a person edits another one. The next deliveries run the work of both again.
	n.claim("p-3", "8f6e1c1e")
	old := n.item("p-3")
	n.complete("p-4")
	n.clock.Advance(time.Minute)
	n.complete("p-3")
	n.put(old)

	edited := n.item("p-4")
	edited["st"] = text("INPROGRESS")
	n.put(edited)
	n.complete("p-3")
	n.complete("p-4")

	n.idem("audit", "--since", "2h")
	n.expect(exitRefused, "payments#p-2 (", "payments#p-3 (", "payments#p-4 (", "VIOLATION (state)", "VIOLATION (not past its end)", "idem: violations: ")

	if strings.Contains(n.lastOut, "payments#p-1 ") {
		t.Errorf("a payment that is right is named:\n%s", n.shown())
	}

	// While the operator follows the stream, a worker whose clock is 5 s ahead claims keys. DynamoDB Local has only the minute of a
	// change.
	ahead := func() { n.clock.Advance(time.Since(n.clock.Now()) + 5*time.Second) }
	n.aws.set(func(c *cloud) {
		c.scans = 20
		c.reads = func(page int) {
			ahead()

			if _, _, err := n.store.Claim(context.WithoutCancel(t.Context()), fmt.Sprint("p-5-", page), nil); err != nil {
				t.Error(err)
			}
		}
	})
	n.idem("audit", "--follow")
	n.expect(exitRefused, "payments#p-5-", "VIOLATION (clock ahead): The clock of the worker, by born,")
	n.aws.set(func(c *cloud) { c.reads = nil })

	n.idem("check")
	n.expect(exitRefused, `FAULT  time to live: on "ttl", the records have their end in "exp"`)

	n.idem("list", "twice", "--since", "2h")
	n.expect(exitDone, "The handlers of these keys began more than once", "p-3", "p-4", "2 found")
}

// obstacle is in the way of those who read a stream of DynamoDB Local.
type obstacle struct {
	http.Handler

	pages   atomic.Int64
	disturb func(page int64, engine http.Handler, w http.ResponseWriter, r *http.Request)
}

func (o *obstacle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetRecords") {
		o.disturb(o.pages.Add(1), o.Handler, w, r)
	} else {
		o.Handler.ServeHTTP(w, r)
	}
}

// refuse answers the pages from..to with an error.
func refuse(from, to int64, kind string) func(int64, http.Handler, http.ResponseWriter, *http.Request) {
	return func(page int64, engine http.Handler, w http.ResponseWriter, r *http.Request) {
		if page < from || page > to {
			engine.ServeHTTP(w, r)
		} else {
			answer(w, http.StatusBadRequest, map[string]string{"__type": "com.amazonaws.dynamodb.v20120810#" + kind, "message": "no"})
		}
	}
}

// empty takes the content of the first change of the first page away.
func empty(page int64, engine http.Handler, w http.ResponseWriter, r *http.Request) {
	recorded := httptest.NewRecorder()
	engine.ServeHTTP(recorded, r)

	var out struct {
		Records           []map[string]any
		NextShardIterator *string `json:",omitempty"`
	}
	if err := json.Unmarshal(recorded.Body.Bytes(), &out); err != nil {
		panic(err) // DynamoDB Local answers with JSON
	}

	if page == 1 && len(out.Records) > 0 {
		delete(out.Records[0], "dynamodb")
	}

	answer(w, recorded.Code, out)
}

// Whatever is wrong with the reading of a stream is reported, and what can be read is judged all the same.
func TestAnAuditTellsWhatIsInItsWayAndGoesOn(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		disturb func(int64, http.Handler, http.ResponseWriter, *http.Request)
		code    int
		want    []string
	}{
		"two others read the shard": {
			refuse(1, 3, "LimitExceededException"), exitDone,
			[]string{"audit: 4 changes judged", "requests, because others read the stream, too. They were made again."},
		},
		"changes were deleted before they were read": {
			refuse(2, 2, "TrimmedDataAccessException"), exitRefused,
			[]string{"changes judged", "Changes are missing: shard ", "TrimmedDataAccessException", "gaps: "},
		},
		"a change has no content": {
			empty, exitRefused, []string{"audit: 3 changes judged", "Changes are missing: shard ", "has no content", "gaps: 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			engine, err := url.Parse(dynamoDBLocal(t))
			if err != nil {
				t.Fatal(err)
			}

			n := newNight(t, &obstacle{disturb: c.disturb, Handler: httputil.NewSingleHostReverseProxy(engine)})
			if err := auditing.Enable(t.Context(), n.client, n.table); err != nil {
				t.Fatal(err)
			}

			n.complete("p-8")
			n.complete("p-9")
			n.idem("audit")
			n.expect(c.code, c.want...)
		})
	}
}
