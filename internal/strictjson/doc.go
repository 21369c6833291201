// Package strictjson reads and writes JSON only where all readers of a text understand the same. encoding/json repairs text that
// is not UTF-8, takes one of two members with the same name, and compares names without regard to case; this package refuses such
// values instead. [Marshal] encodes values that are decoded as they were. [Shape.Exact] compares the names of members as they
// stand. [Paths.Key] makes idempotency keys. The package knows nothing of SQS.
//
// A key is made in three steps. [Read] reads the text as one JSON value and refuses everything that two readers could understand
// differently. [Paths] pick parts of the value by names and indexes. [Paths.Key] writes what they picked as the text of the key:
//
//   - One path that picks a string makes a key that is this string, so that a person can type it: p-1. See [TextKey].
//   - Everything else is '#' and the canonical JSON of the part, or of the list of parts: #123, #["c-1",7].
//
// Equal values have one key and different values have two, whatever their white space, escapes, order of members and spelling of
// numbers. Keys are stored and outlive deploys. A change to their text is therefore a new format: with it, every piece of work
// would run once more. testdata/keys.txt holds keys that must stay as they are.
package strictjson
