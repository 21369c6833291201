// Package histories lets whole workers loose on a few keys, writes down what each of their calls was answered and when, and has
// porcupine find an order of the calls that explains all answers. If there is none, the workers have seen something that one
// correct record cannot do. A call that has no answer may have happened, as a whole, or not at all. One answer is vague on
// purpose: a release that is fenced may have been applied by a try without an answer, because the record does not tell what the
// claim before the last one has found. And a claim that is tried for longer than a lease may be two: one whose answer was lost
// and whose lease has run out, and the one that was answered.
//
// It is a module of its own, so that users of the library do not get porcupine.
package histories
