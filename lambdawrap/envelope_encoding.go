package lambdawrap

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// Base64 is an [EnvelopeFunc] for bodies in base64, with the standard or the URL-safe alphabet, with padding or without. It has
// no ID. What stands in it may be no UTF-8. A body that is not in base64, is empty, or holds more than EnvelopeLimits.Bytes is
// [ErrNoKey].
func Base64(ctx context.Context, m events.SQSMessage) ([]Enveloped, error) {
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(m.Body, "-_") {
		encoding = base64.RawURLEncoding
	}

	body, err := encoding.DecodeString(strings.TrimRight(strings.TrimSpace(m.Body), "="))

	switch {
	case err != nil:
		return nil, notOpened("Base64", "it is not in base64")
	case len(body) == 0:
		return nil, notOpened("Base64", "it is empty")
	case int64(len(body)) > limitsOf(ctx).Bytes:
		return nil, errTooMuch(limitsOf(ctx).Bytes)
	}

	return []Enveloped{{Message: held(m, string(body), m.MessageAttributes)}}, nil
}

// Gzip is an [EnvelopeFunc] for compressed bodies. A queue takes text only, so it stands behind [Base64] or [S3Pointer] in a
// [Chain]. It has no ID. It stops at EnvelopeLimits.Bytes. A body that is larger, empty, damaged or no gzip is [ErrNoKey].
func Gzip(ctx context.Context, m events.SQSMessage) ([]Enveloped, error) {
	const name = "Gzip"

	reader, err := gzip.NewReader(strings.NewReader(m.Body))
	if err != nil {
		return nil, notOpened(name, "it does not begin as one")
	}

	body, err := readUpTo(reader, limitsOf(ctx).Bytes)

	switch {
	case errors.Is(err, ErrNoKey):
		return nil, err
	case err != nil:
		return nil, notOpened(name, "it is damaged or ends early")
	case body == "":
		return nil, notOpened(name, "it is empty")
	}

	return []Enveloped{{Message: held(m, body, m.MessageAttributes)}}, nil
}

// readUpTo reads all of what a reader has, and stops at the first byte beyond the limit.
func readUpTo(reader io.Reader, limit int64) (string, error) {
	var body bytes.Buffer

	switch n, err := io.Copy(&body, io.LimitReader(reader, max(limit, limit+1))); { // limit+1 overflows for the largest limit
	case err != nil:
		return "", fmt.Errorf("lambdawrap: envelope: %w", err)
	case n > limit:
		return "", errTooMuch(limit)
	default:
		return body.String(), nil
	}
}
