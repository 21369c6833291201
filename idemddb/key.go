package idemddb

import "github.com/idemddb/go-idemddb/internal/strictjson"

// TextKey returns the key that lambdawrap.Body makes of a string. Use it for ids that come from outside, such as with an HTTP
// request, so that [Run] or [Do] and the handler of a queue find the same record:
//
//	idemddb.Do(ctx, store, idemddb.TextKey(paymentID), nil, pay)
//
// The key is the string itself, so that a person can type it. Only a string that begins with '#' gets a second one in front,
// because a single '#' begins every key that lambdawrap makes of something else: a number, a list of parts, a queue's message id.
// So the string "#123" and the number 123 are two keys. Two different strings never have the same key.
//
// TextKey neither checks nor shortens the key: [Store.Claim] refuses one that is empty or not valid UTF-8 with [ErrBadKey].
func TextKey(s string) string { return strictjson.TextKey(s) }
