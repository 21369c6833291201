package main

import (
	"os"
	"path/filepath"
	"time"
)

// workArgument makes this program a worker process.
const workArgument = "work"

// The contenders, in the order of the rows.
const (
	namePython      = "Powertools, Python"
	nameTypeScript  = "Powertools, TypeScript"
	nameConditional = "conditional put"
	nameTransaction = "transaction by hand"
	nameLibrary     = "go-idemddb"
	nameStaged      = "go-idemddb, staged"
)

// Times that all contenders have in common.
const (
	functionTimeout = 3 * time.Second
	lease           = 2 * time.Second // Powertools has no option for it: its lease is the time that the invocation has left
	visibility      = 4 * time.Second // of a message that was received
	conflictPause   = 25 * time.Millisecond
)

// contender is one way to write the consumer.
type contender struct {
	name     string
	language string
	command  []string
	env      []string
}

// contenders returns all of them. tools is where Powertools is installed; self is this program.
func contenders(self, tools, workers string) []contender {
	list := []contender{
		{namePython, "Python", []string{filepath.Join(tools, "python", "bin", "python"), filepath.Join(workers, "worker.py")}, nil},
		{
			nameTypeScript, "Node.js",
			[]string{"node", filepath.Join(workers, "worker.js")}, []string{"NODE_PATH=" + filepath.Join(tools, "node", "node_modules")},
		},
	}

	for _, name := range []string{nameConditional, nameTransaction, nameLibrary, nameStaged} {
		list = append(list, contender{name, "Go", []string{self, workArgument, name}, nil})
	}

	return list
}

// environment is what a process of a contender finds: nothing of the user's AWS settings.
func (c contender) environment(more ...string) []string {
	env := []string{
		"AWS_REGION=us-east-1", "AWS_DEFAULT_REGION=us-east-1", "AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=SECRET",
		"AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE=" + os.DevNull, "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull,
		"AWS_LAMBDA_FUNCTION_NAME=payments", "AWS_LAMBDA_FUNCTION_VERSION=1", "POWERTOOLS_SERVICE_NAME=payments",
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"),
	}

	return append(append(env, c.env...), more...)
}
