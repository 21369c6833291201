// Package lambdawrap makes the handler of a Lambda function idempotent: one that reads Amazon SQS, with [SQS] and [Batch], a stream, with
// [Kinesis] and [DynamoDBStream], or any event, with [Func], and a net/http handler behind a function URL, API Gateway or a server, with
// [HTTP]. What follows is about SQS; the others say what differs. SQS delivers each message at least once. The wrapper claims the message's
// idempotency key in DynamoDB, so that the work of a key is done once, and all later deliveries are answered from the key's record. Every
// write after the claim is fenced: a worker that lost its claim cannot overwrite its successor.
//
//	lambda.Start(lambdawrap.SQS(store, handle, nil))
//
// The event source mapping must have ReportBatchItemFailures ([partial batch responses]). Without it Lambda ignores the list of failed
// messages and deletes them. A message that is not proven done is reported failed, so none is lost. What is not promised: an effect can
// happen again if the process dies between the effect and its record, or if the work outlives its lease.
//
// # What a message becomes
//
// A message that is done is deleted. A message that is reported failed comes back.
//
//	what happened                                    handler     record                 message
//	new key, handler succeeds                        ran         COMPLETED              done
//	completed before                                 –           unchanged              done
//	same key twice in one batch                      ran once    one                    both as the first; DeadLetter is called for each
//	held by another worker                           –           unchanged              failed: back after lease or back-off, the later
//	handler fails, panics, ends its goroutine        ran         released               failed; a panic is logged as ERROR with its stack
//	handler returns Permanent                        ran         FAILED                 to DeadLetter and done; without one, failed, not hidden
//	failed for good before, attempts used up         –           FAILED                 as Permanent
//	another input under the same key                 –           unchanged              as Permanent
//	no key in the message                            –           none                   as Permanent
//	claim refused: throttled, down, denied           –           none                   failed
//	record unreadable, or of another version         –           unchanged              failed
//	success, fenced, the other worker completed      ran         the other's            done, event "fenced"
//	success, fenced, the other worker still runs     ran         the other's            failed
//	success, the completion never gets through       ran         INPROGRESS             done, event "unrecorded"
//	success, the record was deleted meanwhile        ran         none                   done, event "fenced"
//	success, another worker gave the key up          ran         FAILED                 done, event "fenced"
//	handler completes its claim itself               ran         COMPLETED              done; failed if it returns an error
//	handler releases its claim itself                ran         released               failed
//	handler fails its claim itself                   ran         FAILED                 as Permanent
//	less time left than it needs                     –           none, or released      failed
//	its key is not there in time                     –           none                   failed
//	handler answers in the reserve, in time          cancelled   as it answered         as it answered
//	handler does not answer in time                  cancelled   held one more lease    failed
//	no claim of the batch answered, FailOnOutage       –           –                      invocation error
//	an empty message id fails                        –           –                      invocation error
//	the event has no Records                         –           –                      invocation error
//	a record of another event source                 –           –                      invocation error, and nothing of the event runs
//
// If the wrapper or the DynamoDB client panics, that is an invocation error, too: the whole batch comes back.
//
// # Other triggers
//
// [Kinesis] and [DynamoDBStream] work on the records of a stream. A record ends as a message does, with its partition key or its item as
// its FIFO group; the answer names the lowest sequence number that failed. [Func] is for any other handler, and stores its result.
//
// # FIFO queues
//
// The messages of one message group are worked on in their order: the next one starts when the one before is recorded. Groups are worked
// on side by side. After a failure the rest of the group is reported failed and is not claimed, and other groups go on. With [Batch], the
// messages behind one that the handler reports are reported failed, too. A queue is FIFO if its ARN ends with ".fifo". A standard queue
// can have message groups, too, which have no order.
//
// # Time
//
//	when                                             what happens
//	a message is about to be claimed or started      it is only if Options.Timeout is left before the reserve
//	a handler's Timeout is over                      its context ends; what it returns still counts
//	half of a reserve later                          it is late; if no worker is free then, nothing more starts and the answer is sent
//	Options.Reserve before the deadline              nothing starts any more, and the contexts of running handlers end
//	until half of the reserve is left                what a handler returns is taken as it is, and its record is written
//	then                                             a handler that has not answered is late: its message is reported failed, and its
//	                                                 claim lasts for one more lease, because it may still run; its result is dropped
//	until a quarter of the reserve is left           claims are settled and DeadLetter is called; then the answer is sent
//
// If Options.Timeout is 0, a message starts if a quarter more time is left than the longest of the last 16 successful handlers of this
// process took. At most half of the time from the start of the invocation to the reserve is asked for, and just that much while no handler
// has succeeded. Without a deadline in the context nothing is refused for want of time. With Batch the one call is the handler, so
// Timeout is for all of its messages.
//
// The functions that find a key (Options.Key, Fingerprint and MessageContext) have a context that ends when nothing starts any more. A message
// whose key is not there when it is too late to start is reported failed, and what they answer later is dropped. With Batch the keys must be
// there half of a reserve earlier.
//
// Handlers do not run ahead of their records. An effect is in trouble if the first request for its record failed, or if it has waited for
// its record for 100 ms. It then keeps its worker until it is recorded or given up. The first effect in trouble does not keep its worker,
// so that a single key does not stop a batch with one worker. At most 100 effects wait for their records at a time.
//
// # Requests
//
// The claims of a batch share requests of up to 25 keys, and so do the writes that settle them. The keys are claimed at most one such group
// ahead of the handlers, and of a FIFO message group only the next message is claimed. A claim whose work could not start is given back
// and does not count as an attempt.
//
//	a batch of ten messages                          requests                               WCU
//	new keys, handlers that end together             2                                      20
//	new keys, handlers that end one after another    up to 11                               20
//	duplicates that SQS delivers again               1                                      10
//	duplicates that come as new messages             2                                      20
//	new keys, without shared requests                20                                     20
//	duplicates, without shared requests              10                                     10
//
// Requests are not shared if Options.Unshared of the Store is set, if its client has no BatchExecuteStatement, or if the role does not
// allow it. A message is then claimed when a worker is free for it, and also if the Store counts claims (MaxAttempts, NoTakeover).
// Options.Visibility costs one request to SQS for each failed message, Options.Wait one request and 1 WCU for each look at a held key.
//
// # Log and metrics
//
// Each message that does not end well has one line in the log, with its messageId, whether it comes back (comesBack), the hash of its key,
// the error, its outcome, and, if another worker holds the key, that worker's request id (holder). The outcome is an [Outcome]:
//
//	released      the handler returned an error or panicked, or the key function did
//	failed        the handler returned Permanent: the key has ended for good
//	refused       the key failed for good before, or its attempts are used up
//	mismatch      the key was used for another input
//	no_key        the message has no key
//	in_progress   another worker holds the key
//	unanswered    DynamoDB did not answer the claim, or refused it
//	uncommitted   what the handler staged is not known to be committed; the record decides at the next delivery
//	unsent        what the handler staged is committed, and its messages are not sent yet (Options.RedeliverUnsent of the Store)
//	corrupt       the record cannot be read, or is of another version (ERROR)
//	no_time       too little time was left to start, or its key was not there in time
//	late          the handler did not answer in time
//	blocked       an earlier message of its FIFO group failed
//	fenced        the handler ran, and the record is another worker's (ERROR)
//	unrecorded    the handler succeeded, and its record was perhaps not written (ERROR)
//
// A panic is logged as ERROR with its stack, a dead-letter hook that fails as ERROR, the rest as WARN. A takeover, after which the work
// may be done for the second time, has a WARN of its own (outcome takeover). Each staged message that is not sent has one, too (outcome
// unsent), an INFO if another process sends it, or an ERROR if it can never be sent (outcome parked), although the work is done; the error
// names the message, its target and the cause. The outcomes completed and replayed have no line; Options.OnMessage gets them. [Metrics] writes one line of metrics for each batch.
//
// [partial batch responses]: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
package lambdawrap
