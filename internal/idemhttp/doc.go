// Package idemhttp knows the exchanges of HTTP that lambdawrap.HTTP guards: what identifies a request, the answer of a handler,
// which is held back until it is stored and is replayed later, and the answers of the wrapper itself.
package idemhttp
