package sim

import (
	"container/heap"
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// Config selects a world.
type Config struct {
	// Seed determines everything.
	Seed uint64
	// Steps is the number of steps of the core before the faults stop.
	Steps int
	// Trace, if not nil, receives every line of the trace.
	Trace io.Writer
	// Pods makes the cluster a Kubernetes.
	Pods bool
	// Deaf removes the content of executors' reports before they arrive.
	Deaf bool
	// Bug, if set, is a fault of the shell that the checks must find.
	Bug Bug
}

// Bug is a bug that a world adds, mostly a wrong order of the shell's steps. It shows that the checks find it.
type Bug int

// The bugs.
const (
	NoBug Bug = iota
	// ReadsFirst reads the state before the write that begins the term (rule T1).
	ReadsFirst
	// ActsFirst carries out effects before the commit.
	ActsFirst
	// AnswersCallsItself counts a call as answered when it leaves, so that the next call of its queue may overtake it
	// (rule L3).
	AnswersCallsItself
	// ForgetsMadeFires and GoesBackTooFar are bugs of the core. ForgetsMadeFires forgets, when the cursor goes back,
	// which fires were made already (rule F4). GoesBackTooFar moves the cursor to before its position before the leap.
	ForgetsMadeFires
	GoesBackTooFar
	// ReloadsAnywhere reads a document again from a server that may lag behind the commit whose conflict caused the
	// read (rule T4).
	ReloadsAnywhere
	// LeaseFromAnswer counts the time of a lease from the answer's arrival instead of the request. AnswersUnconfirmed
	// answers a request for leases without a confirmation of the term (rule K5).
	LeaseFromAnswer
	AnswersUnconfirmed
)

// Report describes a world after its end.
type Report struct {
	Seed  uint64
	Steps int
	// Time is how long the world lasted, in its own time.
	Time time.Duration
	// Faults counts how often each fault happened.
	Faults [NumFaults]int
	// Kills counts the leaders that crashed.
	Kills int
	// Launched, Ended and Processes count tasks, executions and processes.
	Launched, Ended, Processes int
	// Print is a fingerprint of everything that happened. It is always the same for the same seed.
	Print uint64
}

// Failure is a broken invariant. It is the error of Run.
type Failure struct {
	Config    Config
	Step      int
	At        time.Duration
	Invariant string
	Detail    string
	// Trace has the last lines of the trace.
	Trace []string
}

func (f *Failure) Error() string {
	text := fmt.Sprintf("seed %d, step %d, %s into the world: %s: %s\nreplay: go test ./scheduler/sim -run %s -sim.seed=%d -sim.steps=%d\n",
		f.Config.Seed, f.Step, f.At, f.Invariant, f.Detail, map[bool]string{false: "TestWorlds",
			true: "TestPodWorlds"}[f.Config.Pods], f.Config.Seed, f.Config.Steps)
	for _, line := range f.Trace {
		text += line + "\n"
	}
	return text
}

// Run plays a world. Its error, if any, is a *Failure.
func Run(cfg Config) (Report, error) {
	w := newWorld(cfg, &tracer{out: cfg.Trace})
	w.play()
	w.report.Time, w.report.Print = w.now, w.print.Sum64()
	if w.failure == nil {
		return w.report, nil
	}
	// Play it again, with a trace.
	again := newWorld(cfg, &tracer{kept: 400})
	again.play()
	w.failure.Trace = again.trace.lines
	if again.failure == nil || again.failure.Detail != w.failure.Detail {
		w.failure.Detail += " (the same seed failed differently when it was played again: something is not deterministic)"
	}
	return w.report, w.failure
}

// epoch is the time at which worlds begin.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a simulated world.
type world struct {
	cfg   Config
	rng   *rand.Rand
	trace *tracer

	now   time.Duration // since the world began
	skew  time.Duration // of the leaders' wall clock
	queue eventQueue
	seq   uint64

	opt       step.Options
	store     *store
	master    *master    // in a Mesos world, else nil
	api       *apiServer // in a Kubernetes world, else nil
	masters   int
	agents    []*agent
	agentNo   int
	holders   uint64 // the number of holders of leases so far
	leaders   []*leader
	leading   *leader // the leader of the present term
	users     *users
	history   *history
	check     *checker
	audits    *audits
	rates     [NumFaults]float64 // of faults by chance: the probability; of planned faults: how often they happen
	forgotten map[string]bool    // tasks that an operator declared as ended
	removed   map[string]*master // removed framework ids → the master that removed each last
	refused   map[string]bool    // executors that the master knows with another ExecutorInfo
	roles     map[string]string  // roles of the executors that a master was asked to start
	print     hash.Hash64
	report    Report

	refusedTimeout time.Duration // after which a leader whom the master refuses abdicates
	refusesUntil   time.Duration // until when the master refuses the framework
	awayUntil      time.Duration // until when the master cannot be reached
	mailAwayUntil  time.Duration // until when no notification can be sent

	keptDaemon string // the daemon job that must come up before the world ends, "" for none
	calm       bool   // the faults have stopped
	ended      bool
	failure    *Failure
	lastJump   time.Duration
	leap       leap
	cordons    cordons
	leaderless int // the number of consecutive checks without a leader
	uuids      uint64
	offerNo    int64
	quietSince time.Duration
}

// smallCalls is the last digit of the seeds of worlds in which one ACCEPT holds the descriptions of one to four
// shards, as if each job had large documents.
const smallCalls = 7

func newWorld(cfg Config, t *tracer) *world {
	w := &world{cfg: cfg, trace: t, rng: rand.New(rand.NewPCG(cfg.Seed, 0x5eed)), print: fnv.New64a(),
		report:    Report{Seed: cfg.Seed},
		forgotten: map[string]bool{}, removed: map[string]*master{}, refused: map[string]bool{},
		roles: map[string]string{}, lastJump: -time.Hour,
		cordons: cordons{marked: map[string]time.Time{}, hosts: map[string]string{}, stored: map[string][]byte{},
			drained: map[string]bool{}}}
	t.now = func() time.Duration { return w.now }
	w.store = &store{clock: t.now, entries: map[string]registry.Entry{}}
	w.check = newChecker(w)
	w.history, w.audits = newHistory(w), newAudits(w)
	w.opt = step.DefaultOptions()
	w.opt.History = true
	w.opt.ExecutorBinary = "http://leader/artifacts/executor"
	if w.rng.IntN(3) == 0 {
		w.opt.FiresPerStep = 1 + w.rng.IntN(5)
		w.opt.DemandsPerStep = 1 + w.rng.IntN(5)
	}
	if w.rng.IntN(3) == 0 {
		w.opt.MaxEnded = 10 + w.rng.IntN(100)
		w.opt.MaxUnstored = 2 * w.opt.MaxEnded
	}
	if cfg.Seed%10 == smallCalls { // depends on the seed, so that other worlds stay the same
		w.opt.LaunchBytes = 2<<10 + int(cfg.Seed/10%8)<<9
	}
	w.opt.MaxQueuedFires = 2 + w.rng.IntN(8)
	if w.rng.IntN(4) == 0 {
		w.opt.ExecutorIdle = 0
	}
	if !w.unleased() {
		w.opt.LeaseURLs = []string{"http://127.0.0.1:18899"}
	}
	w.refusedTimeout = []time.Duration{0, time.Minute}[w.rng.IntN(2)]
	w.chooseFaults()
	if cfg.Pods {
		w.api = newAPIServer(w)
		w.opt.TaskExecutors = true
	} else {
		w.master = newMaster(w, false)
	}
	for range 1 + w.rng.IntN(6) {
		w.addAgent("", machines[w.rng.IntN(len(machines))])
	}
	w.users = newUsers(w)
	if w.rng.IntN(8) == 0 && !cfg.Pods {
		w.original()
	}
	return w
}

// play runs the world to its end or to the first failure.
func (w *world) play() {
	w.campaign(0)
	w.users.begin()
	w.audits.begin()
	w.planFault()
	w.planLeaps()
	w.planCordons()
	w.after(10*time.Second, w.checkPeriodically)
	w.after(time.Second, w.history.drain)
	for n := 0; !w.ended && w.failure == nil && len(w.queue) > 0; n++ {
		e := heap.Pop(&w.queue).(*event)
		w.now = e.at
		e.do()
		if n > 5_000_000 {
			w.fail("the world ends", "after %d events it has not", n)
		}
		if !w.calm && (w.report.Steps >= w.cfg.Steps || w.now > 48*time.Hour) {
			w.quiesce()
		}
	}
	if !w.ended && w.failure == nil {
		w.fail("the world goes on", "nothing is to happen any more")
	}
}

// checkPeriodically checks, every ten seconds, the invariants that hold without any event.
func (w *world) checkPeriodically() {
	w.check.periodic()
	if w.calm {
		w.settle()
	}
	w.after(10*time.Second, w.checkPeriodically)
}

// wall returns the leaders' wall clock.
func (w *world) wall() time.Time { return epoch.Add(w.now + w.skew) }

func (w *world) after(d time.Duration, do func()) {
	w.seq++
	heap.Push(&w.queue, &event{at: w.now + max(d, 0), seq: w.seq, do: do})
}

func (w *world) chance(p float64) bool { return p > 0 && w.rng.Float64() < p }

func (w *world) between(a, b time.Duration) time.Duration {
	return a + time.Duration(w.rng.Int64N(int64(b-a)+1))
}

// latency returns a random latency of one message.
func (w *world) latency() time.Duration {
	if !w.calm && w.rng.IntN(200) == 0 {
		return w.between(100*time.Millisecond, 3*time.Second)
	}
	return w.between(100*time.Microsecond, 5*time.Millisecond)
}

func (w *world) fail(invariant, format string, args ...any) {
	if w.failure != nil {
		return
	}
	w.failure = &Failure{Config: w.cfg, Step: w.report.Steps, At: w.now, Invariant: invariant,
		Detail: fmt.Sprintf(format, args...)}
	w.trace.add("FAILED: %s: %s", invariant, w.failure.Detail)
}

// mix adds an event and its time to the fingerprint.
func (w *world) mix(format string, args ...any) {
	_, _ = fmt.Fprintf(w.print, format+" %d\n", append(args, w.now)...)
}

// mixLaunch adds the tasks of a launch, as executors get them, to the fingerprint, and returns the launch without their
// descriptions.
func (w *world) mixLaunch(l step.CallLaunch) step.Call {
	l.Launch.Tasks = slices.Clone(l.Launch.Tasks)
	for i := range l.Launch.Tasks {
		t := &l.Launch.Tasks[i]
		described, err := t.Description()
		w.mix("%s %v", described, err)
		t.Task, t.Shared = wire.Task{}, nil
	}
	return l
}

// mixDecision adds the decision of a step to the fingerprint, byte for byte.
func (w *world) mixDecision(events []core.Event, d *core.Decision) {
	for i := range d.Writes {
		w.mix("%s %s", d.Writes[i].Path, d.Writes[i].Value)
	}
	for _, call := range d.Calls {
		if l, ok := call.(step.CallLaunch); ok { // its tasks contain pointers
			call = w.mixLaunch(l)
		}
		w.mix("%T%+v", call, call)
	}
	for _, n := range d.Notifications {
		w.mix("%+v", n)
	}
	for _, r := range d.Replies {
		w.mix("%s %v", r.ExecutionID, r.Err)
	}
	for i := range d.Notes {
		n := &d.Notes[i]
		if ofReports(n) {
			continue
		}
		w.mix("%s %s %s %s %s", n.Kind, n.Job, n.Execution, n.Task, n.Text())
	}
	w.mix("%d events, wakes at %d", len(events), d.Wake)
}

func (w *world) uuid() []byte {
	w.uuids++
	return []byte(fmt.Sprintf("u%07d", w.uuids))
}

// event is an event in the future.
type event struct {
	at  time.Duration
	seq uint64
	do  func()
}

type eventQueue []*event

func (q eventQueue) Len() int { return len(q) }
func (q eventQueue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}
func (q eventQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *eventQueue) Push(x any)   { *q = append(*q, x.(*event)) }
func (q *eventQueue) Pop() any {
	old := *q
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return e
}

func sorted[V any](m map[string]V) []string {
	keys := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	slices.Sort(keys)
	return keys
}

// pick returns a random element.
func pick[T any](w *world, list []T) (T, bool) {
	var zero T
	if len(list) == 0 {
		return zero, false
	}
	return list[w.rng.IntN(len(list))], true
}
