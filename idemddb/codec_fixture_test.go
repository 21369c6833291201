package idemddb_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// vault is a Codec that seals with its first key, and opens what any of them sealed. It works in place, as an AEAD may.
type vault struct {
	keys   []string
	onSeal func(ctx context.Context, of idemddb.Sealed) error // nil for success
	onOpen func(ctx context.Context, of idemddb.Sealed) error

	opened int
}

func (v *vault) Seal(ctx context.Context, plain []byte, of idemddb.Sealed) ([]byte, error) {
	if v.onSeal != nil {
		if err := v.onSeal(ctx, of); err != nil {
			return nil, err
		}
	}

	nonce := make([]byte, 12)
	_, _ = rand.Read(nonce)
	sealed := aead(v.keys[0]).Seal(plain[:0], nonce, plain, of.AssociatedData())

	return append(append([]byte(v.keys[0]+":"), nonce...), sealed...), nil
}

func (v *vault) Open(ctx context.Context, sealed []byte, of idemddb.Sealed) ([]byte, error) {
	v.opened++

	if v.onOpen != nil {
		if err := v.onOpen(ctx, of); err != nil {
			return nil, err
		}
	}

	for _, key := range v.keys {
		if rest, ok := bytes.CutPrefix(sealed, []byte(key+":")); ok {
			return aead(key).Open(rest[12:12], rest[:12], rest[12:], of.AssociatedData())
		}
	}

	return nil, errUnknownKey
}

var errUnknownKey = errors.New("sealed with a key that is not known here")

func aead(key string) cipher.AEAD {
	block, err := aes.NewCipher([]byte(strings.Repeat(key, 32)[:32]))
	if err != nil {
		panic(err)
	}

	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}

	return gcm
}

// eachSealed is eachOutside with a Codec of its own for each way.
func eachSealed(t *testing.T, opts idemddb.Options, check func(f *fixture, codec *vault, kept *shelf, complete func([]byte) error)) {
	t.Helper()

	eachCompletion(t, func() *idemddb.Options {
		o := opts
		o.Results, o.Codec = &shelf{}, &vault{keys: []string{"a"}}

		return &o
	}, func(f *fixture, complete func([]byte) error) {
		kept, _ := f.store.Options().Results.(*shelf)
		codec, _ := f.store.Options().Codec.(*vault)
		check(f, codec, kept, complete)
	})
}

// marker stands in each result and message of the tests, and must not stand anywhere else.
const marker = "Zyx-secret-Wvu"

// watchStored demands that nothing which is ever stored holds the marker.
func watchStored(t testing.TB, db *idemddbtest.DB) {
	t.Helper()
	db.OnChange(func(c idemddbtest.Change) {
		for name, value := range c.After {
			if text := everything(value); strings.Contains(text, marker) {
				t.Errorf("stored in %s: %q", name, text)
			}
		}
	})
}

// everything returns all texts and bytes of an attribute.
func everything(value types.AttributeValue) string {
	var all strings.Builder

	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		all.WriteString(v.Value)
	case *types.AttributeValueMemberN:
		all.WriteString(v.Value)
	case *types.AttributeValueMemberB:
		all.Write(v.Value)
	case *types.AttributeValueMemberL:
		for _, element := range v.Value {
			all.WriteString(everything(element))
		}
	case *types.AttributeValueMemberM:
		for _, name := range slices.Sorted(maps.Keys(v.Value)) {
			all.WriteString(name + everything(v.Value[name]))
		}
	}

	return all.String()
}

// noMarker demands that an error and the events do not hold the marker, in any way to print them.
func (l *eventLog) noMarker(t testing.TB, errs ...error) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()

	for _, e := range l.events {
		errs = append(errs, e.Err)
	}

	for _, err := range errs {
		if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, marker) {
			t.Errorf("an error holds what is sealed: %s", text)
		}
	}
}
