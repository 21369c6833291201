package tablestream

import (
	"errors"
	"fmt"
	"time"
)

// Options say where a reading begins and when it ends.
type Options struct {
	// Since leaves out the changes that were made before it, but for those of its own minute, because DynamoDB Local knows no finer
	// times. Where the service does not begin at a time (DynamoDB Local), the reading begins at the oldest change, and passes them
	// over. Defaults to none: everything that the stream has.
	Since time.Time

	// Until ends the reading of a shard at the first change that was made after it, so that the reading of a table that is in use
	// ends. Defaults to none.
	Until time.Time

	// Quiet ends the reading when no shard had anything new for so long. That is no proof that all was read, because DynamoDB
	// promises no time after which a change is in the stream. Defaults to 0: the reading ends when the stream is disabled and read to
	// its last change.
	Quiet time.Duration

	// Clock is for DynamoDB Local, which cuts the times of changes to minutes, but has each change in its stream at once. If it is
	// set, the time of a change is what Clock returns when the change is read, if all others of the shard were read at most Fresh
	// before. Otherwise it is zero. Defaults to none: the times are those of the stream.
	Clock func() time.Time

	// Budget is how many pages the reading may ask for (GetRecords). It then ends with ErrBudget. Defaults to 0: no limit.
	Budget int

	// Progress is called after each page. Defaults to none.
	Progress func(Result)
}

// Fresh is how much later than it was made a change may be read, to get the time of Options.Clock.
const Fresh = 2 * pause

// ErrBudget is the error of a reading that has asked for as many pages as it may, before it came to its end.
var ErrBudget = errors.New("the budget ended before the stream was read to its end")

// Result is what became of a reading.
type Result struct {
	Changes   int       // that were handed on
	Skipped   int       // that were made before Options.Since
	Shards    int       // that were found
	Requests  int       // pages that were asked for
	Throttled int       // of them, that were refused because others read the same shard; they were asked for again
	Last      time.Time // of the latest change that was handed on
	Begun     time.Time // when the stream was enabled; an earlier stream of the table is not read; zero: the service does not say
	Gaps      []Gap     // changes that were in the stream and could not be read
	Complete  bool      // the stream is disabled and was read to its last change; false after Options.Quiet and Options.Until
}

// Gap is a place where changes are missing that the stream had when the reading began, or has had since.
type Gap struct {
	Shard string
	After string // the sequence number of the last change that was read from the shard; empty: none was
	Err   error  // what DynamoDB answered
}

func (g Gap) String() string {
	return fmt.Sprintf("shard %s, after the sequence number %q: %v", g.Shard, g.After, g.Err)
}
