// Package nats stands in for the real one.
package nats

type (
	Conn         struct{}
	Msg          struct{ Data []byte }
	Subscription struct{}
	JetStream    interface {
		Subscribe(subject string, h func(*Msg)) (*Subscription, error)
	}
)

func (*Conn) Subscribe(subject string, h func(*Msg)) (*Subscription, error) { return nil, nil }
