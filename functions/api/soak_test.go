package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

var soak = flag.Duration("soak", 0, "how long about the many clients pay; 0: a few hundred payments")

// clients is how many there are at a time.
const clients = 64

// printIdle answers with what the process has while it does nothing else.
func printIdle(w http.ResponseWriter, _ *http.Request) {
	runtime.GC()

	var memory runtime.MemStats

	runtime.ReadMemStats(&memory)
	fmt.Fprintf(w, `{"goroutines":%d,"heap":%d}`, runtime.NumGoroutine(), memory.HeapAlloc)
}

// TestManyClientsAtATime has 64 clients at one server, as on Lambda Managed Instances, on ECS or behind a load balancer. Each
// payment is sent once, twice one after the other, or twice at the same time. In the middle the server gets SIGTERM, and another
// one takes its place. Each payment is accepted once, with one answer, and passed on under one id; each line of the log and of
// the metrics is whole.
func TestManyClientsAtATime(t *testing.T) {
	db, sent := startServicesThatTake(t, func() time.Duration { return 4 * time.Millisecond })
	town := &town{T: t, port: freePort(t), answers: map[string]string{}}
	payments := max(4*clients, int(soak.Seconds()*400)) // about as many are made in a second by a machine of two cores

	stop := town.start()
	running := town.pay(payments)

	for town.answered.Load() < int64(payments/2) {
		if !pause(t.Context(), 5*time.Millisecond) {
			return
		}
	}

	stop(syscall.SIGTERM)

	stop = town.start()

	running.Wait()

	idle := town.idle()

	stop(syscall.SIGTERM)

	if passedOn, left := sent.check(t, db, payments, len(town.answers)); passedOn+left != payments {
		t.Errorf("%d payments were passed on and %d wait, want %d", passedOn, left, payments)
	}

	// However many payments were made: the goroutines of a server for the connections that the clients keep, two each while they send
	// twins.
	if idle.Goroutines > 4*clients+50 || idle.Heap > 16<<20 {
		t.Errorf("the idle server has %+v", idle)
	}

	if perWrite := float64(len(db.Requests())) / float64(town.calls.Load()+int64(payments)); perWrite > 0.5 {
		t.Errorf("%.2f requests a write, so they do not share", perWrite)
	} else {
		t.Logf("%d payments in %d requests of clients, %d of them in vain: %.3f requests of DynamoDB a write; idle: %d goroutines, %d KB",
			payments, town.calls.Load(), town.failed.Load(), perWrite, idle.Goroutines, idle.Heap>>10)
	}
}

// town is clients at one port.
type town struct {
	*testing.T

	port          string
	calls, failed atomic.Int64
	answered      atomic.Int64 // payments
	mu            sync.Mutex
	answers       map[string]string // by key
}

// start starts a server. stop ends it by a signal, and demands that it ends well and that each of its lines is whole.
func (w *town) start() (stop func(os.Signal)) {
	w.Helper()

	var out, errs bytes.Buffer

	cmd := exec.CommandContext(w.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), servePort+"="+w.port, "AWS_LAMBDA_FUNCTION_NAME=api", "AWS_LAMBDA_LOG_FORMAT=JSON")
	cmd.Stdout, cmd.Stderr = &out, &errs

	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}

	waitFor(w.Context(), w.port)

	return func(s os.Signal) {
		_ = cmd.Process.Signal(s)
		if err := cmd.Wait(); err != nil {
			w.Errorf("the server: %v\n%s", err, errs.String())
		}

		lines := 0

		for line := range bytes.Lines(out.Bytes()) {
			if lines++; !json.Valid(line) {
				w.Errorf("a line is torn: %s", line)
			}
		}

		if lines == 0 {
			w.Error("the server has printed no line")
		}
	}
}

// pay lets the clients pay.
func (w *town) pay(payments int) *sync.WaitGroup {
	var (
		running sync.WaitGroup
		next    atomic.Int64
	)

	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * clients}, Timeout: time.Minute}

	for range clients {
		running.Go(func() {
			for n := next.Add(1); n <= int64(payments); n = next.Add(1) {
				key := fmt.Sprint("key-", n)

				switch n % 4 { // a quarter each, and half of them once
				case 0:
					w.send(client, key)
					w.send(client, key)
				case 1:
					var twin sync.WaitGroup

					twin.Go(func() { w.send(client, key) })
					w.send(client, key)
					twin.Wait()
				default:
					w.send(client, key)
				}

				w.answered.Add(1)
			}
		})
	}

	return &running
}

// send sends a payment until it is accepted. It may be sent while no server runs.
func (w *town) send(client *http.Client, key string) {
	for tries := 0; ; tries++ {
		w.calls.Add(1)

		answer, err := w.post(client, key)
		if err == nil {
			w.mu.Lock()
			defer w.mu.Unlock()

			if first, isKnown := w.answers[key]; isKnown && first != answer {
				w.Errorf("%s was answered with %s and with %s", key, first, answer)
			}

			w.answers[key] = answer

			return
		}

		w.failed.Add(1)

		if tries > 1000 || !pause(w.Context(), 20*time.Millisecond) {
			w.Errorf("%s: %v", key, err)

			return
		}
	}
}

func (w *town) post(client *http.Client, key string) (string, error) {
	request, err := http.NewRequestWithContext(context.WithoutCancel(w.Context()), http.MethodPost,
		"http://"+net.JoinHostPort("127.0.0.1", w.port)+"/payments", strings.NewReader(`{"account":"a-1","amount":1250}`))
	if err != nil {
		return "", err
	}

	request.Header.Set("Idempotency-Key", `"`+key+`"`)

	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()

	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusAccepted {
		err = fmt.Errorf("status %d: %s", response.StatusCode, body)
	}

	return string(body), err
}

// idle asks the server what it has.
func (w *town) idle() (has struct{ Goroutines, Heap int }) {
	response, err := http.Get("http://" + net.JoinHostPort("127.0.0.1", w.port) + "/idle")
	if err != nil {
		w.Error(err)

		return has
	}
	defer response.Body.Close()

	if err := json.NewDecoder(response.Body).Decode(&has); err != nil {
		w.Error(err)
	}

	return has
}
