// Package sqs stands in for the real one.
package sqs

import "context"

type (
	Client               struct{}
	Options              struct{}
	ReceiveMessageInput  struct{}
	ReceiveMessageOutput struct{ Messages []string }
	SendMessageInput     struct{ MessageBody, MessageDeduplicationId *string }
	SendMessageOutput    struct{}
	DeleteMessageInput   struct{}
	DeleteMessageOutput  struct{}
)

func (*Client) ReceiveMessage(context.Context, *ReceiveMessageInput, ...func(*Options)) (*ReceiveMessageOutput, error) {
	return nil, nil
}

func (*Client) SendMessage(context.Context, *SendMessageInput, ...func(*Options)) (*SendMessageOutput, error) {
	return nil, nil
}

func (*Client) DeleteMessage(context.Context, *DeleteMessageInput, ...func(*Options)) (*DeleteMessageOutput, error) {
	return nil, nil
}
