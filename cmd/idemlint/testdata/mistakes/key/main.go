// Package key has keys that do not come from the message.
package key

import (
	"context"
	"crypto/rand"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

var constant = &lambdawrap.Options{Key: func(context.Context, events.SQSMessage) (string, error) {
	return "payment", nil // want `this key function returns a constant`
}}

func source(_ context.Context, e events.EventBridgeEvent) (string, error) {
	if e.ID == "" {
		return "", lambdawrap.ErrNoKey
	}

	return e0, nil // want `this key function returns a constant`
}

const e0 = "event"

func options() *lambdawrap.FuncOptions[events.EventBridgeEvent] {
	opts := &lambdawrap.FuncOptions[events.EventBridgeEvent]{}
	opts.Key = source

	return opts
}

var fresh = lambdawrap.StreamOptions[events.KinesisEventRecord]{Key: func(_ context.Context, r events.KinesisEventRecord) (string, error) {
	return rand.Text(), nil // want `this key function does not look at its message`
}}
