package audit

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

const (
	sortValue   = "idemddb"
	hashed      = "sha256:"
	longestKey  = 1024
	digestBytes = 43 // of a SHA-256 in base64 without padding
)

// isRecord reports whether an item is one of the library's: see [Options.Namespaces].
func (s *settings) isRecord(it item) bool {
	namespace, _, isKey := strings.Cut(it.str(attrPartition), "#")

	switch {
	case !isKey, s.SortKey != "" && it.str(attrSort) != sortValue:
		return false
	case len(s.Namespaces) > 0:
		return slices.Contains(s.Namespaces, namespace)
	}

	have := 0

	for _, name := range []string{attrVersion, attrState, attrOwner, attrFence, attrLease} {
		if it.has(name) {
			have++
		}
	}

	return have >= 3 // an item that somebody has damaged is still a record
}

// partition returns the partition key of the item.
func (p *pair) partition() string {
	if p.after != nil {
		return p.after.str(attrPartition)
	}

	return p.before.str(attrPartition)
}

// key judges the partition key and the sort key. They are those of one item, so both images have them.
func (p *pair) key() []Violation {
	var all []Violation

	for _, name := range []string{attrPartition, attrSort} {
		if p.before != nil && !p.before.same(p.after, name) {
			all = append(all, Violation{RuleKey, name, "The two images of the change are of different items."})
		}
	}

	_, key, _ := strings.Cut(p.after.str(attrPartition), "#")

	switch digest, isDigest := strings.CutPrefix(key, hashed); {
	case isDigest && !isBase64(digest, digestBytes):
		all = append(all, Violation{
			RuleKey, attrPartition, "A key that begins with sha256: is stored as a digest: sha256: and 43 characters of URL-safe base64.",
		})
	case len(key) > longestKey:
		all = append(all, Violation{
			RuleKey, attrPartition, fmt.Sprintf("A key of more than %d bytes is stored as a digest; this one has %d.", longestKey, len(key)),
		})
	}

	return all
}

// hidden returns the partition key as it may stand in a log: its namespace, and the first characters of the digest of its key.
func hidden(partition string) string {
	namespace, key, _ := strings.Cut(partition, "#")

	digest, isDigest := strings.CutPrefix(key, hashed)
	if !isDigest {
		sum := sha256.Sum256([]byte(key))
		digest = base64.RawURLEncoding.EncodeToString(sum[:])
	}

	return namespace + "#" + hashed + digest[:min(12, len(digest))]
}

func isBase64(s string, length int) bool {
	return len(s) == length && !strings.ContainsFunc(s, func(r rune) bool {
		return !isAlphanumeric(r) && r != '-' && r != '_'
	})
}

func isAlphanumeric(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
}
