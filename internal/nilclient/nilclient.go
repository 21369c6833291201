// Package nilclient finds clients that were never set, where a constructor gets them.
package nilclient

import "reflect"

// Is reports whether a client is nil. A nil pointer or function inside the interface counts, too: it is a variable that was never
// set, and would panic at the first request only.
func Is(api any) bool {
	v := reflect.ValueOf(api)

	return api == nil || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Func) && v.IsNil()
}
