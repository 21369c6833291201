package schedule_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/internal/schedule"
)

func TestAMessageIsClaimedStartedAndSettled(t *testing.T) {
	run(t, []script{
		{"one message", schedule.Config{Messages: messages("-"), Workers: 1, Ahead: 25}, `
			found 0 a   => claim 0
			claimed 0   => start 0
			effect 0    =>
			settled 0   =>
			finished 0  =>
		`},
		{"one that needs no claim", schedule.Config{Messages: messages("!"), Workers: 1}, `
			found 0 a   => start 0
			ran 0       =>
			settled 0   =>
			finished 0  =>
		`},
		{"one without a key", schedule.Config{Messages: messages("- -"), Workers: 1}, `
			keyless 0, found 1 b => no key 0, expect 1, claim 1
			settled 0            =>
			finished 0           =>
			claimed 1            => start 1
		`},
		{"one whose key another worker holds gives its place back while it waits", schedule.Config{Messages: messages("- -"), Workers: 1}, `
			found 0 a, found 1 b => expect 1, claim 0
			waits 0              => expect 1, claim 1
			again 0              =>
			claimed 1            => start 1
			ran 1                => expect 1, claim 0
			claimed 0, stop      => stop, no time 0
		`},
	})
}

func TestRule1Order(t *testing.T) {
	run(t, []script{
		{"the next message of a group is claimed when the one before it is finished", schedule.Config{Messages: messages("g g -"), Workers: 2}, `
			found 0 a, found 1 b, found 2 c => expect 2, claim 0, claim 2
			claimed 0                       => start 0
			claimed 2                       => start 2
			effect 0                        =>
			settled 0                       =>
			finished 0                      => expect 1, claim 1
		`},
		{"those behind a failed one are blocked, one after the other, and their keys are not waited for", schedule.Config{
			Messages: messages("g g g h"), Workers: 1,
		}, `
			found 0 a, found 3 d => expect 1, claim 0
			settled 0            => expect 1, claim 3
			failed 0             => blocked 1 as 0
			failed 0, found 1 a  =>
			settled 1            =>
			failed 1             => blocked 2 as 1
		`},
		{"a message behind a failed one that is done after all goes on", schedule.Config{Messages: messages("g g"), Workers: 1}, `
			found 0 a, found 1 b => claim 0
			settled 0            =>
			finished 0           => claim 1
		`},
		{"claims and workers are given in the order of the batch", schedule.Config{Messages: messages("- - -"), Workers: 1, Ahead: 2}, `
			found 2 c, found 0 a, found 1 b => expect 2, claim 0, claim 1
			claimed 1                       =>
			claimed 0                       => start 0
			effect 0                        => start 1, expect 1, claim 2
		`},
		{"also where one of them is claimed again", schedule.Config{Messages: messages("- - -"), Workers: 3}, `
			found 0 a, found 1 b, found 2 c => expect 3, claim 0, claim 1, claim 2
			waits 0, claimed 1              => start 1
			again 0                         =>
			+150us                          => expect 1, claim 0
			claimed 0, claimed 2            => start 0, start 2
		`},
	})
}

func TestRule2OneKey(t *testing.T) {
	run(t, []script{
		{"a message that asks for the same work ends as the first one did", schedule.Config{Messages: messages("- - -"), Workers: 3}, `
			found 0 a, found 1 a, found 2 b => expect 2, claim 0, claim 2
			claimed 0                       => start 0
			effect 0                        =>
			settled 0                       => same 1 as 0
			finished 1                      =>
		`},
		{"another input under the same key is claimed when the key is free", schedule.Config{Messages: messages("- - -"), Workers: 3}, `
			found 0 a:x, found 1 a:y, found 2 a:x => claim 0
			settled 0                             => same 2 as 0, expect 1, claim 1
		`},
		{"three inputs under one key follow one after the other", schedule.Config{Messages: messages("- - -"), Workers: 3}, `
			found 0 a:x, found 1 a:y, found 2 a:z => claim 0
			settled 0                             => expect 1, claim 1
			finished 0                            =>
			+150us                                =>
			settled 1                             => expect 1, claim 2
		`},
		{"another input whose key is found when the key is free is claimed at once", schedule.Config{Messages: messages("- -"), Workers: 1}, `
			found 0 a:x => expect 1, claim 0
			settled 0   =>
			found 1 a:y => expect 1, claim 1
		`},
		{"also in another group, and also when its key is found late", schedule.Config{Messages: messages("g h"), Workers: 2}, `
			found 0 a  => expect 1, claim 0
			settled 0  =>
			found 1 a  => same 1 as 0
		`},
		{"a message whose goroutine ended without an answer gives its key to the next one", schedule.Config{Messages: messages("- -"), Workers: 1}, `
			found 0 a:x, found 1 a:y => claim 0
			failed 0                 => claim 1
		`},
	})
}

