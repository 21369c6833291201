package main

import (
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// clock compares this machine's clock with the Date of each answer. Whether a lease is over is judged by this machine's clock, so
// that a wrong one shows a worker that lives as stuck.
type clock struct {
	aws.HTTPClient

	mu    sync.Mutex
	off   time.Duration // how much this machine is ahead, by the last answer
	known bool
}

// resolution is how exact the Date of an answer is: it was cut to seconds, and the answer was on its way for a moment.
const resolution = 1500 * time.Millisecond

// Do sends a request.
func (c *clock) Do(r *http.Request) (*http.Response, error) {
	answer, err := c.HTTPClient.Do(r)
	if err != nil {
		return answer, err //nolint:wrapcheck // the SDK judges it
	}

	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()

		c.off, c.known = time.Since(date.Add(time.Second/2)), true // half a second was cut on average
	}

	return answer, nil
}

// offset is how much this machine is ahead; false if no answer had a Date.
func (c *clock) offset() (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.off.Round(time.Second / 10), c.known // a tenth
}

// isWrong reports whether the clocks differ by more than the skew.
func (c *clock) isWrong(skew time.Duration) (time.Duration, bool) {
	off, _ := c.offset()

	return off, off.Abs() > skew+resolution
}
