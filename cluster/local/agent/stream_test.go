package agent

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/encoding"
	"github.com/mesos/mesos-go/api/v1/lib/executor"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
	"github.com/elasticjob-go/elasticjob/cluster/local/queue"
)

// stillAgent returns an agent without goroutines, in a synctest bubble whose time the test advances.
func stillAgent(t *testing.T) (*Agent, *fakeMaster, func(time.Duration)) {
	t.Helper()
	m := newFakeMaster()
	dir := t.TempDir()
	a := newStillAgent(t, Options{DataDir: dir, WorkDir: filepath.Join(dir, "work")})
	m.acknowledging(func(mesos.TaskStatus) bool { return false })
	return a, m, func(d time.Duration) {
		time.Sleep(d)
		synctest.Wait()
		news, _ := a.news.Take()
		for _, n := range news {
			_ = m.Report(n) // the session never ends
		}
	}
}

func newStillAgent(t testing.TB, options Options) *Agent {
	t.Helper()
	options.complete()
	if err := os.MkdirAll(journals(options.DataDir), 0o700); err != nil {
		t.Fatal(err)
	}
	return &Agent{options: options, info: options.info("a-S0"), id: "a-S0", log: slog.New(slog.DiscardHandler),
		news:    queue.New[link.News](0),
		awaited: map[*executorRun]bool{}, frameworks: map[string]*framework{}}
}

func (a *Agent) locked(do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	do()
}

// receive delivers an update from an executor.
func (a *Agent) receive(ex *executorRun, status mesos.TaskStatus) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.handleUpdate(ex, status)
}

// running adds an executor with one task that is being sent to it.
func (a *Agent) running(t *testing.T, id string) *executorRun {
	t.Helper()
	ex, err := a.newExecutor(a.updateFramework(testFramework()), *testExecutorInfo("ex1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ex.journal.file.Close() })
	ex.state, ex.session, ex.proc = running, queue.New[encoding.Marshaler](0), &watched{}
	a.locked(func() { a.assign(ex, []*task{a.newTask(ex, id)}) })
	return ex
}

func (a *Agent) newTask(ex *executorRun, id string) *task {
	ex.nextPosition++
	return &task{framework: ex.framework, ex: ex, id: id, info: mesos.TaskInfo{TaskID: mesos.TaskID{Value: id}},
		position: ex.nextPosition, state: mesos.TASK_STAGING}
}

func testStatus(task, uuid string, state mesos.TaskState) mesos.TaskStatus {
	return mesos.TaskStatus{TaskID: mesos.TaskID{Value: task}, State: state.Enum(),
		UUID: []byte(fmt.Sprintf("%-16s", uuid))}
}

// Only the oldest update is sent, and repeated after 10 s, doubling to 10 minutes. The next one follows its
// acknowledgement.
func TestUpdateRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, updateRetries)
}

func updateRetries(t *testing.T) {
	a, m, pass := stillAgent(t)
	ex := a.running(t, "t1")
	for _, s := range []mesos.TaskStatus{testStatus("t1", "1", mesos.TASK_RUNNING),
		testStatus("t1", "2", mesos.TASK_FINISHED), testStatus("t1", "1", mesos.TASK_RUNNING)} {
		if err := a.receive(ex, s); err != nil {
			t.Fatal(err)
		}
	}
	var times []int
	second := 0
	for ; second < 2600; second++ {
		before := len(m.all())
		pass(time.Duration(min(second, 1)) * time.Second)
		if len(m.all()) > before {
			times = append(times, second)
		}
	}
	if diff := cmp.Diff([]int{0, 10, 30, 70, 150, 310, 630, 1230, 1830, 2430}, times); diff != "" {
		t.Errorf("sent at seconds (-want +got):\n%s", diff)
	}
	for _, c := range m.all()[1:] {
		if c.update.Status.GetState() != mesos.TASK_RUNNING || c.update.Latest != mesos.TASK_FINISHED {
			t.Errorf("reported %v, latest %v", c, c.update.Latest)
		}
	}
	// A framework that subscribes again gets it at once, and the interval starts again.
	n := len(m.all())
	again := proto(testFramework())
	a.handleOrder(&link.Order{Subscribed: &again})
	pass(0)
	pass(9 * time.Second)
	if len(m.all()) != n+1 {
		t.Errorf("%d more after the subscription, want 1", len(m.all())-n)
	}
	a.acknowledged("t1", []byte("something else  "))
	a.acknowledged("t1", testStatus("t1", "1", 0).UUID)
	pass(0)
	if last := m.all()[len(m.all())-1]; last.update.Status.GetState() != mesos.TASK_FINISHED {
		t.Errorf("after the acknowledgement came %v", last)
	}
	a.acknowledged("t1", testStatus("t1", "2", 0).UUID)
	n = len(m.all())
	pass(time.Hour)
	if len(m.all()) != n || len(ex.tasks) != 0 {
		t.Error("the task goes on after its last acknowledgement")
	}
	// The executor does not know yet, so the update is acknowledged to it again, and nothing else happens.
	ex.session.Take()
	if err := a.receive(ex, testStatus("t1", "2", mesos.TASK_FINISHED)); err != nil {
		t.Fatal(err)
	}
	events, _ := ex.session.Take()
	pass(0)
	if len(events) != 1 || events[0].(*executor.Event).Type != executor.Event_ACKNOWLEDGED || len(m.all()) != n {
		t.Errorf("events %v, reported %v", events, m.all()[n:])
	}
}

