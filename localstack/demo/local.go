package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

const localScript = "localstack/dynamodb-local.sh"

// startLocal starts a DynamoDB Local that ends with our end of its standard input: it can't outlive this process, even if
// that is killed.
func startLocal(ctx context.Context) (endpoint string, stop func() error, err error) {
	if _, err := os.Stat(localScript); err != nil {
		return "", nil, fmt.Errorf("run this in the module's root folder, or set DYNAMODB_LOCAL_ENDPOINT: %w", err)
	}

	cmd := exec.CommandContext(ctx, "bash", localScript, "with", "sh", "-c", `echo "$DYNAMODB_LOCAL_ENDPOINT"; exec cat`)
	cmd.Stderr = os.Stderr // it may fetch for a while, and says so

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
