package lambdawrap_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

var (
	simulations = flag.Int("simulations", 300, "how many random simulations of a queue and its workers run")
	firstSeed   = flag.Uint64("seed", 1, "the seed of the first simulation; the others count on from it")
)

// A simulation is a queue whose messages are worked on by two processes, while requests, handlers and hooks fail at random. After
// a minute nothing fails any more, and the queue must become empty. The rules that are checked meanwhile stand at check.
func TestNoRandomSimulationBreaksTheRules(t *testing.T) {
	t.Parallel()

	for part := range uint64(4) {
		t.Run(fmt.Sprint("part ", part), func(t *testing.T) {
			t.Parallel()

			for seed := part; seed < uint64(rounds(*simulations)) && !t.Failed(); seed += 4 {
				simulate(t, *firstSeed+seed)
			}
		})
	}
}

func simulate(t *testing.T, seed uint64) {
	t.Helper()

	s := newSimulation(seed)

	bubble(t, &s.store, func(h *harness) {
		s.harness = h
		s.run()
		s.report()
	})
}

// simulation is one random world.
type simulation struct {
	harness *harness
	seed    uint64

	// What is drawn at the start.
	store      idemddb.Options
	options    lambdawrap.Options
	isBatch    bool
	isFIFO     bool
	limit      time.Duration // of an invocation
	faulty     float64       // of the requests, and of the statements
	visibility bool
	deadLetter bool
	count      int // of messages
	keys       int

	start time.Time
	calm  time.Time // from when on nothing fails

	mu      sync.Mutex
	random  *rand.Rand
	broken  []string
	outage  time.Time // until when all requests fail
	queue   []*queued
	effects map[string]int // by key: handlers that succeeded
	runs    []*run
	begun   map[string]int       // by key: how many handlers have begun
	ended   map[string]bool      // by message id: done, as far as OnMessage or the answer says
	taken   map[string]bool      // by message id: the dead-letter hook took it
	unsafe  map[string]time.Time // by key: when a renewal of its lease met a fault, for the last time
}

// queued is a message in the queue.
type queued struct {
	events.SQSMessage

	group    string
	receives int
	visible  time.Time
	gone     bool
}

// call is one invocation.
type call struct {
	begun    time.Time
	deadline time.Time
	answered time.Time // zero: not yet
	ended    map[string]lambdawrap.Outcome
	running  int // handlers
}

// run is one message in the hands of a handler.
type run struct {
	call     *call
	id, key  string
	ctx      context.Context
	begun    time.Time
	finished time.Time // zero: not yet
	success  bool
	settled  bool // by the handler itself
}

func newSimulation(seed uint64) *simulation {
	r := rand.New(rand.NewPCG(seed, 7))
	one := func(of ...time.Duration) time.Duration { return of[r.IntN(len(of))] }

	s := &simulation{
		seed: seed, random: r, effects: map[string]int{}, begun: map[string]int{}, ended: map[string]bool{}, taken: map[string]bool{},
		unsafe: map[string]time.Time{},
		store: idemddb.Options{
			Single: r.IntN(3) == 0, Lease: one(4*time.Second, 10*time.Second, 30*time.Second), ClockSkew: time.Second,
			MaxAttempts: []int{0, 0, 0, 4}[r.IntN(4)], NoTakeover: r.IntN(8) == 0,
		},
		options: lambdawrap.Options{
			Workers: []int{1, 2, 5, 1000}[r.IntN(4)], Reserve: one(0, time.Second, 2*time.Second, 6*time.Second), Wait: one(0, 0, 2*time.Second, time.Minute),
		},
		isBatch: r.IntN(3) == 0, isFIFO: r.IntN(3) == 0, limit: one(3*time.Second, 10*time.Second, 40*time.Second),
		faulty: []float64{0, 0.1, 0.3}[r.IntN(3)], visibility: r.IntN(2) == 0, deadLetter: r.IntN(2) == 0, count: 1 + r.IntN(40),
	}
	s.keys = 1 + r.IntN(s.count)

	if s.reserve() > s.limit/2 {
		s.options.Reserve = 0
	}

	if left := s.limit - s.reserve(); r.IntN(3) == 0 && left > time.Second {
		s.options.Timeout = one(300*time.Millisecond, left/4, left/2)
	}

	return s
}

