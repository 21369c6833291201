package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/spf13/cobra"
)

func (a *app) ttlCommand() *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use: "ttl", Short: "Turn the table's Time to Live on for the attribute that the records have",
		Long: `Turn the table's Time to Live on for --ttl-attribute. If it is on for another attribute, it is turned off first: DynamoDB takes the next
change an hour later, so run this again then. If others use the table and need that attribute, set Options.TTLAttribute to it instead.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := a.open(cmd.Context())
			if err != nil {
				return err
			}

			return a.mendTTL(cmd.Context(), d, yes)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")

	return cmd
}

func (a *app) mendTTL(ctx context.Context, d *desk, yes bool) error {
	table, want := d.store.Table(), d.store.Options().TTLAttribute

	out, err := d.client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	if err != nil {
		return fmt.Errorf("describe time to live: %w", err)
	}

	var (
		status types.TimeToLiveStatus
		name   string
	)

	if out.TimeToLiveDescription != nil {
		status, name = out.TimeToLiveDescription.TimeToLiveStatus, aws.ToString(out.TimeToLiveDescription.AttributeName)
	}

	isOn := status == types.TimeToLiveStatusEnabled || status == types.TimeToLiveStatusEnabling

	switch {
	case status == types.TimeToLiveStatusDisabling:
		return &codeError{exitRefused, errors.New("time to live is being turned off; run this again in an hour")}
	case isOn && name == want:
		fmt.Fprintf(a.out, "time to live is on for %q already\n", want)

		return nil
	}

	text := fmt.Sprintf("Turn time to live of table %s on for %q", table, want)
	change := types.TimeToLiveSpecification{AttributeName: &want, Enabled: new(true)}

	if isOn {
		text = fmt.Sprintf("Turn time to live of table %s off for %q; nothing is deleted by it then, and this must be run again in an hour", table, name)
		change = types.TimeToLiveSpecification{AttributeName: &name, Enabled: new(false)}
	}

	if err := a.confirm(bufio.NewReader(a.in), text, yes); err != nil {
		return err
	}

	if _, err := d.client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: &table, TimeToLiveSpecification: &change}); err != nil {
		return fmt.Errorf("update time to live: %w", err)
	}

	if isOn {
		fmt.Fprintf(a.out, "time to live is off for %q; run this again in an hour\n", name)
	} else {
		fmt.Fprintf(a.out, "time to live is on for %q\n", want)
	}

	return nil
}

// confirm asks for a yes.
func (a *app) confirm(in *bufio.Reader, text string, yes bool) error {
	if yes {
		return nil
	}

	if !a.interactive {
		return &codeError{exitRefused, errors.New("there is nobody to ask; --yes answers")}
	}

	fmt.Fprintf(a.log, "%s? [y/N] ", text)

	if answer := strings.ToLower(strings.TrimSpace(readLine(in))); answer != "y" && answer != "yes" {
		return &codeError{exitRefused, errors.New("nothing was changed")}
	}

	return nil
}
