package main

import (
	"context"
	"log/slog"
	"strings"
	"sync"
)

// notes keeps what the wrapper logs: the message id and why it did not end well.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) logger() *slog.Logger { return slog.New(&noteTaker{n}) }

// take returns the lines since it was last called.
func (n *notes) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()

	lines := n.lines
	n.lines = nil

	return lines
}

type noteTaker struct{ notes *notes }

func (*noteTaker) Enabled(context.Context, slog.Level) bool { return true }

func (t *noteTaker) Handle(_ context.Context, r slog.Record) error {
	var id, why string

	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "messageId":
			id = a.Value.String()
		case "error":
			why = strings.ReplaceAll(a.Value.String(), "\n", "; and ")
		}

		return true
	})

	t.notes.mu.Lock()
	defer t.notes.mu.Unlock()

	t.notes.lines = append(t.notes.lines, r.Level.String()+" "+id+" "+r.Message+": "+why)

	return nil
}

// WithAttrs and WithGroup are not used by the wrapper.
func (t *noteTaker) WithAttrs([]slog.Attr) slog.Handler { return t }
func (t *noteTaker) WithGroup(string) slog.Handler      { return t }
