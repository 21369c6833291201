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
		fmt.Fprintf(a.out, "time to live is on for %q already\n", want)

		return nil
	case isOn:
		return a.turnTTLOff(ctx, d, name, yes)
	default:
		return a.turnTTLOn(ctx, d, want, yes)
	}
}

// describeTTL returns the status of the table's Time to Live and the attribute that it is for; both are empty if the answer has none.
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

// turnTTLOff turns Time to Live off for another attribute. DynamoDB refuses to turn it on for the records' attribute in the same hour.
func (a *app) turnTTLOff(ctx context.Context, d *desk, name string, yes bool) error {
	text := fmt.Sprintf("Turn time to live of table %s off for %q; nothing is deleted by it then, and this must be run again in an hour", d.store.Table(), name)
	if err := a.confirm(bufio.NewReader(a.in), text, yes); err != nil {
		return err
	}

	if err := updateTTL(ctx, d, &types.TimeToLiveSpecification{AttributeName: &name, Enabled: new(false)}); err != nil {
		return err
	}

	fmt.Fprintf(a.out, "time to live is off for %q; run this again in an hour\n", name)

	return nil
}

// turnTTLOn turns Time to Live on for the attribute of the records, so that DynamoDB deletes those past their retention.
func (a *app) turnTTLOn(ctx context.Context, d *desk, want string, yes bool) error {
	text := fmt.Sprintf("Turn time to live of table %s on for %q", d.store.Table(), want)
	if err := a.confirm(bufio.NewReader(a.in), text, yes); err != nil {
		return err
	}

	if err := updateTTL(ctx, d, &types.TimeToLiveSpecification{AttributeName: &want, Enabled: new(true)}); err != nil {
		return err
	}

	fmt.Fprintf(a.out, "time to live is on for %q\n", want)

	return nil
}

// updateTTL sends the change of the table's Time to Live.
func updateTTL(ctx context.Context, d *desk, change *types.TimeToLiveSpecification) error {
	_, err := d.client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: new(d.store.Table()), TimeToLiveSpecification: change})
	if err != nil {
		return fmt.Errorf("update time to live: %w", err)
	}

	return nil
}
