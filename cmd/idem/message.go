package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// eventFlags say how a function makes the keys of its events.
type eventFlags struct {
	paths     []string
	keyOf     string
	caller    string
	envelopes []string

	aggregated bool
}

// ofMessages finds the records of what is in a file.
func (f *finder) ofMessages(ctx context.Context, d *desk) ([]found, error) {
	content, err := f.app.content(f.message)
	if err != nil {
		return nil, err
	}

	pieces, err := f.event.pieces(content) //nolint:contextcheck // no key function of lambdawrap waits for anything
	if err != nil {
		return nil, fmt.Errorf("--message: %w", err)
	}

	var (
		all  []found
		errs []error
	)

	for _, p := range pieces {
		some, err := f.ofPiece(ctx, d, p)
		all, errs = append(all, some...), append(errs, err)
	}

	return all, errors.Join(errs...)
}

// ofPiece finds the record of a piece of work. An event may hold one without a key, which then is an error.
func (f *finder) ofPiece(ctx context.Context, d *desk, p piece) ([]found, error) {
	if p.err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, p.err)
	}

	return f.look(ctx, d, []spelling{{p.key, "the key of " + p.name}})
}

const maxMessageFile = 16 << 20

// content reads the file that --message names.
func (a *app) content(file string) ([]byte, error) {
	if file == "-" {
		return messageFrom(a.in)
	}

	opened, err := os.Open(file) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("--message: %w", err)
	}
	defer opened.Close() //nolint:errcheck // it was only read

	return messageFrom(opened)
}

// messageFrom reads a message to its end. It reads at most maxMessageFile, because a wrong file may be of any size.
func messageFrom(in io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(in, maxMessageFile+1))

	switch {
	case err != nil:
		return nil, fmt.Errorf("--message: %w", err)
	case len(content) > maxMessageFile:
		return nil, fmt.Errorf("--message: must have at most %d bytes", maxMessageFile)
	default:
		return content, nil
	}
}

// refuse returns an error that names the flags which are not for this kind of event.
func (e *eventFlags) refuse(event string, wrong map[string]bool) error {
	for _, flag := range []string{"--path", "--key", "--caller", "--aggregated"} {
		if wrong[flag] {
			return fmt.Errorf("%s: is not for %s", flag, event)
		}
	}

	return nil
}

// envelopes are the envelopes that can be opened without a client.
var envelopes = map[string]lambdawrap.EnvelopeFunc{
	"sns": lambdawrap.SNS, "eventbridge": lambdawrap.EventBridge, "s3": lambdawrap.S3, "base64": lambdawrap.Base64, "gzip": lambdawrap.Gzip,
}

// ofEnveloped returns what stands in the envelopes of messages. pick finds the key of each, as the function's Options.Key.
func (e *eventFlags) ofEnveloped(messages []events.SQSMessage, pick lambdawrap.KeyFunc) (all []piece, err error) {
	chain := make([]lambdawrap.EnvelopeFunc, len(e.envelopes))

	for i, name := range e.envelopes {
		if chain[i] = envelopes[name]; chain[i] == nil {
			return nil, fmt.Errorf("--envelope %q: must be sns, eventbridge, s3, base64 or gzip; give the key itself where there is another one", name)
		}
	}

	for _, m := range messages {
		opened, err := lambdawrap.Chain(chain...).Open(context.Background(), m)
		if err != nil {
			all = append(all, piece{name: "message " + m.MessageId, err: err})
		}

		for _, o := range opened {
			p := piece{name: "message " + o.Message.MessageId}
			if len(e.paths) == 0 && e.keyOf == "" {
				p.key, p.err = o.Key()
			} else {
				p.key, p.err = pick(context.Background(), o.Message)
			}

			all = append(all, p)
		}
	}

	return all, nil
}

// ofSQS returns the key function of messages.
func (e *eventFlags) ofSQS() (lambdawrap.KeyFunc, error) {
	if err := e.refuse("messages of SQS", map[string]bool{"--caller": e.caller != "", "--aggregated": e.aggregated}); err != nil {
		return nil, err
	}

	attribute, isAttribute := strings.CutPrefix(e.keyOf, "attribute:")

	switch {
	case len(e.paths) > 0 && e.keyOf != "":
		return nil, errors.New("--path and --key: give one of them, as the function's Options.Key")
	case len(e.paths) > 0:
		return e.body()
	case e.keyOf == "" || e.keyOf == "message-id":
		return lambdawrap.MessageID, nil
	case e.keyOf == "deduplication-id":
		return lambdawrap.DeduplicationID, nil
	case isAttribute && attribute != "":
		return lambdawrap.Attribute(attribute), nil
	default:
		return nil, fmt.Errorf("--key %q: must be message-id, deduplication-id or attribute:NAME", e.keyOf)
	}
}

// body is the key function of the paths.
func (e *eventFlags) body() (lambdawrap.KeyFunc, error) {
	pick, err := lambdawrap.Body(e.paths...)
	if err != nil {
		return nil, fmt.Errorf("--path: %w", err)
	}

	return pick, nil
}
