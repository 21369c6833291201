package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// scheduled is the input that a schedule of EventBridge Scheduler is given:
//
//	{"schedule": "<aws.scheduler.schedule-arn>", "time": "<aws.scheduler.scheduled-time>"}
type scheduled struct{ Schedule, Time string }

func byScheduledTime(_ context.Context, s scheduled) (string, error) {
	return keyOf(s.Schedule, s.Time)
}

// keyOf makes a key of parts: a list in JSON, because with a mere separator "a#b", "c" and "a", "b#c" would be one key. An input
// that lacks a part has no key: all such inputs would be one piece of work, which runs once.
func keyOf(parts ...string) (string, error) {
	if slices.Contains(parts, "") {
		return "", fmt.Errorf("%w: the input lacks a part of it", lambdawrap.ErrNoKey)
	}

	key, err := json.Marshal(parts)

	return idemddb.TextKey(string(key)), err
}

// task is the input that a state of Step Functions is given:
//
//	{"execution.$": "$$.Execution.Id", "state.$": "$$.State.Name", "orderId.$": "$.orderId"}
type task struct{ Execution, State, OrderID string }

func byExecution(_ context.Context, t task) (string, error) {
	return keyOf(t.Execution, t.State, t.OrderID)
}

var _, _ = byScheduledTime, byExecution // main.go has another key
