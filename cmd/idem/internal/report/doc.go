// Package report makes one HTML file of the records of a table: what state they are in, how long work takes, what may have
// happened twice, what is not sent, and what the records' writes cost.
//
// [Totals] take one record after the other and keep sums, of a size that does not depend on how many records there are. [Write]
// makes the page. It has no scripts, and asks no server for anything.
package report
