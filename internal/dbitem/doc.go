// Package dbitem knows items of DynamoDB: how to copy them, and what the library must know of the items of a transaction that its
// caller has made: which items of which tables they write, how large they are, and what DynamoDB would refuse of them.
package dbitem
