package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

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

// keyOf joins the parts of a key. An input that lacks one has no key: all such inputs would be one piece of work, which runs once.
func keyOf(parts ...string) (string, error) {
	if slices.Contains(parts, "") {
		return "", fmt.Errorf("%w: the input lacks a part of it", lambdawrap.ErrNoKey)
	}

	return idemddb.TextKey(strings.Join(parts, "#")), nil
}

// task is the input that a state of Step Functions is given:
//
//	{"execution.$": "$$.Execution.Id", "state.$": "$$.State.Name", "orderId.$": "$.orderId"}
type task struct{ Execution, State, OrderID string }

func byExecution(_ context.Context, t task) (string, error) {
	return keyOf(t.Execution, t.State, t.OrderID)
}

var _, _ = byScheduledTime, byExecution // main.go has another key
