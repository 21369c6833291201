package idemddb

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/idemddb/go-idemddb/idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/jsonkey"
)

const (
	sortKeyValue = "idemddb"

	maxStoredKey = 1024 // bytes; a longer key is stored as its digest
)

// TextKey returns the idempotency key that lambdawrap.Body makes of a string. Use it for ids that come from outside, such as
// with an HTTP request, so that [Do] and the handler of a queue find the same record:
//
//	idemddb.Do(ctx, store, idemddb.TextKey(paymentID), nil, pay)
//
// The key is the string itself, so that a person can type it. Only a string that begins with '#' gets a second one in front,
// because a single '#' begins every key that lambdawrap makes of something else: a number, a list of parts, a message's id.
// So the string "#123" and the number 123 are two keys. Two different strings never have the same key.
//
// TextKey neither checks nor shortens the key: [Store.Claim] refuses one that is empty or not valid UTF-8 with [ErrBadKey].
func TextKey(s string) string { return jsonkey.Text(s) }

// KeyHash returns the form of a key that stands in messages and logs: keys may hold what should not be there. It is the
// beginning of the key's SHA-256, in URL-safe base64, behind "sha256:".
func KeyHash(key string) string { return record.KeyHash(key) }

// partition returns the partition key's value for a key, or ErrBadKey.
//
// A long key is stored as its digest; a short one that looks like a digest is, too, so that nobody can choose a key that
// stands for a long one.
func (s *Store) partition(key string) (string, error) {
	switch {
	case key == "":
		return "", fmt.Errorf("%w: it is empty", ErrBadKey)
	case !utf8.ValidString(key):
		return "", fmt.Errorf("%w: it is not UTF-8; encode it, such as in hex", ErrBadKey)
	case s.opts.HashKeys || len(key) > maxStoredKey || strings.HasPrefix(key, record.DigestPrefix):
		return s.namespace + "#" + record.DigestPrefix + record.Digest(key), nil
	default:
		return s.namespace + "#" + key, nil
	}
}

// storedFingerprint is a fingerprint as the record holds it: the algorithm's version and a digest, so that neither its
// length nor what it shows depends on the caller. Another algorithm gets another number and never matches this one's.
func storedFingerprint(fingerprint string) string {
	if fingerprint == "" {
		return ""
	}

	return record.FingerprintVersion + record.Digest(fingerprint)
}
