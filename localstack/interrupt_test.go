package localstack_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary is the LocalStack of these tests, too: stack.sh finds it where it installs Python.
func TestMain(m *testing.M) {
	if strings.HasSuffix(os.Args[0], "/bin/python") {
		serveLocalStack()
	}

	os.Exit(m.Run())
}

// serveLocalStack answers as much as stack.sh asks for. A file beside the cache's run folder makes it fail in one way.
func serveLocalStack() {
	ill := func(how string) bool {
		_, err := os.Stat(filepath.Join(os.Getenv("IDEMDDB_CACHE"), how))

		return err == nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/_localstack/health", func(w http.ResponseWriter, _ *http.Request) {
		if ill("never-healthy") {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		if ill("no-dynamodb") {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})

	server := &http.Server{Addr: os.Getenv("GATEWAY_LISTEN"), Handler: mux, ReadHeaderTimeout: time.Minute}

	fmt.Fprintln(os.Stderr, server.ListenAndServe())
	os.Exit(1)
}

// machine is a cache folder in which everything is installed, and a free port.
type machine struct {
	cache string
	port  string
	env   []string
}

func newMachine(t *testing.T) *machine {
	t.Helper()

	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()

	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}

	m := &machine{cache: t.TempDir(), port: port}
	m.env = append(os.Environ(), "IDEMDDB_CACHE="+m.cache, "PORT="+port, "LOCALSTACK=")

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	m.script(t, `d=$IDEMDDB_CACHE/dynamodb-local-$(sed -n 's/^version=//p' dynamodb-local.sh); mkdir -p "$d"
		cat dynamodb-local/pom.xml dynamodb-local/Loopback.java | cksum > "$d/.recipe"
		v=$IDEMDDB_CACHE/localstack-$(sed -n 's/^version=//p' stack.sh)-$(cksum < process/requirements.txt | cut -d' ' -f1)
		mkdir -p "$v/bin"; touch "$v/.done"; ln -s "`+self+`" "$v/bin/python"`)
	t.Cleanup(func() { m.script(t, "./stack.sh down") })

	return m
}

// script runs a shell script in this folder, and returns what it printed.
func (m *machine) script(t *testing.T, script string) string {
	t.Helper()

	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "bash", "-c", script)
	cmd.Env = m.env

	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}

	return string(out)
}

// processes are the command lines of what runs from the machine's cache.
func (m *machine) processes(t *testing.T) (lines []string) {
	t.Helper()

	out, err := exec.CommandContext(context.WithoutCancel(t.Context()), "ps", "-ww", "-eo", "stat=,args=").Output()
	if err != nil {
		t.Fatal(err)
	}

	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, m.cache) && !strings.HasPrefix(line, "Z") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}

	return lines
}

// started is a command in a process group of its own, as a shell starts it.
type started struct {
	*exec.Cmd

	out *bytes.Buffer
}

func (m *machine) start(t *testing.T, name string, args ...string) started {
	t.Helper()

	s := started{exec.CommandContext(t.Context(), name, args...), &bytes.Buffer{}}
	s.Env, s.Stdout, s.Stderr, s.SysProcAttr = m.env, s.out, s.out, &syscall.SysProcAttr{Setpgid: true}
	s.WaitDelay = 10 * time.Second

	if err := s.Start(); err != nil {
		t.Fatal(err)
	}

	return s
}

// interrupt does what Ctrl-C does, and waits for the end.
func (s started) interrupt(t *testing.T) {
	t.Helper()

	if err := syscall.Kill(-s.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}

	if err := s.Wait(); err == nil {
		t.Errorf("it succeeded, although it was interrupted:\n%s", s.out)
	}
}

// await waits until something is so, for half a minute.
func await(t *testing.T, what string, ask func() bool) {
	t.Helper()

	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()

	for range 1500 {
		if ask() {
			return
		}

		<-tick.C
	}

	t.Fatalf("never: %s", what)
}

func exists(path ...string) bool {
	_, err := os.Lstat(filepath.Join(path...)) // a lock is a link that leads nowhere

	return err == nil
}

