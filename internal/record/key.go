package record

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A long key is stored as DigestPrefix and its digest. The first HashLength bytes of that stand for the key in logs, whether it is long or
// not.
const (
	DigestPrefix = "sha256:"
	HashLength   = len(DigestPrefix) + 12

	maxKey = 1024 // bytes; a longer key is stored as its digest
)

// ErrBadKey is the error for a key that no record can have.
var ErrBadKey = errors.New("bad key")

// Partition returns the value of the partition key for an idempotency key of a namespace, or ErrBadKey. If hashed is true, every key is
// stored as its digest.
//
// A long key is stored as its digest. So is a short one that looks like a digest, so that nobody can choose a key that stands for a long one.
func Partition(namespace, key string, hashed bool) (string, error) {
	switch {
	case key == "":
		return "", fmt.Errorf("%w: it is empty", ErrBadKey)
	case !utf8.ValidString(key):
		return "", fmt.Errorf("%w: it is not UTF-8; encode it, such as in hex", ErrBadKey)
	case hashed || len(key) > maxKey || strings.HasPrefix(key, DigestPrefix):
		return namespace + "#" + DigestPrefix + Digest(key), nil
	default:
		return namespace + "#" + key, nil
	}
}

// FingerprintOf returns a fingerprint as the record holds it, "" for none: the version of the algorithm and a digest, so that neither its
// length nor what it shows depends on the caller. Another algorithm gets another number and never matches this one's.
func FingerprintOf(fingerprint string) string {
	if fingerprint == "" {
		return ""
	}

	return FingerprintVersion + Digest(fingerprint)
}

// KeyHash returns what stands for a key in messages and logs.
func KeyHash(key string) string { return (DigestPrefix + Digest(key))[:HashLength] }

// StoredKeyHash returns the same for a key as it is stored, perhaps as its digest.
func StoredKeyHash(stored string) string {
	if strings.HasPrefix(stored, DigestPrefix) && len(stored) >= HashLength {
		return stored[:HashLength]
	}

	return KeyHash(stored)
}

// Digest returns the SHA-256 of a text, in URL-safe base64.
func Digest(text string) string { return DigestText(sha256.Sum256([]byte(text))) }

// DigestText returns a SHA-256 in URL-safe base64.
func DigestText(sum [sha256.Size]byte) string { return base64.RawURLEncoding.EncodeToString(sum[:]) }
