// Package dynamodblocal starts DynamoDB Local for the length of a program, without Docker, by localstack/dynamodb-local.sh.
package dynamodblocal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Start starts a DynamoDB Local on a free port and waits until it answers; root is the module's root folder. It ends with stop,
// with ctx, and with our end of its standard input: it can't outlive this process, even if that is killed. What the script says,
// such as that it fetches for a while, goes to says.
func Start(ctx context.Context, root string, says io.Writer) (endpoint string, stop func() error, err error) {
	script := filepath.Join(root, "localstack", "dynamodb-local.sh")
	if _, err := os.Stat(script); err != nil {
		return "", nil, fmt.Errorf("run this in the module's root folder, or set DYNAMODB_LOCAL_ENDPOINT: %w", err)
	}

	//nolint:gosec // the script of this module
	cmd := exec.CommandContext(ctx, "bash", script, "with", "sh", "-c", `echo "$DYNAMODB_LOCAL_ENDPOINT"; exec cat`)
	cmd.Stderr = says

	in, errIn := cmd.StdinPipe()

	out, errOut := cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut); err != nil {
		return "", nil, fmt.Errorf("DynamoDB Local: %w", err)
	}

	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("DynamoDB Local: %w", err)
	}

	stop = func() error {
		errClose := in.Close()
		_, errRead := io.Copy(io.Discard, out)

		return errors.Join(errClose, errRead, cmd.Wait())
	}

	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return "", nil, errors.Join(errors.New("DynamoDB Local did not start"), stop())
	}

	return strings.TrimSpace(line), stop, nil
}
