// Package idemddb stands in for the real one.
package idemddb

import "context"

type (
	Store        struct{}
	Claim        struct{}
	Record       struct{}
	ClaimOptions struct{}
)

func Run(ctx context.Context, s *Store, key string, o *ClaimOptions, work func(context.Context, *Claim) ([]byte, error)) (*Record, error) {
	return nil, nil
}
