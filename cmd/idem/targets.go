package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
)

const eventParts = 3

// senders makes the senders that --target names: the entry of Options.Senders and the queue's URL, the topic's ARN or the event
// bus.
func senders(cfg aws.Config, targets []string) (map[string]idemddb.Sender, error) {
	all := map[string]idemddb.Sender{}

	for _, target := range targets {
		name, where, _ := strings.Cut(target, "=")
		if name == "" || where == "" {
			return nil, fmt.Errorf("--target %q: must be NAME=WHERE, NAME is what the function's Options.Senders call it", target)
		}

		made, err := sender(cfg, where)
		if err != nil {
			return nil, fmt.Errorf("--target %q: %w", target, err)
		}

		all[name] = made
	}

	return all, nil
}

// sender makes the sender for the place that a target names. The beginning of the place decides its kind.
func sender(cfg aws.Config, where string) (idemddb.Sender, error) {
	bus, isBus := strings.CutPrefix(where, "events:")
	parts := strings.Split(bus, ",")

	switch {
	case strings.HasPrefix(where, "https://"), strings.HasPrefix(where, "http://"):
		return outbox.SQS(sqs.NewFromConfig(cfg), where), nil
	case strings.HasPrefix(where, "arn:") && strings.Contains(where, ":sns:"):
		return outbox.SNS(sns.NewFromConfig(cfg), where), nil
	case isBus && (len(parts) != eventParts || slices.Contains(parts, "")):
		return nil, errors.New("an event bus is events:BUS,SOURCE,DETAIL-TYPE, as outbox.EventBridge takes them")
	case isBus:
		return outbox.EventBridge(eventbridge.NewFromConfig(cfg), parts[0], parts[1], parts[2]), nil
	default:
		return nil, errors.New("WHERE must be the URL of a queue, the ARN of a topic, or events:BUS,SOURCE,DETAIL-TYPE")
	}
}
