// Package middleware stands in for the real one.
package middleware

import "github.com/ThreeDotsLabs/watermill/message"

type Deduplicator struct{}

func (*Deduplicator) Middleware(h func(*message.Message) error) func(*message.Message) error {
	return h
}
