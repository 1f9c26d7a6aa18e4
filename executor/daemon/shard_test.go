package daemon_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/executor/daemon"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs/cron"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// play plays events to a shard that fires every 10 seconds. It returns a line for each event that led to a decision,
// and a line with the totals. An event is a time, in seconds since noon, and one of:
//
//	tick, began, ok, fail, cut
//	drain SECONDS     the limit
//	backlog N         from now on
//	set SECONDS       the wall clock is set forward by so much
//	new               another shard takes over
func play(t *testing.T, settings wire.Daemon, events string) []string {
	t.Helper()
	schedule, err := cron.Parse("0/10 * * * * ?", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	var now daemon.Moment
	var step time.Duration // of the wall clock, by set
	seconds := func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
	at := func(up float64) {
		now.Up = seconds(up)
		now.Wall = noon.Add(now.Up + step)
	}
	at(1)
	s := daemon.New(schedule, settings, seconds(2), now)
	var told []string
	for event := range strings.SplitSeq(events, ";") {
		var up, n float64
		var what string
		_, _ = fmt.Sscan(event, &up, &what, &n)
		at(up)
		var d daemon.Decision
		switch what {
		case "tick":
			d = s.Tick(now)
		case "began":
			s.Began(now)
		case "ok":
			d = s.Ended(now, daemon.Result{})
		case "fail":
			d = s.Ended(now, daemon.Result{Cause: "boom"})
		case "drain":
			d = s.Drain(now, seconds(n))
		case "cut":
			if run := s.CutOff(now, daemon.Result{}); run != nil {
				d.Reports = append(d.Reports, *run)
			}
		case "new":
			s = daemon.New(schedule, settings, seconds(2), now)
		case "backlog":
			now.Backlog = int(n)
		case "set":
			step += seconds(n)
		default:
			t.Fatalf("unknown event %q", event)
		}
		if text := describe(d); text != "" {
			told = append(told, strings.TrimSpace(event)+": "+text)
		}
	}
	totals := s.Totals()
	return append(told, fmt.Sprintf("%d runs, %d failed, %d skipped", totals.Runs, totals.Failed, totals.Skipped))
}

func describe(d daemon.Decision) string {
	var parts []string
	if d.ClockBack {
		parts = append(parts, "clock back")
	}
	for _, r := range d.Reports {
		text := fmt.Sprintf("report %d %s %s %d", int(r.Fire.Sub(noon).Seconds()), r.Source, r.State, r.Attempt)
		if r.Sampled {
			text += " sampled"
		}
		if r.Retried {
			text += " retried"
		}
		if r.Cause != "" {
			text += " (" + r.Cause + ")"
		}
		parts = append(parts, text)
	}
	if r := d.Start; r != nil {
		parts = append(parts, fmt.Sprintf("start %d: %d %s %d", r.Number, int(r.Fire.Sub(noon).Seconds()), r.Source,
			r.Attempt))
	}
	if d.Cancel != "" {
		parts = append(parts, "cancel: "+d.Cancel)
	}
	if d.Kill {
		parts = append(parts, "kill")
	}
	if d.Drained {
		parts = append(parts, "drained")
	}
	return strings.Join(parts, ", ")
}

func TestShard(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		settings wire.Daemon
		events   string
		want     []string
	}{
		"a fire, a short run, a longer one": {wire.Daemon{},
			"1 tick;10 tick;10 began;10.01 ok;20 tick;20 began;20.03 tick;25 ok", []string{
				"10 tick: start 1: 10 NORMAL_TRIGGER 1", "10.01 ok: report 10 NORMAL_TRIGGER FINISHED 1 sampled",
				"20 tick: start 2: 20 NORMAL_TRIGGER 1", "20.03 tick: report 20 NORMAL_TRIGGER RUNNING 1 sampled",
				"25 ok: report 20 NORMAL_TRIGGER FINISHED 1 sampled",
				"2 runs, 0 failed, 0 skipped"}},
		"fires that find it busy are dropped": {wire.Daemon{}, "10 tick;10 began;20 tick;30 tick;35 ok;40 tick",
			[]string{
				"10 tick: start 1: 10 NORMAL_TRIGGER 1", "20 tick: report 10 NORMAL_TRIGGER RUNNING 1 sampled",
				"35 ok: report 10 NORMAL_TRIGGER FINISHED 1 sampled",
				"40 tick: start 2: 40 NORMAL_TRIGGER 1", "1 runs, 0 failed, 2 skipped"}},
		"fires that find it busy are queued, with misfire": {wire.Daemon{Misfire: true}, "10 tick;20 tick;30 tick;35 ok;36 ok;37 ok", []string{
			"10 tick: start 1: 10 NORMAL_TRIGGER 1",
			"35 ok: report 10 NORMAL_TRIGGER FINISHED 1 sampled, start 2: 20 MISFIRE 1",
			"36 ok: report 20 MISFIRE FINISHED 1 sampled, start 3: 30 MISFIRE 1", "37 ok: report 30 MISFIRE FINISHED 1 sampled", "3 runs, 0 failed, 0 skipped"}},
		"a fire that was cut off": {wire.Daemon{Rerun: noon.Add(-time.Hour), SamplingCount: 9}, "1 tick;2 ok;10 tick",
			[]string{
				"1 tick: start 1: -3600 FAILOVER 1", "2 ok: report -3600 FAILOVER FINISHED 1", "10 tick: start 2: 10 NORMAL_TRIGGER 1", "1 runs, 0 failed, 0 skipped"}},
		"retries, each after twice the time": {wire.Daemon{MaxRetries: 2, RetryBackoffMillis: 3000},
			"10 tick;11 fail;13 tick;14 tick;15 fail;20 tick;21 tick;22 fail;30 tick", []string{
				"10 tick: start 1: 10 NORMAL_TRIGGER 1",
				"11 fail: report 10 NORMAL_TRIGGER FAILED 1 sampled retried (boom)",
				"14 tick: start 2: 10 NORMAL_TRIGGER 2",
				"15 fail: report 10 NORMAL_TRIGGER FAILED 2 sampled retried (boom)",
				"21 tick: start 3: 10 NORMAL_TRIGGER 3", "22 fail: report 10 NORMAL_TRIGGER FAILED 3 sampled (boom)",
				"30 tick: start 4: 30 NORMAL_TRIGGER 1", "3 runs, 3 failed, 1 skipped"}},
		"a timeout: cancelled, then killed": {wire.Daemon{TimeoutMillis: 3000},
			"10 tick;11 began;13.9 tick;14 tick;15.9 tick;16 tick;17 tick;18 fail", []string{
				"10 tick: start 1: 10 NORMAL_TRIGGER 1", "13.9 tick: report 10 NORMAL_TRIGGER RUNNING 1 sampled",
				"14 tick: cancel: it took longer than 3s (timeoutSeconds)", "16 tick: kill",
				"18 fail: report 10 NORMAL_TRIGGER TIMED_OUT 1 sampled (it took longer than 3s (timeoutSeconds); then: boom)", "1 runs, 1 failed, 0 skipped"}},
		"a run that is cancelled and ends well took too long": {wire.Daemon{TimeoutMillis: 3000, MaxRetries: 1},
			"10 tick;10 began;10.1 tick;13 tick;14 ok;14 tick", []string{
				"10 tick: start 1: 10 NORMAL_TRIGGER 1", "10.1 tick: report 10 NORMAL_TRIGGER RUNNING 1 sampled",
				"13 tick: cancel: it took longer than 3s (timeoutSeconds)",
				"14 ok: report 10 NORMAL_TRIGGER TIMED_OUT 1 sampled retried (it took longer than 3s (timeoutSeconds))", "14 tick: start 2: 10 NORMAL_TRIGGER 2", "1 runs, 1 failed, 0 skipped"}},
		"waiting for a slot does not count for the timeout": {wire.Daemon{TimeoutMillis: 3000},
			"10 tick;19 tick;19 began;19.1 ok", []string{
				"10 tick: start 1: 10 NORMAL_TRIGGER 1", "19.1 ok: report 10 NORMAL_TRIGGER FINISHED 1 sampled", "1 runs, 0 failed, 0 skipped"}},
		"every second run is reported, and each that fails": {wire.Daemon{SamplingCount: 2},
			"10 tick;10 began;10.1 tick;11 ok;20 tick;21 ok;30 tick;31 fail;40 tick;41 ok;50 tick;51 ok", []string{
				"10 tick: start 1: 10 NORMAL_TRIGGER 1", "20 tick: start 2: 20 NORMAL_TRIGGER 1",
				"21 ok: report 20 NORMAL_TRIGGER FINISHED 1 sampled",
				"30 tick: start 3: 30 NORMAL_TRIGGER 1", "31 fail: report 30 NORMAL_TRIGGER FAILED 1 (boom)",
				"40 tick: start 4: 40 NORMAL_TRIGGER 1", "41 ok: report 40 NORMAL_TRIGGER FINISHED 1 sampled", "50 tick: start 5: 50 NORMAL_TRIGGER 1", "5 runs, 1 failed, 0 skipped"}},
		"with failover all runs are reported": {wire.Daemon{SamplingCount: 9, Failover: true}, "10 tick;10 began;10.1 tick;11 ok",
			[]string{
				"10 tick: start 1: 10 NORMAL_TRIGGER 1", "10.1 tick: report 10 NORMAL_TRIGGER RUNNING 1", "11 ok: report 10 NORMAL_TRIGGER FINISHED 1", "1 runs, 0 failed, 0 skipped"}},
		"the end of a fire with a failed attempt is reported, sampled or not": {wire.Daemon{SamplingCount: 9, MaxRetries: 1},
			"10 tick;11 fail;11 tick;12 ok", []string{
				"10 tick: start 1: 10 NORMAL_TRIGGER 1", "11 fail: report 10 NORMAL_TRIGGER FAILED 1 retried (boom)",
				"11 tick: start 2: 10 NORMAL_TRIGGER 2",
				"12 ok: report 10 NORMAL_TRIGGER FINISHED 2", "2 runs, 1 failed, 0 skipped"}},
		"with a backlog only failures are reported": {wire.Daemon{},
			"1 backlog 65;10 tick;10 began;10.1 tick;11 ok;20 tick;21 fail;22 backlog 1000;30 tick;31 fail", []string{
				"10 tick: start 1: 10 NORMAL_TRIGGER 1", "20 tick: start 2: 20 NORMAL_TRIGGER 1",
				"21 fail: report 20 NORMAL_TRIGGER FAILED 1 sampled (boom)",
				"30 tick: start 3: 30 NORMAL_TRIGGER 1", "3 runs, 2 failed, 0 skipped"}},
		"with a backlog the end of a run is reported if its start was": {wire.Daemon{},
			"10 tick;10 began;10.1 tick;11 backlog 65;12 ok", []string{
				"10 tick: start 1: 10 NORMAL_TRIGGER 1", "10.1 tick: report 10 NORMAL_TRIGGER RUNNING 1 sampled", "12 ok: report 10 NORMAL_TRIGGER FINISHED 1 sampled", "1 runs, 0 failed, 0 skipped"}},
		"drained while idle": {wire.Daemon{}, "5 drain 60;10 tick", []string{"5 drain 60: drained", "0 runs, 0 failed, 0 skipped"}},
		"drained in a run, with one that waits": {wire.Daemon{Misfire: true},
			"10 tick;20 tick;21 drain 60;30 tick;31 ok", []string{
				"10 tick: start 1: 10 NORMAL_TRIGGER 1", "31 ok: report 10 NORMAL_TRIGGER FINISHED 1 sampled, drained", "1 runs, 0 failed, 1 skipped"}},
		"drained in a run that goes on for too long": {wire.Daemon{},
			"10 tick;21 drain 60;22 drain 30;23 drain 90;29 tick;30 tick;31 cut", []string{
				"10 tick: start 1: 10 NORMAL_TRIGGER 1", "30 tick: drained", "31 cut: report 10 NORMAL_TRIGGER KILLED 1 sampled", "1 runs, 0 failed, 0 skipped"}},
		"drained between two attempts": {wire.Daemon{MaxRetries: 1, RetryBackoffMillis: 5000},
			"10 tick;11 fail;12 drain 30;16 tick;17 fail", []string{
				"10 tick: start 1: 10 NORMAL_TRIGGER 1",
				"11 fail: report 10 NORMAL_TRIGGER FAILED 1 sampled retried (boom)",
				"16 tick: start 2: 10 NORMAL_TRIGGER 2",
				"17 fail: report 10 NORMAL_TRIGGER FAILED 2 sampled (boom), drained", "2 runs, 2 failed, 0 skipped"}},
		"no further attempt where there is no time for it": {wire.Daemon{MaxRetries: 1, RetryBackoffMillis: 5000},
			"10 tick;11 drain 15;12 fail", []string{
				"10 tick: start 1: 10 NORMAL_TRIGGER 1", "12 fail: report 10 NORMAL_TRIGGER FAILED 1 sampled (boom), drained", "1 runs, 1 failed, 0 skipped"}},
		"cut off between two attempts": {wire.Daemon{MaxRetries: 1, RetryBackoffMillis: 5000},
			"10 tick;11 fail;12 cut;20 tick", []string{
				"10 tick: start 1: 10 NORMAL_TRIGGER 1",
				"11 fail: report 10 NORMAL_TRIGGER FAILED 1 sampled retried (boom)",
				"12 cut: report 10 NORMAL_TRIGGER KILLED 1 sampled",
				"1 runs, 1 failed, 0 skipped"}},
		"the clock is set back: no fire is run again": {wire.Daemon{},
			"10 tick;11 ok;12 set -12;12 tick;22 tick;32 tick", []string{
				"10 tick: start 1: 10 NORMAL_TRIGGER 1", "11 ok: report 10 NORMAL_TRIGGER FINISHED 1 sampled", "32 tick: start 2: 20 NORMAL_TRIGGER 1", "1 runs, 0 failed, 0 skipped"}},
		"the clock is set forward: what is old is skipped": {wire.Daemon{Misfire: true}, "2 set 120;2 tick;3 ok",
			[]string{
				"2 tick: start 1: 70 NORMAL_TRIGGER 1", "3 ok: report 70 NORMAL_TRIGGER FINISHED 1 sampled, start 2: 80 MISFIRE 1", "1 runs, 0 failed, 6 skipped"}},
		"the clock leaps by decades for seconds: fires go on": {wire.Daemon{SamplingCount: 99},
			"10 tick;11 ok;12 set 2300000000;12 tick;13 ok;18 set -2300000000;18 tick;20 tick;21 ok", []string{
				"10 tick: start 1: 10 NORMAL_TRIGGER 1", "12 tick: start 2: 2299999960 NORMAL_TRIGGER 1",
				"18 tick: clock back", "20 tick: start 3: 20 NORMAL_TRIGGER 1", "3 runs, 0 failed, 1005 skipped"}},
		"by two days: fires that were run ahead are not run again": {wire.Daemon{SamplingCount: 99},
			"10 tick;11 ok;12 set 172800;20 tick;21 ok;25 set -172800;25 tick;26 ok;30 tick;31 ok;" +
				"40 set 172700;50 tick;51 ok;60 tick;120 tick;130 tick;131 ok", []string{
				"10 tick: start 1: 10 NORMAL_TRIGGER 1", "20 tick: start 2: 172770 NORMAL_TRIGGER 1",
				"25 tick: clock back, start 3: 20 NORMAL_TRIGGER 1", "30 tick: start 4: 30 NORMAL_TRIGGER 1",
				"50 tick: start 5: 172700 NORMAL_TRIGGER 1", "130 tick: start 6: 172830 NORMAL_TRIGGER 1",
				"6 runs, 0 failed, 2010 skipped"}},
		"a shard that begins while the clock is ahead fires once it is back": {wire.Daemon{SamplingCount: 99},
			"1 set 2300000000;2 new;12 tick;13 ok;15 set -2300000000;15 tick;20 tick;21 ok", []string{
				"12 tick: start 1: 2300000010 NORMAL_TRIGGER 1", "15 tick: clock back",
				"20 tick: start 2: 20 NORMAL_TRIGGER 1", "2 runs, 0 failed, 0 skipped"}},
		"at most 100 fires are queued": {wire.Daemon{Misfire: true}, "10 tick" + ticks(20, 1100, 10) + ";1101 ok",
			[]string{
				"10 tick: start 1: 10 NORMAL_TRIGGER 1", "1101 ok: report 10 NORMAL_TRIGGER FINISHED 1 sampled, start 2: 110 MISFIRE 1", "1 runs, 0 failed, 9 skipped"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, play(t, test.settings, test.events)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func ticks(from, to, step int) string {
	var b strings.Builder
	for at := from; at <= to; at += step {
		fmt.Fprintf(&b, ";%d tick", at)
	}
	return b.String()
}

// A driver that calls Tick only when Wait says so misses nothing that is due.
func TestWait(t *testing.T) {
	t.Parallel()
	schedule, err := cron.Parse("0 0 12 * * ?", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	now := daemon.Moment{Wall: noon.Add(-time.Second)}
	s := daemon.New(schedule, wire.Daemon{TimeoutMillis: 1000, MaxRetries: 1, RetryBackoffMillis: 500}, 2*time.Second,
		now)
	var waits []string
	next := func() daemon.Decision {
		wait, ok := s.Wait(now)
		waits = append(waits, fmt.Sprint(wait, ok))
		now.Up, now.Wall = now.Up+wait, now.Wall.Add(wait)
		return s.Tick(now)
	}
	if d := next(); d.Start == nil {
		t.Fatal("not started")
	}
	s.Began(now)
	for _, done := range []func(daemon.Decision) bool{
		func(d daemon.Decision) bool { return len(d.Reports) == 1 },
		func(d daemon.Decision) bool { return d.Cancel != "" },
		func(d daemon.Decision) bool { return d.Kill },
	} {
		if d := next(); !done(d) {
			t.Errorf("after %v: %+v", waits, d)
		}
	}
	s.Ended(now, daemon.Result{Cause: "killed"})
	if d := next(); d.Start == nil || d.Start.Attempt != 2 {
		t.Errorf("after %v: %+v", waits, d)
	}
	s.Drain(now, now.Up+time.Minute)
	if d := next(); !d.Drained {
		t.Errorf("after %v: %+v", waits, d)
	}
	want := []string{"1s true", "25ms true", "975ms true", "2s true", "500ms true", "1m0s true"}
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Error(diff)
	}
}

// A fire is due only when the coarse clock has reached its time, too.
func TestAFireWaitsForTheCoarseClock(t *testing.T) {
	t.Parallel()
	schedule, err := cron.Parse("0 0 12 * * ?", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	at := func(after, lag time.Duration) daemon.Moment {
		return daemon.Moment{Wall: noon.Add(after), Lag: lag, Up: time.Second + after}
	}
	const ms = time.Millisecond
	s := daemon.New(schedule, wire.Daemon{}, time.Second, at(-time.Second, ms))
	var got []string
	for _, now := range []daemon.Moment{at(-2*ms, 3*ms), at(0, ms), at(3*ms, 4*ms), at(4*ms, 0)} {
		wait, _ := s.Wait(now)
		got = append(got, fmt.Sprint(wait, s.Tick(now).Start != nil))
	}
	if diff := cmp.Diff([]string{"2ms false", "200µs false", "200µs false", "0s true"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestRestarts(t *testing.T) {
	t.Parallel()
	var r daemon.Restarts
	var waits []time.Duration
	for range 9 {
		waits = append(waits, r.Ended(time.Second))
	}
	waits = append(waits, r.Ended(time.Hour), r.Ended(time.Second))
	r.Answered()
	waits = append(waits, r.Ended(time.Second))
	var want []time.Duration
	for _, s := range []int{0, 1, 2, 4, 8, 16, 32, 60, 60, 0, 1, 0} {
		want = append(want, time.Duration(s)*time.Second)
	}
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Error(diff)
	}
}

// Every attempt of a run has its own number, and a start even if it could not begin: the scheduler tells runs apart
// by these.
func TestReportsAreNumberedAndHaveAStart(t *testing.T) {
	t.Parallel()
	schedule, err := cron.Parse("0/10 * * * * ?", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	now := daemon.Moment{Wall: noon}
	s := daemon.New(schedule, wire.Daemon{MaxRetries: 1}, time.Second, now)
	var got []string
	told := func(runs ...wire.Run) {
		for _, run := range runs {
			got = append(got, fmt.Sprintf("%d %s %d %s", run.Number, run.State, run.Attempt,
				run.Start.Format("15:04:05")))
		}
	}
	at := func(seconds int) daemon.Moment {
		up := time.Duration(seconds) * time.Second
		return daemon.Moment{Wall: noon.Add(up), Up: up}
	}
	s.Tick(at(10))
	told(s.Ended(at(11), daemon.Result{Cause: "it could not begin"}).Reports...)
	s.Tick(at(12))
	s.Began(at(13))
	told(s.Ended(at(14), daemon.Result{}).Reports...)
	s.Tick(at(20))
	told(*s.CutOff(at(25), daemon.Result{}))
	want := []string{"1 FAILED 1 12:00:11", "2 FINISHED 2 12:00:13", "3 KILLED 1 12:00:25"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
