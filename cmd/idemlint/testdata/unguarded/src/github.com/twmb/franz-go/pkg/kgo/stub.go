// Package kgo stands in for the real one.
package kgo

import "context"

type (
	Client  struct{}
	Record  struct{ Value []byte }
	Fetches []Record
)

func (*Client) PollFetches(context.Context) Fetches { return nil }
func (f Fetches) EachRecord(func(*Record))          {}
