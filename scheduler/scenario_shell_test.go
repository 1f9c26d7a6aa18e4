package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/resources"
	"github.com/elasticjob-go/elasticjob/test/scenario"
)

// TestShellScenarios plays testdata/shell/*.txt as TestScenarios does those of the core:
// the real loop over a registry and a cluster that answer as the script says, and below the
// line what the registry was asked, what the cluster was called, and what requesters were told.
// The commands are those of shellCommands.
func TestShellScenarios(t *testing.T) {
	t.Parallel()
	scenario.Play(t, "testdata/shell/*.txt", func(t *testing.T, run func(testing.TB, scenario.Scene)) {
		synctest.Test(t, func(t *testing.T) {
			s := newShell(t)
			defer s.end()
			run(t, s)
		})
	})
}

// shellCommands are the commands of the shell's scenarios:
//
//	lead                                   this process stands for election
//	app NAME, job NAME, trigger JOB        a user asks
//	disable JOB, change JOB parameter=     a user asks
//	offer AGENT, update TASK STATE         the cluster tells
//	edit job NAME parameter=               somebody writes into the registry
//	commit unknown                         the next commit's outcome is never known: the session is gone
//	commit lost done|undone                its answer is lost; the session lives, and it is found out
//	cut                                    the session is lost while nothing is committed
//	depose                                 another process begins a term
//	wait DURATION
var shellCommands = map[string]func(*shell, *words){
	"lead": func(s *shell, _ *words) { s.lead() },
	"app": func(s *shell, w *words) {
		a := app.Default()
		a.AppName, a.AppURL, a.BootstrapScript, a.CPUCount, a.MemoryMB = w.next(), "http://127.0.0.1/p.tar", "bin/start.sh", 0.5, 128
		s.ask(func(ctx context.Context) (string, error) {
			_, err := s.scheduler.RegisterApp(ctx, a)
			return "done", err
		})
	},
	"job": func(s *shell, w *words) {
		j := shellJob(w.next())
		s.ask(func(ctx context.Context) (string, error) {
			_, err := s.scheduler.RegisterJob(ctx, j)
			return "done", err
		})
	},
	"trigger": func(s *shell, w *words) {
		job, key := w.next(), w.option("key", "")
		s.ask(func(ctx context.Context) (string, error) { return s.scheduler.Trigger(ctx, job, key) })
	},
	"disable": func(s *shell, w *words) {
		job := w.next()
		s.ask(func(ctx context.Context) (string, error) {
			_, err := s.scheduler.SetJobDisabled(ctx, job, true)
			return "done", err
		})
	},
	"change": func(s *shell, w *words) {
		job, parameter := w.next(), w.option("parameter", "")
		s.ask(func(ctx context.Context) (string, error) {
			_, err := s.scheduler.UpdateJob(ctx, job, func(j jobs.Config) (jobs.Config, error) {
				j.JobParameter = parameter
				return j, nil
			})
			return "done", err
		})
	},
	"show": func(s *shell, w *words) {
		j, err := s.scheduler.Job(context.Background(), w.next())
		s.say("parameter %q, %v", j.Config.JobParameter, err)
	},
	"offer": func(s *shell, w *words) {
		s.offers++
		s.session.events <- cluster.Offers{Offers: []cluster.Offer{{ID: fmt.Sprint("O", s.offers), AgentID: w.next(), Hostname: "h", AgentURL: "http://h:5051",
			Resources: resources.Amount{CPUMilli: 8000, MemMilli: 8_192_000}}}}
	},
	"update": func(s *shell, w *words) {
		id := s.ids[w.next()]
		s.offers++
		s.session.events <- cluster.Update{TaskID: id, AgentID: "S1", State: cluster.State(w.next()), Source: cluster.FromExecutor,
			UUID: fmt.Append(nil, "u", s.offers), Timestamp: time.Now()}
	},
	"edit":   (*shell).edit,
	"commit": func(s *shell, w *words) { s.registry.next = strings.Join(w.list, " "); w.list = nil },
	"cut":    func(s *shell, _ *words) { s.registry.lose("the session is gone") },
	"depose": func(s *shell, _ *words) { s.registry.depose() },
	"wait":   func(_ *shell, w *words) { time.Sleep(w.duration()) },
}

func shellJob(name string) jobs.Config {
	j := jobs.Default()
	j.JobName, j.AppName, j.JobExecutionType, j.ShardingTotalCount, j.CPUCount, j.MemoryMB = name, "my_app", jobs.Transient, 1, 1, 64
	return j
}

// shell is a stage for the real loop. All of it is in a synctest bubble: calls of
// one command are heard in an order of their own, whatever goroutine makes them.
type shell struct {
	words     *scene // names for ids
	scheduler *Scheduler
	registry  *toldRegistry
	session   *toldSession
	ids       map[string]string
	offers    int
	stop      context.CancelFunc
	running   sync.WaitGroup

	mu  sync.Mutex
	out strings.Builder
}

