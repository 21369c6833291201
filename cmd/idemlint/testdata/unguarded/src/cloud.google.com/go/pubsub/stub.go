// Package pubsub stands in for the real one.
package pubsub

import "context"

type (
	Subscription struct{}
	Message      struct{ Data []byte }
)

func (*Subscription) Receive(ctx context.Context, f func(context.Context, *Message)) error {
	return nil
}
func (*Message) Ack() {}