func TestRule3Workers(t *testing.T) {
	run(t, []script{
		{"as many handlers run as there are workers", schedule.Config{Messages: messages("! ! !"), Workers: 2}, `
			found 0 a, found 1 b, found 2 c => start 0, start 1
			ran 1                           => start 2
		`},
		{"a handler that does not run after all gives its worker back", schedule.Config{Messages: messages("! !"), Workers: 1}, `
			found 0 a, found 1 b => start 0
			settled 0            => start 1
		`},
		{"hooks have workers, too", schedule.Config{Messages: messages("! ! !"), Workers: 1}, `
			found 0 a, found 1 b, found 2 c => start 0
			ran 0                           => start 1
			settled 0                       =>
			hook 0                          =>
			ran 1                           => start 0
			hooked 0                        => start 2
		`},
		{"a hook that is not wanted any more takes no worker", schedule.Config{Messages: messages("! !"), Workers: 1}, `
			found 0 a, found 1 b => start 0
			ran 0                => start 1
			hook 0               =>
			hooked 0             =>
			ran 1                =>
		`},
		{"when nothing starts any more, as many hooks run as there are workers", schedule.Config{Messages: messages("! ! !"), Workers: 2}, `
			found 0 a            => start 0
			ran 0, stop          => stop, no time 1, no time 2
			hook 0               => start 0
			hook 1               => start 1
			hook 2, hooked 2     =>
			hook 2               =>
			hooked 0             => start 2
		`},
		{"a hook that has returned gives its worker back once", schedule.Config{Messages: messages("! ! !"), Workers: 1}, `
			stop                 => stop, no time 0, no time 1, no time 2
			hook 0               => start 0
			hook 1, hook 2       =>
			hooked 0, finished 0 => start 1
			hooked 1             => start 2
		`},
	})
}

func TestRule4ClaimsAhead(t *testing.T) {
	run(t, []script{
		{"without claims ahead, a key is claimed for each free worker", schedule.Config{Messages: messages("- - -"), Workers: 2}, `
			found 0 a, found 1 b, found 2 c => expect 2, claim 0, claim 1
			claimed 0                       => start 0
			claimed 1                       => start 1
			effect 1                        => expect 1, claim 2
		`},
		{"a whole request at a time, and the next one when none of its messages waits", schedule.Config{
			Messages: messages("- - - - - -"), Workers: 1, Ahead: 3,
		}, `
			found 0 a, found 1 b, found 2 c, found 3 d, found 4 e, found 5 f => expect 3, claim 0, claim 1, claim 2
			claimed 0 => start 0
			claimed 1 =>
			claimed 2 =>
			effect 0  => start 1
			effect 1  => start 2, expect 3, claim 3, claim 4, claim 5
		`},
		{"a worker that is free lets a whole request be claimed", schedule.Config{Messages: messages("- - - - -"), Workers: 2, Ahead: 2}, `
			found 0 a                                  => expect 1, claim 0
			claimed 0                                  => start 0
			found 1 b, found 2 c, found 3 d, found 4 e => expect 2, claim 1, claim 2
		`},
		{"also beside a claim under way", schedule.Config{Messages: messages("- - - - -"), Workers: 2, Ahead: 3}, `
			found 0 a                                  => expect 1, claim 0
			found 1 b, found 2 c, found 3 d, found 4 e =>
			+150us                                     => expect 3, claim 1, claim 2, claim 3
		`},
		{"but not if that claim gets the worker", schedule.Config{Messages: messages("- - - - -"), Workers: 1, Ahead: 3}, `
			found 0 a, found 1 b, found 2 c, found 3 d, found 4 e => expect 3, claim 0, claim 1, claim 2
			settled 0, settled 1                                  =>
			+150us                                                =>
			claimed 2                                             => start 2, expect 2, claim 3, claim 4
		`},
	})
}