func TestStackIsUpWhenItWorks(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("it starts the whole script many times")
	}

	m := newMachine(t)

	if out := m.script(t, "./stack.sh up"); !strings.Contains(out, "AWS_ENDPOINT_URL=http://127.0.0.1:"+m.port) || len(m.processes(t)) != 1 {
		t.Errorf("%v after\n%s", m.processes(t), out)
	}

	if out := m.script(t, "./stack.sh running && ./stack.sh up"); !strings.Contains(out, "already up") || len(m.processes(t)) != 1 {
		t.Errorf("%v after\n%s", m.processes(t), out)
	}

	if err := os.WriteFile(filepath.Join(m.cache, "no-dynamodb"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	if out := m.script(t, "! ./stack.sh up"); !strings.Contains(out, "does not work") || !strings.Contains(out, "make local-down PORT="+m.port) {
		t.Errorf("without DynamoDB:\n%s", out)
	}

	if out := m.script(t, "./stack.sh down; ! ./stack.sh running"); !strings.Contains(out, "stopped") || len(m.processes(t)) != 0 {
		t.Errorf("%v after\n%s", m.processes(t), out)
	}
}

func TestStackStartsOnceForTwo(t *testing.T) {
	t.Parallel()

	m := newMachine(t)

	out := m.script(t, "./stack.sh up & ./stack.sh up; wait $!")
	if strings.Count(out, "starting LocalStack") != 1 || strings.Count(out, "already up") != 1 || len(m.processes(t)) != 1 {
		t.Errorf("%v after\n%s", m.processes(t), out)
	}
}

func TestStackLeavesNothingWhenItIsInterrupted(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("it starts the whole script many times")
	}

	t.Run("while it waits for LocalStack", func(t *testing.T) {
		t.Parallel()

		m := newMachine(t)
		if err := os.WriteFile(filepath.Join(m.cache, "never-healthy"), nil, 0o600); err != nil {
			t.Fatal(err)
		}

		up := m.start(t, "./stack.sh", "up")

		await(t, "LocalStack runs", func() bool { return len(m.processes(t)) == 1 })
		up.interrupt(t)

		if left := m.processes(t); len(left) > 0 || exists(m.cache, "run", "localstack-"+m.port+".lock") {
			t.Errorf("%v is left, after\n%s", left, up.out)
		}
	})

	t.Run("while it installs", func(t *testing.T) {
		t.Parallel()

		// The installation into a virtual environment of this Python 3.13 never ends.
		m, tools := newMachine(t), t.TempDir()
		m.script(t, `rm -rf "$IDEMDDB_CACHE"/localstack-*`)

		python := `#!/bin/bash
case "$*" in
*version_info*) echo 3.13;;
*ensurepip*) ;;
"-m venv "*) mkdir -p "$3/bin"; cp "$0" "$3/bin/python";;
*) touch "$IDEMDDB_CACHE/installing"; sleep 600;;
esac
`
		if err := os.WriteFile(filepath.Join(tools, "python3.13"), []byte(python), 0o700); err != nil {
			t.Fatal(err)
		}

		m.env = append(m.env, "PATH="+tools+":"+os.Getenv("PATH"))
		up := m.start(t, "./stack.sh", "up")

		await(t, "it installs", func() bool { return exists(m.cache, "installing") })
		up.interrupt(t)

		folders, err := filepath.Glob(filepath.Join(m.cache, "localstack-*"))
		if left := m.processes(t); len(left) > 0 || len(folders) > 0 || err != nil {
			t.Errorf("%v and %v are left, after\n%s", left, folders, up.out)
		}
	})
}

// The sam program of this test only waits.
func TestLocalEndsWhatItStartedWhenItIsInterrupted(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("it starts the whole script many times")
	}

	for name, wasUp := range map[string]bool{"LocalStack was not up": false, "LocalStack was up before": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			m := newMachine(t)
			sam := filepath.Join(m.cache, "sam")

			if err := os.WriteFile(sam, []byte("#!/bin/sh\ntouch \"$IDEMDDB_CACHE/building\"\nexec sleep 600\n"), 0o700); err != nil {
				t.Fatal(err)
			}

			m.env = append(m.env, "SAM="+sam)

			if wasUp {
				m.script(t, "./stack.sh up")
			}

			local := m.start(t, "./local.sh", "up")

			await(t, "it builds and LocalStack is up", func() bool {
				return exists(m.cache, "building") && exists(m.cache, "run", "localstack-"+m.port, "pid") && len(m.processes(t)) > 0
			})
			local.interrupt(t)

			want := 0
			if wasUp {
				want = 1
			}

			if left := m.processes(t); len(left) != want {
				t.Errorf("%v is left, want %d processes, after\n%s", left, want, local.out)
			}

			if said := strings.Contains(local.out.String(), "LocalStack runs on, on port "+m.port); said != wasUp {
				t.Errorf("it says that LocalStack runs on: %v, want %v\n%s", said, wasUp, local.out)
			}
		})
	}
}

// Wherever it is when it is interrupted: while it checks, builds, waits for LocalStack, or deploys. -short leaves out the moments
// between the first, the fifth and the last one.
func TestLocalLeavesNothingAtTenMoments(t *testing.T) {
	t.Parallel()

	for i := range 10 {
		after := time.Duration(i*200) * time.Millisecond

		t.Run(fmt.Sprint("after ", after), func(t *testing.T) {
			t.Parallel()

			if testing.Short() && i != 4 {
				t.Skip("another moment of the same program")
			}

			m := newMachine(t)
			sam := filepath.Join(m.cache, "sam")

			if err := os.WriteFile(sam, []byte("#!/bin/sh\n[ \"$1\" = build ] && exec sleep 0.5\nexec sleep 600\n"), 0o700); err != nil {
				t.Fatal(err)
			}

			m.env = append(m.env, "SAM="+sam)
			local := m.start(t, "./local.sh", "up")

			<-time.After(after) // the test waits a moment, whatever happens in it
			local.interrupt(t)

			if left := m.processes(t); len(left) > 0 {
				t.Errorf("%v is left, after\n%s", left, local.out)
			}
		})
	}
}

func TestStackRefusesWhatIsNoPort(t *testing.T) {
	t.Parallel()

	for _, port := range []string{"abc", "80000", "0", "-1", "4566 ", "45.66", "000000"} {
		for _, command := range []string{"up", "env", "down", "check"} {
			cmd := exec.CommandContext(t.Context(), "./stack.sh", command)
			cmd.Env = append(os.Environ(), "IDEMDDB_CACHE="+filepath.Join(t.TempDir(), "none"), "PORT="+port)

			out, err := cmd.CombinedOutput()
			if want := "PORT=" + port + "? It is a number from 1 to 65535\n"; !strings.HasSuffix(string(out), want) || strings.Count(string(out), "\n") != 1 {
				t.Errorf("PORT=%s %s: got %q, want %q", port, command, out, want)
			}

			if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
				t.Errorf("PORT=%s %s: %v", port, command, err)
			}
		}
	}
}
