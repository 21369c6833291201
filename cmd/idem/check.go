package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// finding is the answer to one question of check.
type finding struct {
	About string `json:"about"`
	Level level  `json:"level"`
	Text  string `json:"text"`
}

type level string

const (
	fine    level = "ok"
	note    level = "note"  // worth knowing, or it does not apply
	fault   level = "FAULT" // something is lost, or will be
	unknown level = "?"     // could not be asked
)

// checking collects the findings.
type checking struct {
	app      *app
	desk     *desk
	function string

	wasRestored bool // the table comes from a backup or another table

	lenient  bool // the endpoint takes any credentials, so that nothing is known about permissions
	findings []finding
}

func (c *checking) addf(about string, l level, format string, args ...any) {
	c.findings = append(c.findings, finding{about, l, fmt.Sprintf(format, args...)})
}

// unasked adds a finding that could not be made, because of an error or because the answer lacks what it should have.
func (c *checking) unasked(about string, why error) {
	c.addf(about, unknown, "could not be checked: %v", why)
}

// expect adds a finding that is fine or a fault.
func (c *checking) expect(about string, isFine bool, ok, wrong string) {
	if isFine {
		c.addf(about, fine, "%s", ok)
	} else {
		c.addf(about, fault, "%s", wrong)
	}
}

func (a *app) checkCommand() *cobra.Command {
	var function string

	cmd := &cobra.Command{
		Use: "check", Short: "Check the table, the permissions, the clock, and with --function its event source and queues",
		Long: `Check that the table has the key, the Time to Live and the index that the options say, and what replicas and a restore mean for its
records; that the credentials have the actions that a worker needs, by conditional writes of a probe key that are always refused; that this
machine's clock agrees with the service's; and with --function that its event source reports partial batches, and that time-outs and
retentions fit together. Give the --retention of the function's store.

It changes nothing. The permissions are those of the credentials that idem runs with: for those of a function, run it with its role.

Each line begins with ok, with note for what is worth knowing or does not apply, with FAULT, or with ? for what could not be checked.

Exit codes: 0 every line is ok or note; 2 at least one is FAULT; 3 none is FAULT, and at least one is ?.`,
		Example: "  idem check --function payments --retention 720h",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := a.open(cmd.Context())
			if err != nil {
				return err
			}

			c := &checking{app: a, desk: d, function: function}
			c.run(cmd.Context())

			return c.print()
		},
	}
	cmd.Flags().StringVar(&function, "function", "", "the function whose event sources and queues are checked, too")

	return cmd
}

func (c *checking) run(ctx context.Context) {
	if !c.table(ctx) {
		return
	}

	c.timeToLive(ctx)
	c.permissions(ctx)

	if c.function != "" {
		c.eventSources(ctx)
	}
}

// print shows the findings. Its error has the exit code: a script that runs after each deployment goes on only if every question
// was answered, and none with a fault.
func (c *checking) print() error {
	count := map[level]int{}

	for _, f := range c.findings {
		count[f.Level]++

		if c.app.flags.json {
			if err := c.app.printJSON(f); err != nil {
				return err
			}

			continue
		}

		fmt.Fprintf(c.app.out, "%-5s  %s: %s\n", f.Level, f.About, f.Text)
	}

	unanswered := fmt.Sprintf("not checked: %d of %d", count[unknown], len(c.findings))

	switch {
	case count[fault] > 0 && count[unknown] > 0:
		return &codeError{exitRefused, fmt.Errorf("faults: %d; %s", count[fault], unanswered)}
	case count[fault] > 0:
		return &codeError{exitRefused, fmt.Errorf("faults: %d", count[fault])}
	case count[unknown] > 0:
		return &codeError{exitError, errors.New(unanswered)}
	default:
		return nil
	}
}

// retention is the retention of the workers' records.
func (c *checking) retention() time.Duration { return c.desk.store.Options().Retention }