func TestRule5ClaimsTogether(t *testing.T) {
	run(t, []script{
		{"a handler does not overtake an earlier claim, but for the last worker, and for 0.15 ms", schedule.Config{
			Messages: messages("- - -"), Workers: 1, Ahead: 3,
		}, `
			found 0 a, found 1 b, found 2 c => expect 3, claim 0, claim 1, claim 2
			claimed 1                       =>
			+149us                          =>
			+1us                            => start 1
		`},
		{"a worker for both lets it start at once", schedule.Config{Messages: messages("- -"), Workers: 2}, `
			found 0 a, found 1 b => expect 2, claim 0, claim 1
			claimed 1            => start 1
		`},
		{"claims that get no worker make room together", schedule.Config{Messages: messages("- - - -"), Workers: 2}, `
			found 0 a, found 1 b, found 2 c, found 3 d => expect 2, claim 0, claim 1
			settled 0                                  =>
			settled 1                                  => expect 2, claim 2, claim 3
		`},
		{"but not for longer than 0.15 ms", schedule.Config{Messages: messages("- - - -"), Workers: 2}, `
			found 0 a, found 1 b, found 2 c, found 3 d => expect 2, claim 0, claim 1
			settled 0                                  =>
			+150us                                     => expect 1, claim 2
			settled 2                                  =>
		`},
		{"the 0.15 ms begin when the claims are waited for, whatever else the time brings", schedule.Config{Messages: messages("! - -"), Workers: 1, Ahead: 2}, `
			found 0 a            => start 0
			effect 0             =>
			found 1 b, found 2 c => expect 2, claim 1, claim 2
			+100ms               => warn 0
			claimed 2            =>
			+150us               => start 2
		`},
		{"and nothing else ends them", schedule.Config{Messages: messages("! - -"), Workers: 1, Ahead: 2}, `
			found 0 a            => start 0
			effect 0             =>
			found 1 b, found 2 c => expect 2, claim 1, claim 2
			+99900us             =>
			claimed 2            =>
			+100us               => warn 0
			+50us                => start 2
		`},
	})
}

func TestRule6Time(t *testing.T) {
	run(t, []script{
		{"a message starts only if its time-out is left", schedule.Config{
			Messages: messages("! ! -"), Workers: 1, Grace: time.Minute, Time: until(10*time.Second, 4*time.Second),
		}, `
			found 0 a, found 1 b, found 2 c => start 0
			+6s                             =>
			ran 0                           => start 1
			+1ns                            =>
			ran 1                           => stop, no time 2
		`},
		{"without a time-out, the first half of the time is open to any", schedule.Config{
			Messages: messages("! ! !"), Workers: 1, Time: until(10*time.Second, 0),
		}, `
			found 0 a, found 1 b, found 2 c => start 0
			longest 9s                      =>
			+5s                             =>
			ran 0                           => start 1
			+1ns                            =>
			ran 1                           => stop, no time 2
		`},
		{"and after it a quarter more than the longest handler took must be left", schedule.Config{
			Messages: messages("! ! !"), Workers: 1, Time: until(10*time.Second, 0),
		}, `
			found 0 a, found 1 b, found 2 c => start 0
			longest 2s                      =>
			+7500ms                         =>
			ran 0                           => start 1
			+1ns                            =>
			ran 1                           => stop, no time 2
		`},
		{"a claimed message waits for its worker in vain", schedule.Config{
			Messages: messages("- -"), Workers: 1, Ahead: 2, Grace: time.Minute, Time: until(10*time.Second, 4*time.Second),
		}, `
			found 0 a, found 1 b => expect 2, claim 0, claim 1
			claimed 0            => start 0
			claimed 1            =>
			+7s                  =>
			effect 0             => stop, no time 1
		`},
		{"a key that is not found in time has none, and does not stop the others", schedule.Config{
			Messages: messages("- g g"), Workers: 1, Grace: time.Minute, Time: until(10*time.Second, 4*time.Second),
		}, `
			found 1 b  => expect 1, claim 1
			+6s        =>
			claimed 1  => start 1
			+1ns       => no time 0
			effect 1   =>
			settled 1  =>
			finished 1 =>
			+0s        => no time 2
			found 0 a  =>
			rests      =>
		`},
		{"without a deadline, and without a time-out, there is time for all", schedule.Config{Messages: messages("! - !"), Workers: 2, Grace: time.Second}, `
			found 0 a, found 2 c => start 0, start 2
			rests                =>
			effect 0             =>
			+100ms               => warn 0
		`},
		{"when nothing starts any more, what waits has no time, and a claim under way has none later", schedule.Config{
			Messages: messages("- - - g g"), Workers: 2,
		}, `
			found 0 a, found 1 b, found 2 c => expect 2, claim 0, claim 1
			claimed 0                       => start 0
			stop                            => stop, no time 2, no time 3
			claimed 1                       => no time 1
			settled 3                       =>
			failed 3                        => blocked 4 as 3
			stop                            =>
		`},
	})
}

