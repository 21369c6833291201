// Package stripe stands in for the real one.
package stripe

type (
	PaymentIntent       struct{}
	PaymentIntentParams struct{ Amount int64 }
)

func (*PaymentIntentParams) SetIdempotencyKey(string) {}
