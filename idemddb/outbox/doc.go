// Package outbox sends the messages that are stored with a completion: to SQS, SNS and EventBridge.
//
//	opts := &idemddb.Options{Senders: map[string]idemddb.Sender{
//		"receipts":         outbox.SQS(sqs.NewFromConfig(cfg), receiptsURL),
//		"payment.captured": outbox.EventBridge(eventbridge.NewFromConfig(cfg), "payments", "shop.payments", "payment.captured"),
//	}}
//
// A handler stages an [idemddb.Message] whose To is one of these names; any other To is refused. A target to which another
// process sends has a nil Sender. The message is stored in the record of the handler's key by the write that completes the key,
// it is sent after that write, and it is removed from the record after it was sent. So no message is sent for work that is not
// recorded as done, and no message is lost for work that is. A message can be sent more than once: a process may die between
// sending and removing, and two processes may send at the same time. Every sending carries the same id.
//
// What is not sent at once is left to [Sweep], which a scheduled function calls each minute. docs/outbox.md has both functions
// and their template.
//
// # What the receiver uses as its key
//
//	target                          where the id is, the receiver's key    no key: new each time   order
//	SQS, standard queue             message attribute idemddb-id           MessageId               none
//	SQS, FIFO queue                 message attribute idemddb-id           MessageId               within a message group
//	SNS, queue with raw delivery    message attribute idemddb-id           MessageId               of topic and queue, if FIFO
//	SNS, queue without it           MessageAttributes of the envelope      both MessageIds         of topic and queue, if FIFO
//	SNS, HTTP without raw delivery  MessageAttributes of the envelope      MessageId               none
//	EventBridge                     resources: "idemddb:" and the id       the event's id          none
//
// On a FIFO target the id is also the MessageDeduplicationId. SQS and SNS remember that for 5 minutes only, and a message may be
// sent again hours later, so that the receiver needs its key there, too. SNS does not deliver attributes to Firehose, nor to HTTP
// endpoints with raw delivery; such receivers need a key in the body.
//
// # Order
//
// On a FIFO target, the messages of one record and one message group are sent one at a time, and the first failure keeps back
// those behind it. Everywhere else no order is promised, and none is promised between the messages of two records. Even on a FIFO
// target a message that was parked comes later than those that stood behind it. Suppose that messages 1, 2 and 3 go to an SNS
// topic:
//
//	1 is larger than the topic's MaximumMessageSize    1 is parked
//	2 and 3 are sent                                   the receiver gets 2, 3
//	the limit is raised, and an operator sends 1       the receiver gets 1: it has seen 2, 3, 1
//
// The id does not help here, because no message came twice. A receiver that keeps the newest state compares Message.Sequence,
// which travels as the attribute idemddb-sequence of type Number, and in an event's resources as "idemddb-sequence:" and the
// number: a message whose sequence is not above the receiver's own is old, and is ignored.
//
// # Why not the table's stream
//
// A stream of the table with the effects could also announce them, without an outbox. It keeps its records for 24 hours, so an
// outage that lasts longer loses messages. It orders the changes of each item, and not the items of one transaction, which may
// reach a reader separately and interleaved with others; two messages are two items. It allows two readers. And it delivers at
// least once, so that its receivers need a key, too.
//
// # Answers
//
// Send answers for each message on its own. nil means that the target accepted the message. An error that wraps [ErrPermanent]
// means that no later try can send it; it is then parked. Any other error keeps it in the record for the next try.
//
//	the service's answer                                             the message
//	accepted                                                         sent
//	refused as the sender's fault: a character, a size, a parameter  parked
//	there is no such queue, topic or event bus                       parked
//	access denied, throttled, a KMS key that cannot be used          kept
//	any other error: of the service, of the network, an unknown code kept
//	no answer for the message, or another number of answers          kept
//	the request is refused as invalid                                sent again alone; its own answer decides
package outbox