func TestRule7Trouble(t *testing.T) {
	run(t, []script{
		{"the first effect in trouble occupies no worker, a second one does", schedule.Config{Messages: messages("! ! ! !"), Workers: 1}, `
			found 0 a, found 1 b, found 2 c, found 3 d => start 0
			+1s                                        =>
			effect 0                                   => start 1
			+99ms                                      =>
			+1ms                                       => warn 0
			effect 1                                   => start 2
			+100ms                                     =>
			effect 2                                   =>
			settled 0                                  => start 3
		`},
		{"an effect whose record was refused is in trouble at once", schedule.Config{Messages: messages("! ! !"), Workers: 1}, `
			found 0 a, found 1 b, found 2 c => start 0
			effect 0                        => start 1
			try-failed 0                       => warn 0
			try-failed 0                       =>
			effect 1                        =>
			settled 1                       => start 2
		`},
		{"a record that was sent after the refusal and is written ends it", schedule.Config{Messages: messages("! ! ! ! !"), Workers: 2}, `
			found 0 a, found 1 b, found 2 c, found 3 d, found 4 e => start 0, start 1
			effect 0                                              => start 2
			try-failed 0                                             => warn 0
			effect 1                                              =>
			settled 1                                             => start 3
			effect 2                                              => start 4
		`},
		{"one that was sent before the refusal does not", schedule.Config{Messages: messages("! ! ! ! ! !"), Workers: 3}, `
			found 0 a, found 1 b, found 2 c, found 3 d, found 4 e, found 5 f => start 0, start 1, start 2
			effect 0  => start 3
			effect 1  => start 4
			try-failed 1 => warn 1
			settled 0 =>
			effect 2  =>
			effect 3  =>
			settled 3 => start 5
		`},
		{"nor does one that is not written", schedule.Config{Messages: messages("! ! ! ! !"), Workers: 2}, `
			found 0 a, found 1 b, found 2 c, found 3 d, found 4 e => start 0, start 1
			effect 0                                              => start 2
			try-failed 0                                             => warn 0
			effect 1                                              =>
			unwritten 0                                           => start 3
			effect 2                                              =>
		`},
		{"an answer that comes after its end is none", schedule.Config{Messages: messages("! !"), Workers: 1}, `
			found 0 a => start 0
			effect 0  =>
			settled 0 =>
			try-failed 0 =>
			+100ms    =>
		`},
	})
}

func TestNoMoreThanAHundredEffectsAreUnrecorded(t *testing.T) {
	t.Parallel()

	const all = 150

	s := schedule.New(schedule.Config{Messages: messages(strings.Repeat("! ", all)), Workers: 1})
	for i := range all {
		s.Found(i, schedule.Work{Key: strconv.Itoa(i)})
	}

	started := 0

	for done := false; !done; {
		done = true

		for _, a := range slices.Clone(s.Actions(start)) {
			if a.Kind == schedule.Start {
				started++
				done = false

				s.Ran(start, a.Message, true)
			}
		}
	}

	if started != 100 {
		t.Errorf("%d handlers started while no effect was recorded, want 100", started)
	}

	if s.Settled(0, true); len(s.Actions(start)) != 1 {
		t.Error("no handler starts after an effect was recorded")
	}
}

