package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/idemddb/go-idemddb/localstack/auditing"
)

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
