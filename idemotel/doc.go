// Package idemotel connects go-idemddb with OpenTelemetry: a span for each message, links from a replay and from a takeover to
// the run that they stand for, and metrics. It is a module of its own, so that users of the library do not get OpenTelemetry.
//
//	tel, err := idemotel.New(nil) // the global providers
//	store, err := idemddb.New(client, table, "payments", tel.StoreOptions(nil))
//	lambda.Start(idemotel.Flush(tel, lambdawrap.SQS(store, pay, tel.MessageOptions(nil))))
//
// # Spans
//
// Each message of a batch has a span "process QUEUE" of kind consumer. It begins before the message's key is claimed and ends
// when the message does, also if no handler runs; so it includes the time for which a message waits for a worker. It is a child
// of the span in the invocation's context, never of another message's span, and has a link to the span that sent the message:
// that of the message attribute traceparent, or else of AWSTraceHeader, which SQS carries. Spans of a handler are its children,
// but with lambdawrap.Batch, whose one call has many messages.
//
// idemddb.Do, lambdawrap.Func, HTTP and the wrappers of streams make no span. Their links belong to the span of the caller's
// context.
//
// The record of a key keeps the traceparent of the run that claimed it. A replay has a link to that run, and so has a takeover,
// whose work may be done for the second time. The attribute idemddb.kind of the link says which of them it is. There is no link
// for the second message of a key in one batch, nor from a request that several messages share: neither has an event that names
// the others.
//
// The attribute idemddb.outcome is one of [lambdawrap.Outcome]. The status is Error if the work, its record or the message itself
// failed, also before: a key that has failed for good or that was used for another input. It is unset for a replay, for a key
// that another worker holds, and for a message that had to wait for its turn or for time.
//
// If the wrapper itself or the DynamoDB client panics, the whole batch comes back, and the spans of messages that have no outcome
// are not exported.
//
// # Metrics
//
//	messaging.process.duration  histogram, s        of each message by outcome and queue; its count is the number of messages
//	idemddb.events              counter, {event}    the events of the Store by idemddb.kind
//
// No attribute holds a key, a message's body or the text of an error. The attribute messaging.message.id of a span holds the
// message's id, as the log does; it is a part of the key that lambdawrap.MessageID makes.
package idemotel
