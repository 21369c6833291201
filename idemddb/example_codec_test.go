package idemddb_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"

	"github.com/idemddb/go-idemddb/idemddb"
)

// keyring is a Codec that seals with AES-GCM. The name of the key stands before what it has sealed, so that keys can be rotated.
type keyring struct {
	seals string // the name of the key that seals
	keys  map[string]cipher.AEAD
}

// newKeyring takes the keys, such as from AWS Secrets Manager, of which the first one seals.
func newKeyring(names ...string) *keyring {
	k := &keyring{names[0], map[string]cipher.AEAD{}}

	for _, name := range names {
		secret := bytes.Repeat([]byte(name), 32)[:32] // for the example; a real one is random

		block, err := aes.NewCipher(secret)
		if err != nil {
			panic(err)
		}

		if k.keys[name], err = cipher.NewGCMWithRandomNonce(block); err != nil {
			panic(err)
		}
	}

	return k
}

func (k *keyring) Seal(_ context.Context, plain []byte, of idemddb.Sealed) ([]byte, error) {
	return k.keys[k.seals].Seal([]byte(k.seals+":"), nil, plain, of.AssociatedData()), nil
}

func (k *keyring) Open(_ context.Context, sealed []byte, of idemddb.Sealed) ([]byte, error) {
	name, rest, _ := bytes.Cut(sealed, []byte(":"))

	key, isKnown := k.keys[string(name)]
	if !isKnown {
		return nil, errors.New("sealed with a key that is not known here")
	}

	return key.Open(nil, nil, rest, of.AssociatedData())
}

// The record holds nothing that can be read without the key. A key is rotated by a keyring that opens both.
func ExampleCodec() {
	ctx := context.Background()
	store, aws := inMemory(&idemddb.Options{Codec: newKeyring("2025")})
	charge := func(context.Context) (string, error) { return "receipt of Anna", nil }

	_, err := idemddb.Do(ctx, store, "p-1", nil, charge)
	fmt.Println("sealed:", err)

	rotated, err := idemddb.New(aws.DB, "records", "payments", &idemddb.Options{Codec: newKeyring("2026", "2025"), Now: aws.Now})
	if err != nil {
		fmt.Println(err)
	}

	receipt, err := idemddb.Do(ctx, rotated, "p-1", nil, charge)
	fmt.Println("rotated:", receipt, err)

	tooEarly, err := idemddb.New(aws.DB, "records", "payments", &idemddb.Options{Codec: newKeyring("2026"), Now: aws.Now})
	if err != nil {
		fmt.Println(err)
	}

	_, err = idemddb.Do(ctx, tooEarly, "p-1", nil, charge)
	fmt.Println("without the old key:", errors.Is(err, idemddb.ErrCorrupt))
	// Output:
	// sealed: <nil>
	// rotated: receipt of Anna <nil>
	// without the old key: true
}

// What is sealed is bound to its record, and a message to its target, too. It can stand in the encryption context of KMS, which
// logs it.
func ExampleSealed_AssociatedData() {
	of := idemddb.Sealed{Namespace: "payments", Record: "1hBUBqdlTZW4rxh3vIYQOKfcFEZ4kcEFtP9RdzQbP_Q", Target: "receipts"}
	fmt.Println(string(of.AssociatedData()))
	// Output: 1hBUBqdlTZW4rxh3vIYQOKfcFEZ4kcEFtP9RdzQbP_Q/receipts
}
