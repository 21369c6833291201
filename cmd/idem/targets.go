package main

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
)

const eventParts = 3

// senders makes the senders that --target names: the entry of Options.Senders and the queue's URL, the topic's ARN or the event bus.
func senders(cfg aws.Config, targets []string) (map[string]idemddb.Sender, error) {
	all := map[string]idemddb.Sender{}

	for _, target := range targets {
		name, where, ok := strings.Cut(target, "=")
		bus, isBus := strings.CutPrefix(where, "events:")

		switch {
		case !ok || name == "" || where == "":
			return nil, fmt.Errorf("--target %q: must be NAME=WHERE, NAME is what the function's Options.Senders call it", target)
		case strings.HasPrefix(where, "https://"), strings.HasPrefix(where, "http://"):
			all[name] = outbox.SQS(sqs.NewFromConfig(cfg), where)
		case strings.HasPrefix(where, "arn:") && strings.Contains(where, ":sns:"):
			all[name] = outbox.SNS(sns.NewFromConfig(cfg), where)
		case isBus:
			parts := strings.Split(bus, ",")
			if len(parts) != eventParts {
				return nil, fmt.Errorf("--target %q: an event bus is events:BUS,SOURCE,DETAIL-TYPE, as outbox.EventBridge takes them", target)
			}

			all[name] = outbox.EventBridge(eventbridge.NewFromConfig(cfg), parts[0], parts[1], parts[2])
		default:
			return nil, fmt.Errorf("--target %q: WHERE must be the URL of a queue, the ARN of a topic, or events:BUS,SOURCE,DETAIL-TYPE", target)
		}
	}

	return all, nil
}