func TestRule8Overdue(t *testing.T) {
	overdue := schedule.Config{Workers: 2, Grace: time.Second, Time: until(time.Minute, 3*time.Second), LateAt: start.Add(time.Minute)}
	with := func(text string, c schedule.Config) schedule.Config {
		c.Messages = messages(text)

		return c
	}

	run(t, []script{
		{"when nothing but overdue handlers is at work, they are late", with("! !", overdue), `
			found 0 a, found 1 b => start 0, start 1
			+1s                  =>
			settled 1            =>
			finished 1           =>
			+2999ms              =>
			+1ms                 => stop, are late
		`},
		{"a message that waits for one of them does not count", with("g g ! -", overdue), `
			found 0 a, found 2 b => start 2, expect 1, claim 0
			claimed 0            => start 0
			found 3 a            =>
			settled 2            =>
			finished 2           =>
			+4s                  => stop, are late
		`},
		{"one that ends as another one counts until it is finished", with("! ! !", overdue), `
			found 0 a, found 1 a, found 2 b => start 0, start 2
			settled 0, finished 0           => same 1 as 0
			+4s                             =>
			finished 1                      => stop, are late
		`},
		{"another message at work counts", with("! !", overdue), `
			found 0 a, found 1 b => start 0, start 1
			settled 1            =>
			+4s                  =>
			finished 1           => stop, are late
		`},
		{"when as many are overdue as there are workers, nothing more starts", with("! ! - !", overdue), `
			found 0 a, found 1 b, found 3 d => start 0, start 1
			+4s                             => stop, no time 3, no time 2
			settled 3                       =>
			failed 3                        =>
			failed 2                        => are late
		`},
		{"at the end of their time all handlers are late", with("! -", schedule.Config{
			Workers: 1, Time: until(time.Minute, 0), LateAt: start.Add(61 * time.Second),
		}), `
			found 0 a, found 1 b => start 0
			+60s                 =>
			+1s                  => stop, are late, no time 1
			+1s                  =>
			rests                =>
		`},
		{"one handler of a whole batch", with("- -", schedule.Config{
			Workers: 1, OneHandler: true, Grace: time.Second, Time: until(time.Minute, 3*time.Second),
		}), `
			+10s   =>
			call   =>
			+3999ms =>
			+1ms   => stop, are late
			called, rests =>
		`},
		{"a handler of a whole batch that has returned is not overdue", with("- -", schedule.Config{
			Workers: 1, OneHandler: true, Grace: time.Second, Time: until(time.Minute, 3*time.Second),
		}), `
			call          =>
			called, rests =>
			+10s          =>
			hook 0        => start 0
		`},
	})
}

func TestIdle(t *testing.T) {
	run(t, []script{
		{"commits wait for others while a message waits for its claim, is claimed or works", schedule.Config{
			Messages: messages("! -"), Workers: 1, Optimistic: true,
		}, `
			found 0 a, found 1 b => start 0
			ran 0                => expect 1, claim 1
			waits 1              => idle
			again 1              => expect 1, claim 1
			claimed 1            => start 1
			effect 1             => idle
			settled 1            =>
		`},
		{"a hook that runs when nothing starts any more has no worker", schedule.Config{Messages: messages("! !"), Workers: 2, Optimistic: true}, `
			found 0 a, found 1 b => start 0, start 1
			ran 0, stop          => stop
			hook 0               => start 0
			hooked 0             =>
			ran 1                => idle
		`},
	})
}

