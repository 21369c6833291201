package queue

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
)

// DeadLetter is the queue to which messages are sent as they were, with attributes that say why. It is safe for concurrent use.
type DeadLetter struct {
	send    sendMessage
	url     string
	fifo    bool
	invalid error // what is wrong with url; answered to every call, so that no message is lost
}

// sendMessage is the method of the SDK's client.
type sendMessage = func(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)

// NewDeadLetter returns the queue with this URL.
func NewDeadLetter(send sendMessage, queueURL string) *DeadLetter {
	return &DeadLetter{send: send, url: queueURL, fifo: strings.HasSuffix(queueURL, ".fifo"), invalid: CheckURL(queueURL)}
}

// Send sends a message. After an error the message may be in the queue all the same.
func (q *DeadLetter) Send(ctx context.Context, m events.SQSMessage, cause error) error {
	if q.invalid != nil {
		return q.invalid
	}

	bare, err := q.bare(m)
	if err != nil {
		return err
	}

	full := explained(bare, m, cause)
	if _, err = q.send(ctx, full); !isInvalid(err) {
		return err
	}

	// SQS may have rejected an attribute or the size that explained added. Send the message again without them, so that it does not
	// fail on every delivery.
	if _, again := q.send(ctx, bare); again != nil {
		return errors.Join(err, again)
	}

	return nil
}

// isInvalid reports whether SQS refused a parameter of the request.
func isInvalid(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)

	return ok && strings.HasPrefix(api.ErrorCode(), "InvalidParameterValue") // the protocol's own name of the error ends with Exception
}
