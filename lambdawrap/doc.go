// Package lambdawrap makes the handler of an SQS-triggered Lambda function run its effect once:
//
//	lambda.Start(lambdawrap.SQS(store, handle, nil))
//
// The event source mapping must have ReportBatchItemFailures: Lambda deletes the messages that are not reported, and without it
// ignores the report ([partial batch responses]). What becomes of a message:
//
//	what happened                                   handler    record           message
//	new key, handler succeeds                       ran        COMPLETED        done
//	completed before                                –          unchanged        done
//	twice in one batch                              ran once   one              both as the first
//	held by another worker                          –          unchanged        failed: it comes back
//	handler fails, panics, ends its goroutine       ran        released         failed
//	handler returns Permanent                       ran        FAILED           DeadLetter and done; without one, failed
//	failed for good before, attempts used up        –          FAILED           the same
//	another input under the same key                –          unchanged        the same
//	no key in the message                           –          none             failed
//	claim refused: throttled, down, denied          –          none             failed
//	success, fenced, the other completed it         ran        the other's      done, event "fenced"
//	success, fenced, the other still runs           ran        the other's      failed
//	success, the completion never gets through      ran        INPROGRESS       done, event "unrecorded"
//	success, the record was deleted meanwhile       ran        none             done, event "fenced"
//	less than Reserve left before it starts         –          none, released   failed
//	still running when Reserve begins               cancelled  left to lease    failed; a late result is dropped
//	an empty message id fails                       –          –                invocation error
//
// FIFO queues (by the ARN's ".fifo"; fair queues have message groups, too, without an order): in order within a group, and
// after a failure the rest of the group is reported failed and not claimed; other groups go on.
//
// Requests: the keys of a batch are claimed up to 25 at a time, at most one group ahead of the handlers, and of a FIFO group only the
// next message; completions and releases go in groups behind the handlers, while the next ones run. What was claimed and could not
// start is given back, uncounted. A batch of ten new messages costs two requests where its handlers end together, up to eleven where they end one after
// another; ten duplicates one or two. Where the Store has
// no groups, or counts claims (Options.MaxAttempts, Options.NoTakeover), a message is claimed only when a worker is free for it.
//
// Deadlines: claims and handlers end Options.Reserve before the invocation does, settling and the dead-letter hook a quarter of
// it before, so that the answer is always sent. A failure of the wrapper itself is an invocation error, never an empty success.
//
// Each message that does not end well is logged once: its id, its key's hash, an outcome (failed, permanent, refused, mismatch,
// in_progress, no_key, no_time, late, blocked, fenced, unrecorded, corrupt) and, where another worker is in the way, that one's
// request id. [Metrics] writes a line for each batch.
//
// [partial batch responses]: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
package lambdawrap
