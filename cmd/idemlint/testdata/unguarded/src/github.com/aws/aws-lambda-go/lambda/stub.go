// Package lambda stands in for the real one.
package lambda

func Start(any) {}
