package lambdawrap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/strictjson"
)

// GetObjectAPI is what [S3Pointer] needs of S3; *s3.Client fits. It must be safe for concurrent use. Its own retries are used.
type GetObjectAPI interface {
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
}

// S3Pointer returns an [EnvelopeFunc] for queues whose producers use the extended client libraries of SQS and SNS: a large body
// is an object of S3, and the message is a pointer to it. Each delivery costs one GetObject for it. A body that is no pointer,
// because it is small, passes as it is, without an ID. ID is the bucket and the key of the object, which the client library makes
// anew for each message. A producer that chooses the object's key, by the message attribute S3Key, may choose one again for
// another body, so such a message has no ID.
//
// An object that is gone (NoSuchKey) never comes back: that is [ErrNoKey]. So are an object of more than EnvelopeLimits.Bytes and
// a pointer that cannot be read. Every other failure may pass: the message comes back. Without s3:ListBucket on the bucket S3
// answers with 403 also for an object that is gone; the role needs it, beside s3:GetObject. The producer names the bucket, so let
// the role read no other one.
//
// Nobody deletes the object, because the message may come back after it was worked on: give the bucket a lifecycle rule that
// expires objects when no message can point to them any more. S3Pointer panics for a nil api.
func S3Pointer(api GetObjectAPI) EnvelopeFunc {
	if panicerror.IsNil(api) {
		panic("lambdawrap: S3Pointer: api: must not be nil")
	}

	return func(ctx context.Context, m events.SQSMessage) ([]Enveloped, error) {
		p, err := pointerOf(m)

		switch {
		case err != nil:
			return nil, err
		case p == nil:
			return []Enveloped{{Message: m}}, nil
		}

		body, err := p.fetch(ctx, api, limitsOf(ctx).Bytes)
		if err != nil {
			return nil, err
		}

		attributes := maps.Clone(m.MessageAttributes)
		for _, name := range sizeAttributes {
			delete(attributes, name)
		}

		return []Enveloped{{Message: held(m, body, attributes), Name: pointerName, ID: p.idIn(m)}}, nil
	}
}

// A body with one of these class names is a pointer, and the message has one of these attributes. The second of each list is that
// of older extended clients.
var (
	pointerClasses = []string{"software.amazon.payloadoffloading.PayloadS3Pointer", "com.amazon.sqs.javamessaging.MessageS3Pointer"}
	sizeAttributes = []string{"ExtendedPayloadSize", "SQSLargePayloadSize"}
)

const (
	pointerName  = "S3Pointer"
	keyAttribute = "S3Key" // by which a producer chooses the key of the object
)

// pointer is where the body of a message is.
type pointer struct{ Bucket, Key string }

// idIn returns what names the body of a message; "" if another message may name another body by it.
func (p *pointer) idIn(m events.SQSMessage) string {
	if _, isChosen := m.MessageAttributes[keyAttribute]; isChosen {
		return ""
	}

	return p.Bucket + "/" + p.Key
}

// pointerOf returns where the body of a message is; nil if the message itself has it.
func pointerOf(m events.SQSMessage) (*pointer, error) {
	isMarked := slices.ContainsFunc(sizeAttributes, func(name string) bool { _, ok := m.MessageAttributes[name]; return ok })

	var pair []json.RawMessage
	if json.Unmarshal([]byte(m.Body), &pair) == nil && len(pair) == 2 { // the class and its value
		if class, _ := strictjson.Text(string(pair[0])); slices.Contains(pointerClasses, class) {
			return readPointer(pair[1])
		}
	}

	if isMarked {
		return nil, notOpened(pointerName, "the message has the attribute of a body in S3, and its body is no pointer")
	}

	return nil, nil //nolint:nilnil // neither
}

func readPointer(raw json.RawMessage) (*pointer, error) {
	value, err := membersOf(string(raw))
	if err != nil {
		return nil, notOpened(pointerName, "%w", err)
	}

	bucket, errBucket := value.text("s3BucketName")
	key, errKey := value.text("s3Key")

	switch {
	case errors.Join(errBucket, errKey) != nil:
		return nil, notOpened(pointerName, "%w", errors.Join(errBucket, errKey))
	case bucket == "" || key == "" || strings.Contains(bucket, "/"):
		return nil, notOpened(pointerName, "its s3BucketName is no bucket, or its s3Key is empty")
	}

	return &pointer{bucket, key}, nil
}

// fetch reads the object. The error of an object that is gone wraps ErrNoKey.
func (p *pointer) fetch(ctx context.Context, api GetObjectAPI, limit int64) (string, error) {
	out, err := api.GetObject(ctx, &s3.GetObjectInput{Bucket: &p.Bucket, Key: &p.Key})
	if err != nil {
		answer, isAnswer := errors.AsType[smithy.APIError](err)

		switch {
		case isAnswer && answer.ErrorCode() == "NoSuchKey":
			return "", notOpened(pointerName, "the object that it points to is gone: %w", err)
		case isAnswer && answer.ErrorCode() == "AccessDenied":
			return "", fmt.Errorf("lambdawrap: S3Pointer: access denied; the role needs s3:GetObject on the objects, and s3:ListBucket on the bucket, "+
				"without which an object that is gone is denied, too: %w", err)
		default:
			return "", fmt.Errorf("lambdawrap: S3Pointer: %w", err)
		}
	}

	defer out.Body.Close() //nolint:errcheck // it was only read

	if aws.ToInt64(out.ContentLength) > limit {
		return "", errTooMuch(limit)
	}

	body, err := readUpTo(out.Body, limit)
	if err != nil {
		return "", err
	}

	return body, nil
}
