package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// table checks the schema. It returns false if there is no such table.
func (c *checking) table(ctx context.Context) bool {
	out, err := c.desk.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: new(c.desk.store.Table())})
	if err != nil {
		if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
			c.addf("table", fault, "%q does not exist in this account and Region (%s)", c.desk.store.Table(), c.desk.config.Region)

			return false
		}

		c.unasked("table", err)

		return true
	}

	c.clock()
	c.key(out.Table)
	c.index(out.Table)
	c.replication(out.Table)
	c.restored(out.Table)
	c.stream(out.Table)

	return true
}

// replication adds what the table's replicas mean for its records. Claims in one Region are safe in a global table of eventual
// consistency. One of strong consistency refuses transactions, and has no Time to Live.
func (c *checking) replication(t *types.TableDescription) {
	switch {
	case t.MultiRegionConsistency == types.MultiRegionConsistencyStrong:
		c.addf("replicas", fault, "the table has multi-Region strong consistency (MRSC), and DynamoDB then has neither transactions nor Time to Live: "+
			"staged effects and messages are refused, and records are never deleted. Use a table for the records that has no replicas, or eventual consistency")
	case len(t.Replicas) > 0:
		c.addf("replicas", note, "the table is replicated to %s; claim a key in one Region only, because the conditions hold within one Region",
			regions(t.Replicas))
	}
}

func regions(replicas []types.ReplicaDescription) string {
	names := make([]string, len(replicas))
	for i := range replicas {
		names[i] = aws.ToString(replicas[i].RegionName)
	}

	return strings.Join(names, ", ")
}

// restored says what a restored table lacks. The records are those of the backup, so the work that was done after it has none.
func (c *checking) restored(t *types.TableDescription) {
	r := t.RestoreSummary
	if r == nil {
		return
	}

	source := sourceName(aws.ToString(r.SourceTableArn))
	if source == "" {
		source = "a backup"
	}

	if aws.ToBool(r.RestoreInProgress) {
		c.addf("restore", fault, "the table is being restored from %s: let no worker use it yet", source)

		return
	}

	c.addf("restore", note, "restored from %s as it was at %s: work that was done after that has no record here, and runs again when it is asked for; "+
		"the new table began with Time to Live, its stream and point-in-time recovery off", source, moment(aws.ToTime(r.RestoreDateTime), time.Now()))

	c.wasRestored = true
}

// stream says whether idem audit can read the table's changes. The workers need no stream.
func (c *checking) stream(t *types.TableDescription) {
	switch s := t.StreamSpecification; {
	case s == nil || !aws.ToBool(s.StreamEnabled):
		c.addf("stream", fine, "off; the library needs none, and idem audit needs one with NEW_AND_OLD_IMAGES")
	case s.StreamViewType == types.StreamViewTypeNewAndOldImages:
		c.addf("stream", note, "on, %s; the library needs none, and idem audit reads it", s.StreamViewType)
	default:
		c.addf("stream", note, "on, %s; the library needs none, and idem audit needs NEW_AND_OLD_IMAGES", s.StreamViewType)
	}
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
		if c.unsentIndex(&ix, keyText(ix.KeySchema, t.AttributeDefinitions), want) {
			return
		}

		names = append(names, aws.ToString(ix.IndexName))
	}

	if want != "" {
		c.addf("index", fault, "%q is missing; there are: %s", want, strings.Join(names, ", "))
	} else {
		c.addf("index", note, "there is none for unsent messages; without one, idem and the sweep read the whole table to find them")
	}
}

// unsentIndex checks an index if it is the one of the unsent messages, by its name, or by its keys if no name is wanted. It
// returns false for any other index, which needs no finding.
func (c *checking) unsentIndex(ix *types.GlobalSecondaryIndexDescription, got, want string) bool {
	const keys = "due_ns:HASH:S due:RANGE:N"

	name := aws.ToString(ix.IndexName)
	isActive := ix.IndexStatus == "" || ix.IndexStatus == types.IndexStatusActive

	switch {
	case want == "" && got == keys:
		c.expect("index", isActive, fmt.Sprintf("%q finds the unsent messages; idem list unsent needs --unsent-index %s", name, name),
			fmt.Sprintf("%q is %s, must be ACTIVE", name, ix.IndexStatus))
	case name == want:
		c.expect("index", got == keys && isActive, fmt.Sprintf("%q finds the unsent messages", want),
			fmt.Sprintf("%q has %q and is %s, must be %q and ACTIVE", want, got, ix.IndexStatus, keys))
	default:
		return false
	}

	return true
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
		c.unasked("clock", errors.New("the answer has no Date"))

		return
	}

	c.expect("clock", !wrong, fmt.Sprintf("within %v of the service's, whose Date has whole seconds; ClockSkew is %v", off.Abs(), skew),
		fmt.Sprintf("off by about %v, more than the ClockSkew of %v: two workers can hold a key at once; set this machine's clock", off, skew))
}

func (c *checking) timeToLive(ctx context.Context) {
	want := c.desk.store.Options().TTLAttribute

	out, err := c.desk.client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: new(c.desk.store.Table())})
	if err == nil && out.TimeToLiveDescription == nil {
		err = errors.New("the answer has no description")
	}

	if err != nil {
		c.unasked("time to live", err)

		return
	}

	c.timeToLiveIsOn(out.TimeToLiveDescription, want)
}

// timeToLiveIsOn adds a fault unless Time to Live is on for the attribute of the records, because DynamoDB then never deletes a
// record.
func (c *checking) timeToLiveIsOn(d *types.TimeToLiveDescription, want string) {
	name := aws.ToString(d.AttributeName)
	isOn := d.TimeToLiveStatus == types.TimeToLiveStatusEnabled || d.TimeToLiveStatus == types.TimeToLiveStatusEnabling

	switch {
	case isOn && name == want:
		c.addf("time to live", fine, "on %q, %s", name, d.TimeToLiveStatus)
	case isOn:
		c.addf("time to live", fault, "on %q, the records have their end in %q: they are never deleted. To mend it: idem ttl", name, want)
	case c.wasRestored:
		c.addf("time to live", fault, "%s: a restore leaves it off, and records are never deleted. To mend it: idem ttl", d.TimeToLiveStatus)
	default:
		c.addf("time to live", fault, "%s: records are never deleted. To mend it: idem ttl", d.TimeToLiveStatus)
	}
}
