// Package lambdawrap makes the handler of a Lambda function idempotent: one that reads Amazon SQS, with [SQS] and [Batch], a
// stream, with [Kinesis], [DynamoDBStream] and [Kafka], or any event, with [Func], and a net/http handler behind a function URL,
// API Gateway or a server, with [HTTP]. SQS delivers each message at least once. The wrapper claims the message's idempotency key
// in DynamoDB, so that the work of a key is done once, and all later deliveries are answered from the key's record. Every write
// after the claim is fenced: a worker that lost its claim cannot overwrite its successor.
//
//	lambda.Start(lambdawrap.SQS(store, handle, nil))
//
// The event source mapping must have ReportBatchItemFailures ([partial batch responses]). Without it Lambda ignores the list of
// failed messages and deletes them. A message that is not proven done is reported failed, so none is lost. What is not promised:
// an effect can happen again if the process dies between the effect and its record, or if the lease ends before the work does:
// the process stood still for longer, or the lease was not renewed.
//
//	the handler …                          record                 the message
//	succeeds, or succeeded before          COMPLETED              done: it is deleted
//	returns an error, or panics            released               comes back
//	returns Permanent                      FAILED                 to DeadLetter and done; without one, it comes back
//	does not run: another worker has it    unchanged              comes back
//	does not run: too little time          unchanged or released  comes back
//	does not run: DynamoDB did not answer  unchanged or held      comes back; a claim without a worker ends with its lease
//	does not answer in time                held                   comes back; with Options.Visibility, when its lease is over
//
// The messages of a FIFO message group are worked on in their order. No handler starts if less time than it may need
// (Options.Timeout) is left before Options.Reserve begins. While completions do not get through, each finished handler but one
// keeps its worker, so that few effects are without a record.
//
// Each message ends with an [Outcome]. One that does not end well has one line in the log with that word, the message's id, the
// hash of its key, and whether it comes back; Options.OnMessage gets the word, and [Metrics] has a metric for most of them.
//
// The pages at https://github.com/idemddb/go-idemddb/tree/main/docs say more: what-a-message-becomes.md has every row of the
// table, outcomes.md every outcome with its event, its metric and its level in the log, time.md when a handler starts and ends,
// keys.md about [Body] and the other functions that find a key, and cost.md about requests.
//
// [partial batch responses]: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
package lambdawrap
