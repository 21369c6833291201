package record

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// A long key is stored as DigestPrefix and its digest. The first HashLength bytes of that stand for the key in logs, whether it is long or
// not.
const (
	DigestPrefix = "sha256:"
	HashLength   = len(DigestPrefix) + 12
)

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
