package main

import (
	"context"

	"github.com/idemddb/go-idemddb/idemddb"
)

// scheduled is the input that a schedule of EventBridge Scheduler is given:
//
//	{"schedule": "<aws.scheduler.schedule-arn>", "time": "<aws.scheduler.scheduled-time>"}
type scheduled struct{ Schedule, Time string }

func byScheduledTime(_ context.Context, s scheduled) (string, error) {
	return idemddb.TextKey(s.Schedule + "#" + s.Time), nil
}

// task is the input that a state of Step Functions is given:
//
//	{"execution.$": "$$.Execution.Id", "state.$": "$$.State.Name", "orderId.$": "$.orderId"}
type task struct{ Execution, State, OrderID string }

func byExecution(_ context.Context, t task) (string, error) {
	return idemddb.TextKey(t.Execution + "#" + t.State + "#" + t.OrderID), nil
}

var _, _ = byScheduledTime, byExecution // main.go has another key