func TestRule9Stop(t *testing.T) {
	run(t, []script{
		{"nothing starts after the first failure, whether it is claimed, is being claimed or waits", schedule.Config{
			Messages: messages("- - - -"), Workers: 1, Ahead: 3, StopAtFailure: true,
		}, `
			found 0 a, found 1 b, found 2 c, found 3 d => expect 3, claim 0, claim 1, claim 2
			claimed 0                                  => start 0
			claimed 1                                  =>
			ran 0                                      => start 1
			failed 0                                   => stop, blocked 3 as 0
			claimed 2                                  => blocked 2 as 0
			ran 1                                      =>
			failed 1                                   =>
		`},
		{"a handler that has failed does not give its worker to the next one", schedule.Config{Messages: messages("! !"), Workers: 1, StopAtFailure: true}, `
			found 0 a, found 1 b => start 0
			fails 0              => stop, blocked 1 as 0
			ran 0                =>
			failed 0             =>
		`},
		{"without the option the others go on", schedule.Config{Messages: messages("- -"), Workers: 1}, `
			found 0 a, found 1 b => expect 1, claim 0
			claimed 0            => start 0
			fails 0, ran 0       => expect 1, claim 1
			failed 0             =>
		`},
		{"a message that is done stops nothing", schedule.Config{Messages: messages("! !"), Workers: 1, StopAtFailure: true}, `
			found 0 a, found 1 b => start 0
			ran 0                => start 1
			finished 0           =>
		`},
		{"keys are not waited for any more", schedule.Config{Messages: messages("! -"), Workers: 1, StopAtFailure: true}, `
			found 0 a => start 0
			ran 0     =>
			failed 0  => stop, blocked 1 as 0
		`},
		{"what waits for the key of the failed message does not start either", schedule.Config{Messages: messages("! !"), Workers: 2, StopAtFailure: true}, `
			found 0 a:x, found 1 a:y => start 0
			ran 0, failed 0          => stop, blocked 1 as 0
		`},
		{"what has no time has none, whatever fails later", schedule.Config{
			Messages: messages("- - -"), Workers: 1, Ahead: 2, StopAtFailure: true, Time: until(time.Second, 0),
		}, `
			found 0 a, found 1 b, found 2 c => expect 2, claim 0, claim 1
			claimed 0                       => start 0
			+600ms                          =>
			ran 0                           => stop, no time 2
			failed 0                        =>
			claimed 1                       => no time 1
		`},
	})
}

func TestRuleEnvelopes(t *testing.T) {
	run(t, []script{
		{"what else stands in a message is claimed behind the batch", schedule.Config{Messages: messages("- -"), Workers: 4}, `
			split 0 2 2 true, found 0 a, found 2 b, found 3 c, found 1 d => expect 4, claim 0, claim 1, claim 2, claim 3
		`},
		{"it has no time if its key is not found", schedule.Config{Messages: messages("-"), Workers: 4}, `
			split 0 2 1 true, found 0 a => expect 1, claim 0
			stop                        => stop, no time 1, no time 2
		`},
		{"in a group it stands before the next message", schedule.Config{Messages: messages("g g"), Workers: 4}, `
			split 0 2 2 true, found 0 a, found 2 b, found 3 c, found 1 d => claim 0
			claimed 0 => start 0
			ran 0, finished 0 => claim 2
			claimed 2 => start 2
			ran 2, finished 2 => claim 3
			claimed 3 => start 3
			ran 3, finished 3 => claim 1
		`},
		{"a failure of it blocks what is behind it", schedule.Config{Messages: messages("g g"), Workers: 4}, `
			split 0 1 2 true, found 0 a, found 2 b, found 1 c => claim 0
			claimed 0 => start 0
			ran 0, failed 0 => blocked 2 as 0
			failed 2 => blocked 1 as 2
		`},
		{"a message behind another one of its group is split as well", schedule.Config{Messages: messages("g g"), Workers: 4}, `
			split 1 1 2 true, found 1 b, found 2 c =>
			found 0 a => claim 0
			claimed 0 => start 0
			ran 0, finished 0 => claim 1
			claimed 1 => start 1
			ran 1, finished 1 => claim 2
		`},
		{"one that is given up meanwhile is not split", schedule.Config{Messages: messages("- -"), Workers: 4}, `
			stop => stop, no time 0, no time 1
			split 0 2 0 false, found 0 a =>
		`},
		{"of a whole batch, the one handler stays apart", schedule.Config{Messages: messages("- -"), Workers: 1, OneHandler: true}, `
			split 0 2 2 true, split 1 1 4 true, call =>
			hook 4 => start 4
			called =>
		`},
	})
}
