//go:build kafka

package kafka_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

// broker is a broker of Apache Kafka in a process of its own: kafka.sh run, whose path KAFKA_BROKER has.
type broker struct {
	in  io.Writer
	out *bufio.Scanner
}

func startBroker(t *testing.T) *broker {
	t.Helper()

	script := os.Getenv("KAFKA_BROKER")
	if script == "" {
		t.Fatal("KAFKA_BROKER is not set: localstack/kafka/kafka.sh with go test -tags kafka ./localstack/kafka")
	}

	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), script, "run") // it ends with its input
	cmd.Stderr = os.Stderr

	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}

	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})

	return &broker{in, bufio.NewScanner(out)}
}

func (b *broker) Fetch(topic string, partition int, offset int64, limit int) (records []events.KafkaRecord, err error) {
	answer, err := b.ask("fetch %s %d %d %d", topic, partition, offset, limit)
	if err != nil {
		return nil, err
	}

	return records, json.Unmarshal([]byte(answer), &records)
}

// ask sends a command and returns its answer.
func (b *broker) ask(format string, args ...any) (string, error) {
	if _, err := fmt.Fprintf(b.in, format+"\n", args...); err != nil {
		return "", err
	}

	for b.out.Scan() {
		if answer, ok := strings.CutPrefix(b.out.Text(), "ok "); ok {
			return answer, nil
		}

		if cause, ok := strings.CutPrefix(b.out.Text(), "error "); ok {
			return "", fmt.Errorf("%s: %s", fmt.Sprintf(format, args...), cause)
		}
	}

	return "", fmt.Errorf("the broker ended: %w", io.ErrUnexpectedEOF)
}

func (b *broker) create(topic string, partitions int) error {
	_, err := b.ask("create %s %d", topic, partitions)

	return err
}

func (b *broker) remove(topic string) error {
	_, err := b.ask("delete %s", topic)

	return err
}

func (b *broker) send(topic string, partition int, value string) error {
	_, err := b.ask("send %s %d %s", topic, partition, base64.StdEncoding.EncodeToString([]byte(value)))

	return err
}

func TestAFunctionThatFailsAtRandomReadsABrokerOnceAndInOrder(t *testing.T) {
	readOnceAndInOrder(t, startBroker(t), 1)
}