func (s *simulation) ChangeMessageVisibility(
	ctx context.Context, in *sqs.ChangeMessageVisibilityInput, _ ...func(*sqs.Options),
) (*sqs.ChangeMessageVisibilityOutput, error) {
	if err := s.misbehave(ctx); err != nil {
		return nil, err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	for _, q := range s.queue {
		if "receipt of "+q.MessageId == *in.ReceiptHandle {
			q.visible = time.Now().Add(time.Duration(in.VisibilityTimeout) * time.Second)
		}
	}

	return &sqs.ChangeMessageVisibilityOutput{}, nil
}

func (s *simulation) String() string {
	return fmt.Sprintf("batch %t, FIFO %t, workers %d, single %t, lease %v, reserve %v, timeout %v, wait %v, limit %v, faulty %v, attempts %d, "+
		"no takeover %t, %d messages, %d keys",
		s.isBatch, s.isFIFO, s.options.Workers, s.store.Single, s.store.Lease, s.reserve(), s.options.Timeout, s.options.Wait, s.limit, s.faulty,
		s.store.MaxAttempts, s.store.NoTakeover, s.count, s.keys)
}

// report says which rules were broken.
func (s *simulation) report() {
	lines := strings.Split(s.harness.log.String(), "\n")

	if len(s.broken) > 0 {
		s.harness.Errorf("seed %d, %s:\n%s\nlog:\n%s", s.seed, s, strings.Join(s.broken[:min(len(s.broken), 5)], "\n"),
			strings.Join(lines[max(0, len(lines)-40):], "\n"))
	}
}

func (s *simulation) reserve() time.Duration {
	if s.options.Reserve == 0 {
		return time.Second
	}

	return s.options.Reserve
}

// breaksf notes a broken rule. s.mu must be held.
func (s *simulation) breaksf(format string, args ...any) {
	s.broken = append(s.broken, fmt.Sprintf("after %v: ", time.Since(s.start))+fmt.Sprintf(format, args...))
}

func (s *simulation) run() {
	s.start = time.Now()
	s.calm = s.start.Add(time.Minute)
	s.fill()

	db := s.harness.db
	db.Intercept(s.requestFault)
	db.InterceptStatements(s.statementFault)

	var processes sync.WaitGroup

	for range 2 {
		processes.Go(s.process)
	}

	for time.Now().Before(s.calm) {
		time.Sleep(s.upTo(5 * time.Second))
		db.Deliver()
	}

	processes.Wait()
	db.Deliver()
	s.check()
}

// fill puts the messages into the queue.
func (s *simulation) fill() {
	for i := range s.count {
		text := fmt.Sprintf("m%d k%d", i, s.random.IntN(s.keys))
		group := ""

		if s.isFIFO {
			group = fmt.Sprint("g", s.random.IntN(3))
			text += " " + group
		}

		s.queue = append(s.queue, &queued{SQSMessage: batch(text).Records[0], group: group})
	}
}

func (s *simulation) chance(p float64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	return time.Now().Before(s.calm) && s.random.Float64() < p
}

func (s *simulation) upTo(d time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()

	return time.Duration(s.random.Int64N(int64(d)))
}

var (
	requestFaults = []idemddbtest.Fault{
		idemddbtest.LostRequest, idemddbtest.LostReply, idemddbtest.LateRequest, idemddbtest.LateReply, idemddbtest.TruncatedBody,
		idemddbtest.EmptyAnswer, idemddbtest.EmptyAnswerApplied, idemddbtest.MissingResponse, idemddbtest.ServerErrorApplied,
		idemddbtest.ConditionWithoutItem, idemddbtest.Throttle, idemddbtest.ServerError, idemddbtest.AccessDenied, idemddbtest.TransactionConflict,
	}
	statementFaults = []idemddbtest.Fault{
		idemddbtest.Throttle, idemddbtest.ServerError, idemddbtest.ServerErrorApplied, idemddbtest.TransactionConflict, idemddbtest.ConditionWithoutItem,
	}
)

func (s *simulation) requestFault(ctx context.Context, r idemddbtest.Request) idemddbtest.Fault {
	select {
	case <-time.After(s.upTo(20 * time.Millisecond)):
	case <-ctx.Done():
		return idemddbtest.LostRequest
	}

	if s.faulty > 0 && s.chance(0.005) {
		s.mu.Lock()
		s.outage = time.Now().Add(time.Duration(s.random.Int64N(int64(8 * time.Second))))
		s.mu.Unlock()
	}

	s.mu.Lock()
	isOut := time.Now().Before(s.outage) && time.Now().Before(s.calm)
	s.mu.Unlock()

	fault := idemddbtest.None
	if isOut || s.chance(s.faulty) {
		fault = requestFaults[int(s.upTo(time.Duration(len(requestFaults))))]
	}

	if fault == idemddbtest.MissingResponse && len(r.Items) == 0 {
		fault = idemddbtest.LostReply
	}

	for _, part := range append([]idemddbtest.Request{r}, r.Items...) {
		s.met(part, fault)
	}

	return fault
}

func (s *simulation) statementFault(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
	if !s.chance(s.faulty) {
		return idemddbtest.None
	}

	fault := statementFaults[int(s.upTo(time.Duration(len(statementFaults))))]
	s.met(r, fault)

	return fault
}

// met notes faults of writes that renew a lease: then it may be lost.
func (s *simulation) met(r idemddbtest.Request, fault idemddbtest.Fault) {
	if fault == idemddbtest.None || isClaim(r) || !strings.Contains(r.Update, "lease") {
		return
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.unsafe[keyOf(r)] = time.Now()
}

// process is one process with its own store. It makes one invocation after the other until the queue is empty.
func (s *simulation) process() {
	function := s.wrap()

	for time.Since(s.start) < 3*time.Hour {
		taken := s.receive()
		if taken == nil {
			if s.isEmpty() {
				return
			}

			time.Sleep(500 * time.Millisecond)

			continue
		}

		s.invoke(function, taken)
	}
}

func (s *simulation) isEmpty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	return !slices.ContainsFunc(s.queue, func(q *queued) bool { return !q.gone })
}

// receive takes up to 10 messages that are visible. In a FIFO group nothing comes before an earlier message is done.
func (s *simulation) receive() (taken []*queued) {
	s.mu.Lock()
	defer s.mu.Unlock()

	now, closed := time.Now(), map[string]bool{}

	for _, q := range s.queue {
		switch {
		case q.gone || closed[q.group] && s.isFIFO:
		case q.visible.After(now):
			closed[q.group] = true
		case len(taken) < 10:
			taken = append(taken, q)
			q.receives++
			q.visible = now.Add(3 * s.limit)

			if s.random.IntN(10) == 0 {
				q.visible = now.Add(s.limit / 3) // it comes again while it is worked on
			}
		}
	}

	return taken
}

type callKey struct{}

// call makes one invocation. It locks s.mu when the answer has come.
func (s *simulation) call(function wrapped, event events.SQSEvent) (c *call, failed []string, err error) {
	c = &call{begun: time.Now(), deadline: time.Now().Add(s.limit), ended: map[string]lambdawrap.Outcome{}}
	ctx, cancel := context.WithDeadline(context.WithValue(s.harness.Context(), callKey{}, c), c.deadline)

	defer cancel()

	response, err := function(ctx, event)

	s.mu.Lock()

	c.answered = time.Now()
	if late := c.answered.Sub(c.deadline.Add(-s.reserve() / 4)); late > 5*time.Millisecond {
		s.breaksf("an answer comes %v too late", late)
	}

	if err != nil {
		s.breaksf("an invocation fails: %v", err)
	}

	return c, ids(response), err
}

func (s *simulation) invoke(function wrapped, taken []*queued) {
	var event events.SQSEvent

	for _, q := range taken {
		event.Records = append(event.Records, deliveredFor(events.SQSEvent{Records: []events.SQSMessage{q.SQSMessage}}, q.receives).Records...)
	}

	c, failed, _ := s.call(function, event)
	defer s.mu.Unlock()

	for _, q := range taken {
		if slices.Contains(failed, q.MessageId) {
			s.comesBack(q)
		} else {
			s.goes(q)
		}
	}

	s.checkCall(c, failed)
	s.checkGroups(c, taken, failed)
}

// goes is for a message that leaves the queue because it is reported done.
func (s *simulation) goes(q *queued) {
	q.gone, s.ended[q.MessageId] = true, true

	if s.effects[q.Body] == 0 && !s.taken[q.MessageId] {
		s.breaksf("%s with key %s is lost: it is reported done without an effect", q.MessageId, q.Body)
	}
}

// comesBack is for a message that was reported failed. What has failed for good goes to the queue's dead-letter queue once no
// more faults are injected.
func (s *simulation) comesBack(q *queued) {
	if time.Now().After(s.calm) && s.harness.state(q.Body) == "FAILED" {
		q.gone, s.ended[q.MessageId], s.taken[q.MessageId] = true, true, true
	}
}

// checkGroups checks that nothing which ran behind a failed message of its FIFO group is reported done.
func (s *simulation) checkGroups(c *call, taken []*queued, failed []string) {
	first := map[string]string{} // by group: id of its first message that failed

	for _, q := range taken {
		isFailed := slices.Contains(failed, q.MessageId)
		ran := slices.ContainsFunc(s.runs, func(r *run) bool { return r.call == c && r.id == q.MessageId })

		if before, ok := first[q.group]; s.isFIFO && ok && ran && !isFailed {
			s.breaksf("%s is reported done behind %s of its group, which failed", q.MessageId, before)
		}

		if _, ok := first[q.group]; isFailed && !ok {
			first[q.group] = q.MessageId
		}
	}
}

// checkCall checks the rules of one invocation: what a handler answered in time is how its message ended.
func (s *simulation) checkCall(c *call, failed []string) {
	isLate := false
	for _, o := range c.ended {
		isLate = isLate || o == lambdawrap.OutcomeLate
	}

	for _, r := range s.runs {
		inTime := r.success && r.finished.Before(c.deadline.Add(-s.reserve()/2-moment)) && (s.options.Timeout == 0 || !isLate)
		if r.call != c || !inTime || r.settled || s.isBatch {
			continue
		}

		isFailed := slices.Contains(failed, r.id)

		switch o := c.ended[r.id]; {
		case o == lambdawrap.OutcomeFenced, o == "":
		case o == lambdawrap.OutcomeCompleted && !isFailed, o == lambdawrap.OutcomeUnrecorded && !isFailed:
		default:
			s.breaksf("%s succeeded in time and ended as %s, reported failed: %t", r.id, o, isFailed)
		}
	}
}

// wrap returns the function of one process.
func (s *simulation) wrap() wrapped {
	o := s.options
	o.Key, o.Logger = s.harness.opts.Key, s.harness.opts.Logger
	o.OnMessage = s.onMessage

	if s.visibility {
		o.Visibility = s
	}

	if s.deadLetter {
		o.DeadLetter = s.deadLetterHook
	}

	store := s.harness.open(s.harness.db, &s.store)
	if s.isBatch {
		return lambdawrap.Batch(store, s.handleEvent, &o)
	}

	return lambdawrap.SQS(store, s.handle, &o)
}

// misbehave does what user code does at times.
func (s *simulation) misbehave(ctx context.Context) error {
	what := 0
	for what < 4 && !s.chance(0.03) {
		what++
	}

	switch what {
	case 0:
		panic("at random")
	case 1:
		goexit()
	case 2:
		<-ctx.Done()
	case 3:
		time.Sleep(s.upTo(2 * s.limit))
	default:
		if s.chance(0.05) {
			return errBank
		}
	}

	return nil
}

func (s *simulation) onMessage(ctx context.Context, m events.SQSMessage, o lambdawrap.Outcome) {
	c, _ := ctx.Value(callKey{}).(*call)

	s.mu.Lock()
	if c.answered.IsZero() {
		c.ended[m.MessageId] = o
	}

	if slices.Contains([]lambdawrap.Outcome{
		lambdawrap.OutcomeCompleted, lambdawrap.OutcomeReplayed, lambdawrap.OutcomeUnrecorded, lambdawrap.OutcomeFenced,
	}, o) {
		s.ended[m.MessageId] = true
	}
	s.mu.Unlock()

	_ = s.misbehave(ctx)
}

func (s *simulation) deadLetterHook(ctx context.Context, m events.SQSMessage, _ error) error {
	if err := s.misbehave(ctx); err != nil || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.taken[m.MessageId], s.ended[m.MessageId] = true, true

	return nil
}

// handle is the handler of single messages.
func (s *simulation) handle(ctx context.Context, m events.SQSMessage) (err error) {
	r := s.begin(ctx, m)

	defer func() { s.end(r, err == nil && !r.settled || r.settled && r.success) }()

	err = errors.New("it did not return") // for a panic

	return s.work(ctx, r)
}

// handleEvent is the handler of whole events. What it has done counts if it then answers in time.
func (s *simulation) handleEvent(ctx context.Context, event events.SQSEvent) (response events.SQSEventResponse, err error) {
	runs := make([]*run, len(event.Records))
	for i, m := range event.Records {
		runs[i] = s.begin(ctx, m)
	}

	done := map[*run]bool{}

	defer func() {
		for _, r := range runs {
			s.end(r, done[r])
		}
	}()

	for _, r := range runs {
		if ctx.Err() != nil || s.work(ctx, r) != nil {
			response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: r.id})
		} else {
			done[r] = true
		}
	}

	return response, nil
}

