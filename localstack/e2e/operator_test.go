//go:build e2e

package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

// operator is a person at night who has the text of an alarm or a line of a log, a terminal and idem.
type operator struct {
	t     *testing.T
	p     *pipeline.Pipeline
	began time.Time
	read  strings.Builder // the text that the night began with, and what the terminal has shown
}

// atMost is what the operator has from the first text to the end. A night takes some seconds, but this machine may be busy.
const atMost = 5 * time.Minute

// calledBy is an operator who was called by an alarm of the deployed stack.
func calledBy(t *testing.T, p *pipeline.Pipeline, stack, alarm string) *operator {
	t.Helper()

	var answer struct {
		Alarms []struct {
			Name string `xml:"AlarmName"`
			Text string `xml:"AlarmDescription"`
		} `xml:"DescribeAlarmsResult>MetricAlarms>member"`
	}

	askForm(t, "monitoring", "2010-08-01", &answer, url.Values{"Action": {"DescribeAlarms"}, "AlarmNamePrefix": {stack + "-" + alarm}})

	if len(answer.Alarms) != 1 {
		t.Fatalf("alarm %s of %s: %+v", alarm, stack, answer)
	}

	if text := answer.Alarms[0].Text; len(text) > 1024 {
		t.Errorf("the text has %d characters, and CloudWatch takes 1,024: %s", len(text), text)
	}

	return reader(t, p, answer.Alarms[0].Text)
}

// lineOf is an operator who has found a line in the log of the deployed function.
func lineOf(t *testing.T, p *pipeline.Pipeline, outcome, look string) *operator {
	t.Helper()

	var line string

	await(t, "a line with the outcome "+outcome, time.Minute, func() (bool, string) {
		lines := logLines(t, functionLogs(p))
		for _, line = range lines {
			if strings.Contains(line, `"outcome":"`+outcome+`"`) && strings.Contains(line, look) {
				return true, ""
			}
		}

		return false, fmt.Sprintf("%d lines", len(lines))
	})

	return reader(t, p, line)
}

func reader(t *testing.T, p *pipeline.Pipeline, text string) *operator {
	t.Helper()

	o := &operator{t: t, p: p, began: time.Now()}
	o.note(text)

	return o
}

func (o *operator) note(text string) {
	o.read.WriteString(text + "\n")
	o.t.Log(text)
}

// idem types a command, and demands its exit code and what is on the screen. Its name and its flags must have been read before,
// but for those that every change has.
func (o *operator) idem(code int, args []string, screen ...string) {
	o.t.Helper()

	for i, arg := range args {
		if i == 0 {
			arg = "idem " + arg
		}

		isName := i == 0 || strings.HasPrefix(arg, "--") && arg != "--yes" && arg != "--why"
		if isName && !strings.Contains(o.read.String(), arg) {
			o.t.Errorf("nothing that the operator has read names %q:\n%s", arg, o.read.String())
		}
	}

	got, out := runIdem(o.t, o.named("IDEM_TABLE", o.p.RecordTableName), o.named("IDEM_NAMESPACE", "payments"), args)
	o.note(fmt.Sprintf("$ idem %s\n%s", strings.Join(args, " "), out))

	if got != code {
		o.t.Errorf("idem %s: exit code %d, want %d:\n%s", args, got, code, out)
	}

	for _, text := range screen {
		if !strings.Contains(out, text) {
			o.t.Errorf("idem %s does not show %q:\n%s", args, text, out)
		}
	}
}

// runIdem runs a command and returns its exit code and what it shows.
func runIdem(t *testing.T, table, namespace string, args []string) (code int, screen string) {
	t.Helper()

	cmd := exec.CommandContext(t.Context(), filepath.Join(built.folder, "idem"), args...)
	cmd.Env = append(os.Environ(), "IDEM_TABLE="+table, "IDEM_NAMESPACE="+namespace)

	out, err := cmd.CombinedOutput()
	if exited, ok := errors.AsType[*exec.ExitError](err); ok {
		return exited.ExitCode(), string(out)
	}

	return 0, must(t, string(out), err)
}

// send sends the announcement of a payment, as an operator does, to the queue that the alarm names.
func (o *operator) send(id, why string) {
	o.t.Helper()
	o.idem(0, []string{"send", "--target", "payment.captured=" + o.named("payment.captured", ""), id, "--why", why, "--yes"},
		"1 sent, 0 left, 0 parked")
}

// named is the value that a text gives to a name. Alarms say where their records are; for a line of a log the runbook does.
func (o *operator) named(name, otherwise string) string {
	found := regexp.MustCompile(name + `=([^\s,;]+)`).FindStringSubmatch(o.read.String())
	if found == nil {
		return otherwise
	}

	return strings.TrimRight(found[1], ".:")
}

// mended demands that a payment is right: in its account, with one entry, announced under one id, and in time.
func (o *operator) mended(id string, amount int) {
	o.t.Helper()
	awaitDone(o.t, o.p, id)
	wantAccounts(o.t, o.p, id, map[string]pipeline.Account{id: {Balance: amount, Payments: 1}})
	wantEntries(o.t, o.p, id, 1)
	wantAnnounced(o.t, o.p, id, 1)
	o.inTime()
}

func (o *operator) inTime() {
	o.t.Helper()

	took := time.Since(o.began)
	o.t.Logf("mended after %v", took.Round(time.Second))

	if took > atMost {
		o.t.Errorf("it took %v, want less than %v", took, atMost)
	}
}

// logLines are the lines of a log group, which LocalStack makes with the first invocation.
func logLines(t *testing.T, group string) (lines []string) {
	t.Helper()

	named := fmt.Sprintf(`{"logGroupNamePrefix":%q}`, group)
	if groups := ask(t, "logs", "application/x-amz-json-1.1", "Logs_20140328.DescribeLogGroups", named); !bytes.Contains(groups, []byte(group+`"`)) {
		return nil
	}

	next := ""

	for {
		request, err := json.Marshal(struct {
			Group string `json:"logGroupName"`
			Next  string `json:"nextToken,omitempty"`
		}{group, next})
		if err != nil {
			t.Fatal(err)
		}

		var answer struct {
			Events []struct {
				Message string `json:"message"`
			} `json:"events"`
			NextToken string `json:"nextToken"`
		}

		content := ask(t, "logs", "application/x-amz-json-1.1", "Logs_20140328.FilterLogEvents", string(request))
		if err := json.Unmarshal(content, &answer); err != nil {
			t.Fatalf("%v: %s", err, content)
		}

		for _, event := range answer.Events {
			lines = append(lines, strings.TrimSpace(event.Message))
		}

		if next = answer.NextToken; next == "" {
			return lines
		}
	}
}

// askForm asks a service that takes a form and answers with XML. A nil answer is not read.
func askForm(t *testing.T, service, version string, answer any, form url.Values) {
	t.Helper()

	form.Set("Version", version)

	content := ask(t, service, "application/x-www-form-urlencoded", "", form.Encode())
	if answer == nil {
		return
	}

	if err := xml.Unmarshal(content, answer); err != nil {
		t.Fatalf("%v: %s", err, content)
	}
}

// ask asks a service that the module has no client for. LocalStack takes any signature.
func ask(t *testing.T, service, contentType, target, body string) []byte {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	request, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv("AWS_ENDPOINT_URL"), bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}

	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Authorization",
		"AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/"+service+"/aws4_request, SignedHeaders=host, Signature=0")

	if target != "" {
		request.Header.Set("X-Amz-Target", target)
	}

	response, err := (&http.Client{}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()

	content, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v: %s", service, response.StatusCode, err, content)
	}

	return content
}
