package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/tablestream"
)

// options are those of the workers, as far as the command line has them.
func (u *auditRun) options(d *desk) audit.Options {
	f := &u.app.flags
	o := audit.Options{
		PartitionKey: f.partitionKey, SortKey: f.sortKey, TTLAttribute: f.ttlAttribute, Namespaces: u.namespaces,
		ClockSkew: f.clockSkew, Retention: f.retention, Lease: u.lease, Resolution: u.resolution, OldWorkers: u.oldWorkers,
	}

	if len(o.Namespaces) == 0 && f.namespace != "" {
		o.Namespaces = []string{f.namespace}
	}

	switch {
	case o.Resolution != 0:
	case isOfAWS(d.client.Options().BaseEndpoint):
		o.Resolution = time.Second
	case u.follow:
		o.Resolution = tablestream.Fresh + time.Second/2 // the time of arrival, by a Date that was cut to seconds
	default:
		o.Resolution = time.Minute // DynamoDB Local cuts the times to minutes, and so does what is built on it
	}

	return o
}

// isOfAWS reports whether an endpoint is one of AWS; nil is the default one.
func isOfAWS(endpoint *string) bool {
	return endpoint == nil || strings.Contains(*endpoint, "amazonaws.com")
}

// streamsOf returns a client for the streams of the tables of the desk. DynamoDB Local and LocalStack have both at one endpoint.
func streamsOf(d *desk) *dynamodbstreams.Client {
	return dynamodbstreams.NewFromConfig(d.config, func(o *dynamodbstreams.Options) {
		if tables := d.client.Options().BaseEndpoint; o.BaseEndpoint == nil && !isOfAWS(tables) {
			o.BaseEndpoint = tables
		}
	})
}

// reading says where the reading begins and ends, by the service's clock.
func (u *auditRun) reading(d *desk) *tablestream.Options {
	off, _ := d.clock.offset()
	clock := func() time.Time { return time.Now().Add(-off) }
	now := clock()
	o := &tablestream.Options{Budget: u.budget, Progress: u.progress()}

	if u.follow && u.resolution == 0 && !isOfAWS(d.client.Options().BaseEndpoint) {
		o.Clock = clock
	}

	if u.since > 0 {
		o.Since = now.Add(-u.since)
	}

	if !u.follow {
		o.Until, o.Quiet = now, u.quiet

		if o.Budget == 0 {
			o.Budget = defaultPages
		}
	}

	return o
}

// judge judges a change, unless it is of a key that was not asked for.
func (u *auditRun) judge(c tablestream.Change) error {
	partition := u.partition(c)
	if !u.isWanted(partition) {
		return nil
	}

	verdict := u.checker.Check(audit.Change(c))
	if len(verdict.Violations) == 0 {
		return nil
	}

	return u.violation(&verdict)
}

// partition is the partition key of the item that was changed; "" if it is no string.
func (u *auditRun) partition(c tablestream.Change) string {
	name := u.app.flags.partitionKey
	if name == "" {
		name = "pk"
	}

	if c.After != nil {
		return record.TextOf(c.After[name])
	}

	return record.TextOf(c.Before[name])
}

func (u *auditRun) isWanted(partition string) bool {
	switch {
	case u.wanted != nil:
		_, isWanted := u.wanted[partition]

		return isWanted
	case u.hash != "":
		_, key, _ := strings.Cut(partition, "#")
		if record.StoredKeyHash(key) != u.hash[:record.HashLength] {
			return false
		}

		u.stories = appendNew(u.stories, partition)

		return true
	default:
		return true
	}
}

// mostKeys is how many keys with violations have their stories printed. All violations are counted, and --json has each.
const mostKeys = 100

// violation prints a violation at once where nobody waits for the end, and else keeps its key, so that its story is printed once.
func (u *auditRun) violation(v *audit.Verdict) error {
	if u.app.flags.json {
		return u.printer.violationJSON(v, u.checker.Story(v.Partition))
	}

	if u.follow {
		u.printer.story(v.Partition, u.checker.Story(v.Partition))

		return nil
	}

	if len(u.found) < mostKeys {
		u.found = appendNew(u.found, v.Partition)
	}

	return nil
}

// progress shows how far the reading is, at most once a second.
func (u *auditRun) progress() func(tablestream.Result) {
	last := time.Now()

	return func(r tablestream.Result) {
		if time.Since(last) < time.Second {
			return
		}

		last = time.Now()
		text := fmt.Sprintf("read %d changes in %d requests", r.Changes+r.Skipped, r.Requests)

		if !r.Last.IsZero() {
			text += ", up to " + r.Last.UTC().Format("2006-01-02 15:04:05Z")
		}

		u.app.sayf("%s, %d violations", text, u.checker.Report().Violations)
	}
}

func appendNew(all []string, text string) []string {
	if slices.Contains(all, text) {
		return all
	}

	return append(all, text)
}
