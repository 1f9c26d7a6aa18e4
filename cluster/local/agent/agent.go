// Package agent is the agent of the local cluster. It starts executors as processes of this machine and serves Mesos'
// v1 executor API so exactly that executors see no difference.
//
//	master ── orders ──▶ Agent ── LAUNCH, KILL, … ──▶ session ──▶ executor
//	master ◀── news ──── Agent ◀── SUBSCRIBE, UPDATE ─── HTTP ◀── executor
//	                       ▲
//	       watch: a pidfd per process; deadlines: one timer each
//
// One mutex guards the frameworks, executors, tasks and their update streams. Every change is first appended to the
// executor's journal and answered afterwards, so a kill -9 of the server loses nothing that it has sent. The journals
// are not synced to disk, because a power loss that destroys their last records also ends the processes that they
// describe. Two kinds of queues decouple slow receivers from the mutex: a session per subscribed executor, and the
// news for the master.
//
// After a restart the agent finds the executors again (rules O1-O3): by pid, start time and boot id, or, if the server
// died between fork and journal, by the mark (mark.go), which was in the journal before the fork. The agent does not
// register with the master until each executor has subscribed again or was given up.
package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/cluster/local/apihttp"
	"github.com/elasticjob-go/elasticjob/cluster/local/fetcher"
	"github.com/elasticjob-go/elasticjob/cluster/local/link"
	"github.com/elasticjob-go/elasticjob/cluster/local/queue"
	"github.com/elasticjob-go/elasticjob/internal/wholefile"
)

// Agent runs executors on this machine. Create it with Start.
type Agent struct {
	options   Options
	info      mesos.AgentInfo
	id        string
	boot      string
	log       *slog.Logger
	fetcher   *fetcher.Fetcher
	master    link.Upstream
	news      *queue.Queue[link.News] // pushed to under mu
	sandboxes *sandboxes

	// ctx ends with Close. work counts all goroutines.
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	// joining ends with the first registration, or when the master permanently rejects the agent. Its cause is then the
	// reason.
	joining    context.Context
	endJoining context.CancelCauseFunc

	mu         sync.Mutex
	recovering bool
	closed     bool
	inSession  bool                  // whether there is a session with the master; messages are dropped without one
	awaited    map[*executorRun]bool // executors that recovery still waits for
	frameworks map[string]*framework
	ending     bool          // EndAll was called: nothing is launched any more
	idle       chan struct{} // closed by closeIdle when EndAll was called and no executor is left
	closeIdle  func()
}

// framework is what the agent knows about a framework.
type framework struct {
	info      mesos.FrameworkInfo
	executors map[string]*executorRun
	tasks     map[string]*task
}

// Start recovers the executors of earlier runs. With GiveUpExecutors, it kills them and waits until they are dead. The
// agent registers with the master in the background, as soon as each recovered executor has subscribed again or was
// given up: at once if there are none, and after at most ReregistrationTimeout otherwise. The caller must serve Handler
// from now on, so that executors can subscribe. ctx bounds Start only.
func Start(ctx context.Context, options Options, master link.Upstream) (*Agent, error) {
	options.complete()
	boot, err := bootID()
	if err != nil {
		return nil, fmt.Errorf("start the agent: %w", err)
	}
	// Tasks may run as another user, who must pass through to their folders but must not list them.
	if err := errors.Join(os.MkdirAll(options.WorkDir, 0o711),
		os.MkdirAll(journals(options.DataDir), 0o700)); err != nil {
		return nil, fmt.Errorf("start the agent: %w", err)
	}
	id, err := loadID(options.DataDir)
	if err != nil {
		return nil, fmt.Errorf("start the agent: %w", err)
	}
	fetch, err := fetcher.New(filepath.Join(options.DataDir, "fetch-cache"))
	if err != nil {
		return nil, fmt.Errorf("start the agent: %w", err)
	}
	boxes, err := openSandboxes(options)
	if err != nil {
		return nil, fmt.Errorf("start the agent: %w", err)
	}
	a := &Agent{
		options: options, info: options.info(id), id: id, boot: boot,
		log: options.Logger, fetcher: fetch, sandboxes: boxes,
		master: master, news: queue.New[link.News](0),
		idle:       make(chan struct{}),
		recovering: true,
		awaited:    map[*executorRun]bool{},
		frameworks: map[string]*framework{},
	}
	a.closeIdle = sync.OnceFunc(func() { close(a.idle) })
	a.ctx, a.cancel = context.WithCancel(context.WithoutCancel(ctx))
	a.joining, a.endJoining = context.WithCancelCause(context.WithoutCancel(ctx))
	if err := a.recover(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start the agent: %w", err), a.Close(ctx))
	}
	// Sandboxes are removed only after the recovery, because before that no executor counts as using its sandbox.
	a.work.Go(func() { boxes.run(a.ctx, a.sandboxesInUse) })
	return a, nil
}

