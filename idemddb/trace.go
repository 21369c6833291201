package idemddb

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// maxTrace is the longest text of Options.Trace that is kept, in bytes. A traceparent of W3C Trace Context has 55.
const maxTrace = 128

// trace returns the text of Options.Trace for one call, or "" if there is none to keep. A panic of it is no text: the key matters more.
func (s *Store) trace(ctx context.Context) (text string) {
	if s.opts.Trace == nil {
		return ""
	}

	defer func() {
		if recover() != nil {
			text = ""
		}
	}()

	return keptTrace(s.opts.Trace(ctx))
}

// keptTrace returns the text if a record may hold it, else "".
func keptTrace(text string) string {
	if len(text) > maxTrace {
		return ""
	}

	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return ""
		}
	}

	return text
}

// traceAt reads a traceparent from a record. Whatever else stands there is none: it must not make the record unreadable.
func traceAt(stored item, name string) string {
	text, ok := stored[name].(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}

	return keptTrace(text.Value)
}

// traced returns update if Options.Trace is set, else "".
func (s *Store) traced(update string) string {
	if s.opts.Trace == nil {
		return ""
	}

	return update
}

// takenFrom keeps the traceparent that the claim before had, if the claim is a takeover.
func (a *acquisition) takenFrom(trace string) {
	if a.store.opts.Trace != nil && a.claim != nil && a.claim.takeover {
		a.claim.takenFrom = trace
	}
}
