// Package amqp091 stands in for the real one.
package amqp091

import "context"

type (
	Channel  struct{}
	Delivery struct{ Body []byte }
	Table    map[string]any
)

func (*Channel) ConsumeWithContext(ctx context.Context, queue, consumer string, autoAck, exclusive, noLocal, noWait bool, args Table) (<-chan Delivery, error) {
	return nil, nil
}