func newShell(t *testing.T) *shell {
	s := &shell{words: &scene{names: map[string]string{}, ids: map[string]string{}, counts: map[string]int{}}, ids: map[string]string{}}
	s.registry = &toldRegistry{s: s, entries: map[string]registry.Entry{}}
	s.scheduler = New(Options{Registry: s.registry, Driver: toldDriver{s}, Core: DefaultCoreOptions(), Random: rand.NewPCG(1, 2), Logger: slog.New(slog.DiscardHandler)})
	var ctx context.Context
	ctx, s.stop = context.WithCancel(t.Context())
	s.registry.ctx = ctx
	return s
}

func (s *shell) end() {
	s.stop()
	s.running.Wait()
}

func (s *shell) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.WriteString(s.words.inWords(fmt.Sprintf(format, args...)) + "\n")
}

// inWords and called are those of its words, which the shell's goroutines share.
func (s *shell) inWords(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.words.inWords(text)
}

func (s *shell) called(id, prefix string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.words.called(id, prefix)
}

// Said returns and forgets what was said.
func (s *shell) Said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.out.String()
	s.out.Reset()
	return text
}

// Command does what a line of a scenario says, and gives it time to have its effects.
func (s *shell) Command(line string) error {
	name, w, err := split(line)
	if err != nil {
		return err
	}
	do := shellCommands[name]
	if do == nil {
		return fmt.Errorf("there is no command %q", name)
	}
	do(s, w)
	time.Sleep(settles)
	synctest.Wait()
	return w.err
}

// settles is how long, in the bubble's time, a command has to have its effects.
const settles = 50 * time.Millisecond

func (s *shell) lead() {
	s.running.Go(func() {
		err := s.scheduler.Lead(s.registry.ctx)
		if s.registry.ctx.Err() == nil {
			s.say("the term has ended: %v", err)
		}
	})
}

// ask asks as a user does, and says what he is told.
func (s *shell) ask(request func(context.Context) (string, error)) {
	s.running.Go(func() {
		answer, err := request(s.registry.ctx)
		time.Sleep(10 * time.Millisecond)
		if refused := (*Error)(nil); errors.As(err, &refused) {
			s.say("told the user (%d): %s", statusOf[refused.Kind], refused.Message)
			return
		}
		s.say("told the user: %s", cmp.Or(answer, fmt.Sprint(err)))
	})
}

// statusOf is what the API answers for a kind of error.
var statusOf = map[Kind]int{NotFound: 404, Conflict: 409, Invalid: 400, Unavailable: 503, OutcomeUnknown: 503, TooSoon: 429}

// edit is somebody's zkCli.
func (s *shell) edit(w *words) {
	if what := w.next(); what != "job" {
		w.err = fmt.Errorf("%q can't be edited", what)
		return
	}
	j := shellJob(w.next())
	j.JobParameter = w.option("parameter", "")
	data, err := json.Marshal(j)
	w.err = errors.Join(w.err, err)
	s.registry.put(under(pathJobs, j.JobName), data)
}

// toldRegistry is a registry of one process that answers as it is told to.
type toldRegistry struct {
	s       *shell
	ctx     context.Context
	next    string       // how the next commit is answered
	slow    atomic.Int64 // how many nanoseconds each commit takes
	mu      sync.Mutex
	entries map[string]registry.Entry
	number  int64
	term    *toldTerm
}

func (r *toldRegistry) put(path string, value []byte) {
	e, there := r.entries[path]
	e.Path, e.Value = path, value
	if there {
		e.Version++
	}
	r.entries[path] = e
}

// depose has another process begin a term. This one does not know it yet.
func (r *toldRegistry) depose() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.number++
}

func (r *toldRegistry) lose(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.term.over(why)
}

func (r *toldRegistry) Campaign(context.Context, string) (registry.Term, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.number++
	r.s.say("REGISTRY term %d is written", r.number)
	r.term = &toldTerm{r: r, number: r.number, done: make(chan struct{})}
	return r.term, nil
}

func (r *toldRegistry) Leader() (registry.Leader, bool) { return registry.Leader{}, false }
func (r *toldRegistry) Limits() registry.Limits {
	return registry.Limits{Value: 1 << 20, Commit: 1 << 20}
}
func (r *toldRegistry) Close() error { return nil }

type toldTerm struct {
	r      *toldRegistry
	number int64
	done   chan struct{}
	err    error
}

// over ends the term; the registry's lock is held.
func (t *toldTerm) over(why string) error {
	if t.err == nil {
		t.err = fmt.Errorf("%s: %w", why, registry.ErrTermOver)
		close(t.done)
	}
	return t.err
}

func (t *toldTerm) Number() int64                { return t.number }
func (t *toldTerm) Done() <-chan struct{}        { return t.done }
func (t *toldTerm) Changed() <-chan string       { return nil }
func (t *toldTerm) Resign(context.Context) error { return nil }
func (t *toldTerm) Err() error {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	return t.err
}

