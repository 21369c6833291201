package record

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
)

// A result that is kept in the table of the records, beside its record, is one or several items of its own, its parts. The
// partition key of a part is the namespace, "#sha256:", the digest of the idempotency key, and, each after a slash, the owner
// token of the claim that completes the key, the beginning of the result's digest and the number of the part. No record has such
// a key: one that begins with sha256: is stored as its digest. The name of the result, in its record, is the partition key of its
// last part, so that it also says how many there are.
const (
	// PartSize is how many bytes a part holds. Only the last one holds fewer. An item of DynamoDB has room for them beside the
	// longest key.
	PartSize = 390 << 10

	// MaxParts is how many parts a result has at most: enough for 6 MB, the largest answer of a Lambda function.
	MaxParts = 16

	sumInName   = 16 // characters of the digest of a result, in its name
	digestBytes = 43 // of a SHA-256 in base64 without padding
)

// NameInTable returns the name of a result of length bytes that is kept in the table: that of the claim with this owner token, of
// the record with this partition key.
func NameInTable(partition, token string, sum [sha256.Size]byte, length int) string {
	namespace, key, _ := strings.Cut(partition, "#")
	if !strings.HasPrefix(key, DigestPrefix) {
		key = DigestPrefix + Digest(key)
	}

	return fmt.Sprintf("%s#%s/%s/%s/%d", namespace, key, token, ShortSum(sum), max(1, (length+PartSize-1)/PartSize))
}

// ShortSum returns the beginning of the digest of a result, as it stands in names.
func ShortSum(sum [sha256.Size]byte) string { return DigestText(sum)[:sumInName] }

// Parts returns the partition keys of the parts of a result with this name, in their order; nil if it is not kept in the table.
func Parts(name string) []string {
	if !IsPart(name) {
		return nil
	}

	slash := strings.LastIndexByte(name, '/')

	n, _ := strconv.Atoi(name[slash+1:]) // 0 for what is no number
	if n < 1 || n > MaxParts {
		return nil
	}

	parts := make([]string, n)
	for i := range parts {
		parts[i] = name[:slash+1] + strconv.Itoa(i+1)
	}

	return parts
}

// IsPart reports whether a partition key is that of a part of a result, and of no record.
func IsPart(partition string) bool {
	_, key, _ := strings.Cut(partition, "#")
	digest, isDigest := strings.CutPrefix(key, DigestPrefix)

	return isDigest && len(digest) > digestBytes && digest[digestBytes] == '/'
}
