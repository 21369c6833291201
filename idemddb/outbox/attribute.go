package outbox

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/delivery"
)

// sequenceAttribute is the attribute that a message with a Sequence gets, beside that of its id.
const sequenceAttribute = "idemddb-sequence"

// attribute is a message attribute of SQS and SNS.
type attribute struct{ name, dataType, value string }

// attributes returns the caller's attributes and then the library's own. The library's own attributes come last, so that they
// replace others of the same name.
func attributes(m idemddb.Message) []attribute {
	as := make([]attribute, 0, len(m.Attributes)+2)
	for name, value := range m.Attributes {
		as = append(as, attribute{name, "String", value})
	}

	as = append(as, attribute{delivery.IDAttribute, "String", m.ID})

	if m.Sequence != 0 {
		as = append(as, attribute{sequenceAttribute, "Number", strconv.FormatInt(m.Sequence, 10)})
	}

	return as
}

// messageSize is what SQS and SNS count of a message: its body and the names, types and values of its attributes.
func messageSize(m idemddb.Message) int {
	size := len(m.Body)
	for _, a := range attributes(m) {
		size += len(a.name) + len(a.dataType) + len(a.value)
	}

	return size
}

// groupIDs are the message group id and the deduplication id of a message of SQS and SNS; nil for none.
func groupIDs(m idemddb.Message, fifo bool) (groupID, deduplicationID *string) {
	switch {
	case fifo:
		return aws.String(group(m)), aws.String(m.ID)
	case m.Group != "":
		return aws.String(m.Group), nil
	default:
		return nil, nil
	}
}