// A journal's size is proportional to the live state, and it replays to the same state before and after it is
// rewritten.
func TestJournalIsRewritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, journalIsRewritten)
}

func journalIsRewritten(t *testing.T) {
	a, _, pass := stillAgent(t)
	ex := a.running(t, "stays")
	if err := a.receive(ex, testStatus("stays", "s1", mesos.TASK_RUNNING)); err != nil {
		t.Fatal(err)
	}
	a.acknowledged("stays", testStatus("", "s1", 0).UUID)
	if err := a.receive(ex, testStatus("stays", "s2", mesos.TASK_RUNNING)); err != nil {
		t.Fatal(err)
	}
	rewritten := 0
	for i := range 5000 {
		before := ex.journal.size
		id := fmt.Sprint("t", i)
		a.locked(func() { a.assign(ex, []*task{a.newTask(ex, id)}) })
		if err := a.receive(ex, testStatus(id, id, mesos.TASK_FINISHED)); err != nil {
			t.Fatal(err)
		}
		a.acknowledged(id, testStatus("", id, 0).UUID)
		if ex.journal.size < before {
			rewritten++
		}
		pass(0)
	}
	if rewritten == 0 || ex.journal.size > 2*rewriteAbove {
		t.Errorf("rewritten %d times, %d bytes", rewritten, ex.journal.size)
	}
	for range 2 {
		j, records, err := openJournal(ex.journal.path)
		if err != nil {
			t.Fatal(err)
		}
		b := &Agent{options: a.options, id: a.id, frameworks: map[string]*framework{}}
		r, err := b.replay(j, records)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.close(); err != nil {
			t.Fatal(err)
		}
		got := r.ex.tasks["stays"]
		if len(r.ex.tasks) != 1 || got == nil || !got.sent || got.state != mesos.TASK_RUNNING || !r.ex.everSent {
			t.Fatalf("replayed %+v", r.ex)
		}
		if len(got.pending) != 1 || !bytes.HasPrefix(got.pending[0].UUID, []byte("s2")) ||
			!got.hasUpdate(testStatus("", "s1", 0).UUID) || !bytes.HasPrefix(got.acked.UUID, []byte("s1")) {
			t.Errorf("replayed task %+v", got)
		}
		if err := ex.journal.replace(ex.snapshot()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDurationsOfMesos(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]time.Duration{"5secs": 5 * time.Second, "900secs": 15 * time.Minute,
		"1500ms": 1500 * time.Millisecond, "0secs": 0} {
		if got := mesosDuration(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}

// BenchmarkTask is a task's whole life in a running executor: launch, two updates, two acknowledgements.
func BenchmarkTask(b *testing.B) {
	dir := b.TempDir()
	a := newStillAgent(b, Options{DataDir: dir, WorkDir: dir})
	ex, err := a.newExecutor(a.updateFramework(testFramework()), *testExecutorInfo("ex1"))
	if err != nil {
		b.Fatal(err)
	}
	defer ex.journal.file.Close()
	ex.state, ex.session, ex.proc = running, queue.New[encoding.Marshaler](0), &watched{}
	for i := 0; b.Loop(); i++ {
		id := fmt.Sprint(i)
		info := mesos.TaskInfo{TaskID: mesos.TaskID{Value: id}, Executor: testExecutorInfo("ex1"),
			Resources: testResources(), Data: make([]byte, 400)}
		a.run(info)
		for _, state := range []mesos.TaskState{mesos.TASK_RUNNING, mesos.TASK_FINISHED} {
			if err := a.receive(ex, testStatus(id, state.String(), state)); err != nil {
				b.Fatal(err)
			}
			a.acknowledged(id, testStatus("", state.String(), 0).UUID)
		}
		ex.session.Take()
		a.news.Take()
	}
}

var _ link.Upstream = (*fakeMaster)(nil)