// Registered waits until the agent has recovered and registered. It returns the reason if the master permanently
// rejects the agent.
func (a *Agent) Registered(ctx context.Context) error {
	select {
	case <-a.joining.Done():
		if why := context.Cause(a.joining); !errors.Is(why, context.Canceled) {
			return why
		}
		return nil
	case <-a.ctx.Done():
		return errors.New("wait for the agent's registration: it was closed first")
	case <-ctx.Done():
		return fmt.Errorf("wait for the agent's registration: %w", ctx.Err())
	}
}

// Handler serves the executor API and the files API. It may be called at any time after Start.
func (a *Agent) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/executor", a.serveCall)
	mux.Handle("/files/read", a.options.Credentials.Guard(apihttp.RealmFiles, http.HandlerFunc(a.sandboxes.serveRead)))
	return mux
}

// Close stops the agent and waits for its goroutines until ctx ends. Executors and their tasks continue to run, as
// after kill -9, and the next Start recovers them.
func (a *Agent) Close(ctx context.Context) error {
	a.mu.Lock()
	a.closed = true
	a.cancel()
	var errs []error
	a.eachExecutor(func(ex *executorRun) {
		if ex.session != nil {
			ex.session.Close()
		}
		if ex.proc != nil && ex.state != terminated {
			errs = append(errs, ex.proc.close())
		}
	})
	a.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.work.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		errs = append(errs, fmt.Errorf("close the agent: %w", ctx.Err()))
		return errors.Join(errs...)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.eachExecutor(func(ex *executorRun) { errs = append(errs, ex.journal.close()) })
	a.fetcher.Close()
	return errors.Join(append(errs, a.sandboxes.close())...)
}

// EndAll ends all executors and waits until all their processes are gone (rule O4). Each executor gets SHUTDOWN and,
// after its grace period, SIGKILL. Unacknowledged updates are kept for the next Start. After EndAll the agent rejects
// every task.
func (a *Agent) EndAll(ctx context.Context) error {
	a.mu.Lock()
	if !a.ending {
		a.ending = true
		a.eachExecutor(func(ex *executorRun) { a.shutdown(ex) })
		a.signalIdle()
	}
	idle := a.idle
	a.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("end all executors: %w", ctx.Err())
	}
}

// signalIdle wakes EndAll, if that was called and no executor is left.
func (a *Agent) signalIdle() {
	if !a.ending {
		return
	}
	left := false
	a.eachExecutor(func(ex *executorRun) { left = left || ex.state != terminated })
	if !left {
		a.closeIdle()
	}
}

// afterFunc calls a function under the agent's lock after wait, unless the agent is closed by then. The timer cannot
// be cancelled, so the function must check whether it still applies.
func (a *Agent) afterFunc(wait time.Duration, call func()) {
	time.AfterFunc(wait, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if !a.closed {
			call()
		}
	})
}

func (a *Agent) eachExecutor(do func(*executorRun)) {
	for _, f := range a.frameworks {
		for _, ex := range f.executors {
			do(ex)
		}
	}
}

// updateFramework records the current description of a framework, and adds the framework if it is new here.
func (a *Agent) updateFramework(info mesos.FrameworkInfo) *framework {
	id := info.GetID().GetValue()
	f := a.frameworks[id]
	if f == nil {
		f = &framework{executors: map[string]*executorRun{}, tasks: map[string]*task{}}
		a.frameworks[id] = f
	}
	f.info = info
	return f
}

// forgetIfIdle removes a framework that has no executors and no tasks here.
func (a *Agent) forgetIfIdle(f *framework) {
	if len(f.executors) == 0 && len(f.tasks) == 0 {
		delete(a.frameworks, f.info.GetID().GetValue())
	}
}

// journals returns the folder of the executors' journals.
func journals(dataDir string) string { return filepath.Join(dataDir, "executors") }

// loadID reads or creates the agent's id. The id does not change during the life of the data folder.
func loadID(dataDir string) (string, error) {
	type identity struct {
		ID string `json:"id"`
	}
	name := filepath.Join(dataDir, "agent.json")
	var kept identity
	switch data, err := os.ReadFile(name); {
	case err == nil:
		if err := json.Unmarshal(data, &kept); err != nil || kept.ID == "" {
			return "", fmt.Errorf("read the agent's id: %s has none (%w): bring back a copy of it, or remove it and "+
				"start with --give-up-executors for a new one: the tasks that the registry has for this agent then "+
				"count as lost",
				name, cmp.Or(err, errors.New("it is empty")))
		}
		return kept.ID, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("read the agent's id: %w; make it readable for the user who starts this", err)
	}
	kept.ID = uuid.NewString() + "-S0"
	return kept.ID, wholefile.WriteJSON(name, kept)
}
