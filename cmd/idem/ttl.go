package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/spf13/cobra"
)

func (a *app) ttlCommand() *cobra.Command {
	c := &ttlChange{app: a}
	cmd := &cobra.Command{
		Use: "ttl", Short: "Turn the table's Time to Live on for the attribute that the records have",
		Long: `Turn the table's Time to Live on for --ttl-attribute. If it is on for another attribute, it is turned off first: DynamoDB takes the next
change an hour later, so run this again then. If others use the table and need that attribute, set Options.TTLAttribute to it instead.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := a.open(cmd.Context())
			if err != nil {
				return err
			}

			return c.mend(cmd.Context(), d)
		},
	}
	cmd.Flags().BoolVarP(&c.yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "show what would be changed, and change nothing")

	return cmd
}

// ttlChange is the command that changes the table's Time to Live.
type ttlChange struct {
	app         *app
	dryRun, yes bool
}

func (c *ttlChange) mend(ctx context.Context, d *desk) error {
	want := d.store.Options().TTLAttribute

	status, name, err := describeTTL(ctx, d)
	if err != nil {
		return err
	}

	isOn := status == types.TimeToLiveStatusEnabled || status == types.TimeToLiveStatusEnabling

	switch {
	case status == types.TimeToLiveStatusDisabling:
		return &codeError{exitRefused, errors.New("time to live is being turned off; run this again in an hour")}
	case isOn && name == want:
		return c.print(ttlSetting{attribute: want, isOn: true, done: fmt.Sprintf("time to live is on for %q already", want)})
	case isOn:
		return c.change(ctx, d, turnOff(d, name))
	default:
		return c.change(ctx, d, turnOn(d, want))
	}
}

// describeTTL returns the status of the table's Time to Live and the attribute that it is for; both are empty if the answer has
// none.
func describeTTL(ctx context.Context, d *desk) (types.TimeToLiveStatus, string, error) {
	out, err := d.client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: new(d.store.Table())})
	if err != nil {
		return "", "", fmt.Errorf("describe time to live: %w", err)
	}

	if out.TimeToLiveDescription == nil {
		return "", "", nil
	}

	return out.TimeToLiveDescription.TimeToLiveStatus, aws.ToString(out.TimeToLiveDescription.AttributeName), nil
}

// ttlSetting is what the table's Time to Live is changed to.
type ttlSetting struct {
	attribute string
	isOn      bool
	question  string // before the change
	done      string // after it
}

// turnOff turns Time to Live off for another attribute. DynamoDB refuses to turn it on for the records' attribute in the same
// hour.
func turnOff(d *desk, name string) ttlSetting {
	return ttlSetting{
		attribute: name, isOn: false,
		question: fmt.Sprintf("Turn time to live of table %s off for %q; nothing is deleted by it then, and this must be run again in an hour",
			d.store.Table(), name),
		done: fmt.Sprintf("time to live is off for %q; run this again in an hour", name),
	}
}

// turnOn turns Time to Live on for the attribute of the records, so that DynamoDB deletes those past their retention.
func turnOn(d *desk, want string) ttlSetting {
	return ttlSetting{
		attribute: want, isOn: true,
		question: fmt.Sprintf("Turn time to live of table %s on for %q", d.store.Table(), want),
		done:     fmt.Sprintf("time to live is on for %q", want),
	}
}

// change asks, changes the table's Time to Live and says what is true then.
func (c *ttlChange) change(ctx context.Context, d *desk, s ttlSetting) error {
	if c.dryRun {
		c.app.sayf("%s.\nNothing was changed (--dry-run).", s.question)

		return nil
	}

	if err := c.app.confirm(ctx, bufio.NewReader(c.app.in), s.question, c.yes); err != nil {
		return err
	}

	_, err := d.client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               new(d.store.Table()),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &s.attribute, Enabled: &s.isOn},
	})
	if err != nil {
		return fmt.Errorf("update time to live: %w", err)
	}

	return c.print(s)
}

// print says what is true of the table's Time to Live.
func (c *ttlChange) print(s ttlSetting) error {
	if c.app.flags.json {
		return c.app.printJSON(map[string]any{"attribute": s.attribute, "is_on": s.isOn, "text": s.done})
	}

	fmt.Fprintln(c.app.out, s.done)

	return nil
}