func (t *toldTerm) List(_ context.Context, path string) ([]registry.Entry, error) {
	t.r.s.say("REGISTRY %s is read", path)
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	var all []registry.Entry
	for _, p := range sortedKeys(t.r.entries) {
		if strings.HasPrefix(p, path+"/") {
			all = append(all, t.r.entries[p])
		}
	}
	return all, nil
}

func (t *toldTerm) Get(_ context.Context, path string) (registry.Entry, error) {
	t.r.s.say("REGISTRY %s is read", path)
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	e, ok := t.r.entries[path]
	if !ok {
		return e, registry.ErrNotFound
	}
	return e, nil
}

func (t *toldTerm) Commit(_ context.Context, writes []registry.Write) error {
	r := t.r
	time.Sleep(time.Duration(r.slow.Load()))
	r.mu.Lock()
	defer r.mu.Unlock()
	how := r.next
	r.next = ""
	if t.err != nil {
		return t.err
	}
	what := "nothing but the fence"
	if len(writes) > 0 {
		list := make([]string, len(writes))
		for i, w := range writes {
			list[i] = r.s.inWords(w.Path)
		}
		slices.Sort(list)
		what = someOf(list)
	}
	if t.number != r.number {
		r.s.say("REGISTRY commit of term %d refused by the fence: %s", t.number, what)
		return t.over(fmt.Sprintf("term %d has begun", r.number))
	}
	for _, w := range writes {
		if e, there := r.entries[w.Path]; !w.If.Met(there, e.Version) {
			r.s.say("REGISTRY commit refused, %s has changed: %s", w.Path, what)
			return &registry.Conflict{Path: w.Path}
		}
	}
	if how == "unknown" {
		r.s.say("REGISTRY commit without an answer, and the session is gone: %s", what)
		return fmt.Errorf("%w, its last commit %w", t.over("the session is gone"), registry.ErrOutcomeUnknown)
	}
	for _, w := range writes {
		if w.Delete {
			delete(r.entries, w.Path)
		} else {
			r.put(w.Path, w.Value)
		}
	}
	switch how {
	case "":
		r.s.say("REGISTRY commit: %s", what)
	case "lost undone":
		r.s.say("REGISTRY commit without an answer, sent again, done: %s", what)
	case "lost done":
		r.s.say("REGISTRY commit without an answer, sent again, refused by what was done: %s", what)
	}
	return nil
}

// toldDriver is a cluster that says what it is called.
type toldDriver struct{ s *shell }

func (d toldDriver) Subscribe(_ context.Context, f cluster.Framework) (cluster.Session, error) {
	d.s.say("CALL SUBSCRIBE as %s", f.ID)
	session := &toldSession{s: d.s, events: make(chan cluster.Event, 100)}
	d.s.session = session
	session.events <- cluster.Subscribed{FrameworkID: f.ID, MasterID: "master-1"}
	return session, nil
}

type toldSession struct {
	s      *shell
	events chan cluster.Event
	once   sync.Once
}

// call says a call, after others that come first at the same moment.
func (t *toldSession) call(place time.Duration, format string, args ...any) error {
	time.Sleep(place * time.Microsecond)
	t.s.say("CALL "+format, args...)
	return nil
}

func (t *toldSession) Events() <-chan cluster.Event { return t.events }
func (t *toldSession) Err() error                   { return errors.New("closed") }
func (t *toldSession) Close() error                 { t.once.Do(func() { close(t.events) }); return nil }

func (t *toldSession) Accept(_ context.Context, a cluster.Accept) error {
	var tasks []string
	for _, l := range a.Tasks {
		parsed, err := jobs.ParseTaskID(l.TaskID)
		if err != nil {
			return err
		}
		name := t.s.called(l.TaskID, fmt.Sprintf("%s/%d#", parsed.Job, parsed.Item))
		t.s.mu.Lock()
		t.s.ids[name] = l.TaskID
		t.s.mu.Unlock()
		tasks = append(tasks, name)
	}
	return t.call(1, "ACCEPT on %s: launch %s", a.AgentID, strings.Join(tasks, ", "))
}

func (t *toldSession) Kill(_ context.Context, k cluster.Kill) error {
	return t.call(2, "KILL %s", k.TaskID)
}

func (t *toldSession) Shutdown(_ context.Context, id, agent string) error {
	return t.call(3, "SHUTDOWN %s on %s", id, agent)
}

func (t *toldSession) Acknowledge(_ context.Context, a cluster.Ack) error {
	return t.call(4, "ACKNOWLEDGE %s", a.TaskID)
}

func (t *toldSession) Reconcile(_ context.Context, tasks []cluster.TaskRef) error {
	var ids []string
	for _, ref := range tasks {
		ids = append(ids, ref.TaskID)
	}
	return t.call(5, "RECONCILE %s", cmp.Or(strings.Join(ids, ", "), "everything"))
}

func (t *toldSession) Decline(context.Context, []string, time.Duration) error {
	return t.call(6, "DECLINE")
}
func (t *toldSession) Revive(context.Context) error   { return t.call(7, "REVIVE") }
func (t *toldSession) Suppress(context.Context) error { return t.call(8, "SUPPRESS") }
