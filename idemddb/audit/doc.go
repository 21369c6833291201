// Package audit judges the changes of the records that package idemddb keeps in DynamoDB: given a record before and after a
// change, and when the change was made, it says which transition that is, or what is wrong.
//
// It is a specification of its own. It was written from docs/record.md, and shares no code with what writes the records, so that
// the two can disagree: then one of them is wrong. The tests of this module hand it every change that they make. Programs do the
// same with the stream of a table, or in their own tests.
//
// # How to use it
//
// The table needs a stream with NEW_AND_OLD_IMAGES. [NewChecker] makes a [Checker], and [Checker.Check] takes each change, those
// of one key in their order. At the end, [Report.Err] is nil if no change broke a rule, [Report.GapsErr] is nil if no change was
// missing, and [Report.String] is a line for the log. Set [Options] as the workers' options are set. [Judge] does the same for
// one change without a memory, for a function that is called with a part of the stream.
//
// # What it finds
//
//   - Writes of a program that does not keep to docs/record.md, edits by hand, old items that were written back over newer ones.
//   - Claims that were taken over while they were held, and clocks that differ by more than ClockSkew.
//   - Workers of an older version, which leave attributes that came later: see [Options.OldWorkers].
//   - Time to Live on a wrong attribute, where it deletes a record before its end, and records that nobody said were to be
//     deleted.
//
// # What it does not find
//
//   - Anything outside of the records: effects, messages at their targets, results kept elsewhere.
//   - A write that was refused, and a write that is missing: a key that stays in progress is no violation.
//   - Who wrote. A holder that fails its key after its lease and a worker that gives the key up can write the same, and a limit
//     of attempts stands in no record.
//   - A clock that is behind by less than [Options.Lifetime]: a request may be as late. Such changes are counted as late.
//   - What is wrong with a record before the first change that is seen.
package audit