// work does the work of one message, as drawn for this run of its key.
func (s *simulation) work(ctx context.Context, r *run) error {
	s.mu.Lock()
	s.begun[r.key]++
	text := fmt.Sprint(s.seed, r.key, s.begun[r.key])
	isCalm := time.Now().After(s.calm)
	s.mu.Unlock()

	hash := fnv.New64a()
	_, _ = hash.Write([]byte(text))
	draw := rand.New(rand.NewPCG(hash.Sum64(), s.seed))
	short, long := time.Duration(draw.Int64N(int64(200*time.Millisecond))), time.Duration(draw.Int64N(int64(2*s.limit)))

	if isCalm {
		time.Sleep(short / 10)

		return nil
	}

	switch n := draw.IntN(100); {
	case n < 6: // it obeys
		select {
		case <-time.After(long):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	case n < 12: // it ignores its context
		time.Sleep(long)

		return nil
	case n < 22:
		time.Sleep(short)

		return errBank
	case n < 25:
		panic(errBank)
	case n < 28:
		goexit()
	case n < 31:
		return lambdawrap.Permanent(errBank)
	case n < 33:
		return (*codeError)(nil)
	case n < 39:
		time.Sleep(short)

		return s.settleItself(ctx, r, draw)
	}

	time.Sleep(short)

	return nil
}

// settleItself is for a handler of single messages that completes, releases or fails its claim.
func (s *simulation) settleItself(ctx context.Context, r *run, draw *rand.Rand) error {
	claim, ok := idemddb.FromContext(ctx)
	if !ok {
		return nil
	}

	s.mu.Lock()
	r.settled = true
	s.mu.Unlock()

	switch draw.IntN(3) {
	case 0:
		s.mu.Lock()
		s.effects[r.key]++
		s.mu.Unlock()

		return claim.Complete(ctx, nil)
	case 1:
		return claim.Release(ctx, nil)
	default:
		return claim.Fail(ctx, errBank)
	}
}

// begin notes that a handler gets a message, and checks the rules about that.
func (s *simulation) begin(ctx context.Context, m events.SQSMessage) *run {
	c, _ := ctx.Value(callKey{}).(*call)

	s.mu.Lock()
	defer s.mu.Unlock()

	r := &run{call: c, id: m.MessageId, key: m.Body, ctx: ctx, begun: time.Now()}
	c.running++

	if state := s.harness.state(r.key); state != "INPROGRESS" {
		s.breaksf("%s begins, and the record of %s is %s", r.id, r.key, state)
	}

	if !c.answered.IsZero() {
		s.breaksf("%s begins after the answer", r.id)
	}

	for _, other := range s.runs {
		if other.key == r.key && other.finished.IsZero() && s.mustHold(other) {
			s.breaksf("%s begins while %s runs since %v, both with the key %s, answered %v, deadline %v",
				r.id, other.id, time.Since(other.begun), r.key, other.call.answered.Sub(s.start), other.call.deadline.Sub(s.start))
		}
	}

	s.checkOrder(r)

	if !s.isBatch {
		s.checkTrouble(c)
	}

	s.runs = append(s.runs, r)

	return r
}

// mustHold reports whether the claim of a running handler must be held: until at least half a lease after the answer.
func (s *simulation) mustHold(r *run) bool {
	if r.settled || errors.Is(context.Cause(r.ctx), idemddb.ErrFenced) || s.unsafe[r.key].After(r.begun) {
		return false
	}

	return r.call.answered.IsZero() || time.Now().Before(r.call.answered.Add(s.store.Lease/2-s.reserve()/4-moment))
}

// checkOrder checks that all earlier messages of the group have ended, or are in the same event of a Batch.
func (s *simulation) checkOrder(r *run) {
	if !s.isFIFO {
		return
	}

	own := slices.IndexFunc(s.queue, func(q *queued) bool { return q.MessageId == r.id })

	for _, q := range s.queue[:own] {
		isBeside := s.isBatch && slices.ContainsFunc(s.runs, func(other *run) bool { return other.call == r.call && other.key == q.Body })
		if q.group == s.queue[own].group && !s.ended[q.MessageId] && !isBeside {
			s.breaksf("%s begins before %s of its group has ended", r.id, q.MessageId)
		}
	}
}

// checkTrouble checks that work does not run ahead of its records.
func (s *simulation) checkTrouble(c *call) {
	trouble := 0

	for _, r := range s.runs {
		_, isSettled := c.ended[r.id]
		isOld := r.success && !r.settled && time.Since(r.finished) > troubleTime+moment
		if r.call == c && isOld && !isSettled && s.harness.state(r.key) == "INPROGRESS" {
			trouble++
		}
	}

	if c.running+max(0, trouble-1) > max(1, s.options.Workers) {
		s.breaksf("%d handlers run, and %d finished effects are in trouble", c.running, trouble)
	}
}

const troubleTime = 100 * time.Millisecond

func (s *simulation) end(r *run, success bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	r.call.running--
	r.finished, r.success = time.Now(), success

	if success {
		s.effects[r.key]++
	}
}

// check checks what must be true at the end.
func (s *simulation) check() {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, q := range s.queue {
		if !q.gone {
			s.breaksf("%s with key %s is still in the queue, its record is %s", q.MessageId, q.Body, s.harness.state(q.Body))
		}

		if s.effects[q.Body] == 0 && !s.taken[q.MessageId] {
			s.breaksf("%s with key %s has no effect", q.MessageId, q.Body)
		}
	}
}
