//go:build e2e

package e2e_test

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

const quickStartStack = "e2e-quickstart"

// The program of README.md and the template of docs/getting-started.md, deployed as they stand: a payment that comes twice is
// done, and idem finds no fault, without being told anything but the function, the table and the namespace.
func testQuickStart(t *testing.T) {
	t.Helper()

	q := deployPage(t, "quickstart", quickStartStack)

	p, err := pipeline.New(t.Context(), pipeline.Names{})
	if err != nil {
		t.Fatal(err)
	}

	watch(t, p.DynamoDB, q.names["Records"])

	for range 2 {
		body, err := json.Marshal(map[string]string{"QueueUrl": q.names["Queue"], "MessageBody": `{"paymentId":"p-1"}`})
		if err != nil {
			t.Fatal(err)
		}

		ask(t, "sqs", "application/x-amz-json-1.0", "AmazonSQS.SendMessage", string(body))
	}

	await(t, "the payment to be done", time.Minute, func() (bool, string) {
		_, screen := runIdem(t, q.names["Records"], "payments", []string{"show", "p-1"})

		return strings.Contains(screen, "COMPLETED. The work is done."), screen
	})

	code, screen := runIdem(t, q.names["Records"], "payments", []string{"check", "--function", q.names["Payments"]})
	t.Log(screen)

	if code != 0 || strings.Contains(screen, "FAULT") || !strings.Contains(screen, "ok     retention") {
		t.Errorf("idem check: exit code %d, want 0 without a fault", code)
	}
}

// deployedPage has the names of the stack's resources, by their names in the template.
type deployedPage struct{ names map[string]string }

// deployPage builds and deploys the program and the template of a page, which stand in a folder of functions/testdata. Only the
// processor and the folder of the program are another.
func deployPage(t *testing.T, program, stack string) deployedPage {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()

	page, err := filepath.Abs(filepath.Join("..", "..", "functions", "testdata", program))
	if err != nil {
		t.Fatal(err)
	}

	source, err := os.ReadFile(filepath.Join(page, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	_, processor, _ := strings.Cut(architecture(), "=")
	here := strings.NewReplacer("CodeUri: .\n", "CodeUri: "+page+"\n", "Architectures: [arm64]", "Architectures: ["+processor+"]")
	folder := t.TempDir()
	template := filepath.Join(folder, "template.yaml")

	if err := os.WriteFile(template, []byte(here.Replace(string(source))), 0o600); err != nil {
		t.Fatal(err)
	}

	built.runSAM(ctx, t, "build", "--template-file", template, "--build-dir", filepath.Join(folder, "build"))
	stack = built.deploy(t, stack, "--template-file", filepath.Join(folder, "build", "template.yaml"),
		"--s3-prefix", stack, "--capabilities", "CAPABILITY_IAM")

	return deployedPage{resourcesOf(t, stack)}
}

func (b build) runSAM(ctx context.Context, t *testing.T, args ...string) {
	t.Helper()

	cmd := exec.CommandContext(ctx, b.sam, args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")

	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("sam %s: %v\n%s", args[0], err, out)
	}
}

// resourcesOf are the names of a stack's resources, by their names in its template.
func resourcesOf(t *testing.T, stack string) map[string]string {
	t.Helper()

	var answer struct {
		Resources []struct {
			Logical  string `xml:"LogicalResourceId"`
			Physical string `xml:"PhysicalResourceId"`
		} `xml:"DescribeStackResourcesResult>StackResources>member"`
	}

	askForm(t, "cloudformation", "2010-05-15", &answer, url.Values{"Action": {"DescribeStackResources"}, "StackName": {stack}})

	names := map[string]string{}
	for _, r := range answer.Resources {
		names[r.Logical] = r.Physical
	}

	return names
}
