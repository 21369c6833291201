// Package results keeps large results in S3, for Options.Results of package idemddb.
//
//	opts := &idemddb.Options{Results: results.S3(s3.NewFromConfig(cfg), bucket)}
//
// A result of more than 32 KB (idemddb.Options.InlineResult) is put into the bucket before the completion of its key is written.
// The record then holds the name, the length and the SHA-256 of the object, and a replay reads the object and compares it with
// them. So the record decides which object counts: a process that dies between the two writes leaves an object that nobody names.
//
// # The bucket
//
// An object must live for longer than its record: a lifecycle rule that expires objects needs more days than Options.Retention,
// and records of keys that failed or are never asked for again need nothing. Objects are never deleted by this package. Their
// names begin with the namespace of the Store and a slash, so that a rule or a policy can name them by that prefix.
//
// The role needs s3:PutObject and s3:GetObject on the objects, and s3:ListBucket on the bucket. Without s3:ListBucket, S3 answers
// a read of an object that is gone with 403 instead of 404: every replay of it is then an error instead of "done, result not
// kept".
package results

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/panicerror"
)

// S3API is what [S3] needs of S3; *s3.Client fits. It must be safe for concurrent use. Its own retries are used.
type S3API interface {
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
}

// S3 returns an idemddb.Results that keeps each result as an object of a bucket. It is safe for concurrent use. A Put costs one
// PutObject and a replay one GetObject. The objects are encrypted as the bucket says.
//
// An object that is gone (NoSuchKey) is idemddb.ErrResultOmitted. Every other error of a read, as a bucket that is missing, an
// access that is denied or an object in an archive, is an error of the replay, because it can be mended.
//
// A bucket without a name is an error of every call. S3 panics for a nil api, also for a nil pointer.
func S3(api S3API, bucket string) idemddb.Results {
	if panicerror.IsNil(api) {
		panic("results: S3: api: must not be nil")
	}

	return &bucketOf{api, bucket}
}

type bucketOf struct {
	api  S3API
	name string
}

var errNoBucket = errors.New("results: S3: bucket: must not be empty")

// Put implements idemddb.Results.
func (b *bucketOf) Put(ctx context.Context, name string, result []byte) error {
	if b.name == "" {
		return errNoBucket
	}

	_, err := b.api.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.name, Key: &name, Body: bytes.NewReader(result), ContentLength: aws.Int64(int64(len(result))),
		ContentType: aws.String("application/octet-stream"),
	})
	if err != nil {
		return fmt.Errorf("results: bucket %q: %w", b.name, explain(err))
	}

	return nil
}

// Get implements idemddb.Results.
func (b *bucketOf) Get(ctx context.Context, name string) ([]byte, error) {
	if b.name == "" {
		return nil, errNoBucket
	}

	out, err := b.api.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: &name})
	if _, isGone := errors.AsType[*types.NoSuchKey](err); isGone {
		return nil, fmt.Errorf("results: bucket %q: %w: %w", b.name, idemddb.ErrResultOmitted, err)
	}

	if err != nil {
		return nil, fmt.Errorf("results: bucket %q: %w", b.name, explain(err))
	}

	defer out.Body.Close() //nolint:errcheck // what was read is compared with the record

	result, err := io.ReadAll(out.Body)
	if err != nil {
		return nil, fmt.Errorf("results: bucket %q: %w", b.name, err)
	}

	return result, nil
}

// explain adds to an access that was denied what the role needs.
func explain(err error) error {
	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() == "AccessDenied" {
		return fmt.Errorf("access denied; the role needs s3:PutObject and s3:GetObject on the objects, and s3:ListBucket on the bucket, "+
			"without which an object that is gone is denied, too: %w", err)
	}

	return err
}
