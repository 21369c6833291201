// Package queue knows the queues of SQS behind a Lambda function: what the URL of a queue must have, when SQS delivers a failed
// message again, and how a message gets into a dead-letter queue.
package queue
