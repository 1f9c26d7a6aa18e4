package scheduler_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
	"github.com/elasticjob-go/elasticjob/test/scenario"
)

// TestShellScenarios plays testdata/shell/*.txt as TestScenarios does those of the core: the real loop with a registry
// and a cluster that answer as the script says. Below the line are the requests to the registry, the calls to the
// cluster, and the answers to requesters. The commands are those of shellCommands.
func TestShellScenarios(t *testing.T) {
	t.Parallel()
	scenario.Play(t, "testdata/shell/*.txt", func(t *testing.T, run func(testing.TB, scenario.Scene)) {
		onStage(t, func(s *stage) {
			s.cluster.agent = false
			s.opt.Point = nil
		}, func(t *testing.T, s *stage) {
			scene := &shell{stage: s}
			scene.ctx, s.stop = context.WithCancel(t.Context())
			run(t, scene)
			s.stop()
			scene.running.Wait()
		})
	})
}

// shellCommands are the commands of the shell's scenarios:
//
//	lead                                   this process stands for election
//	app NAME, job NAME, trigger JOB        a user asks
//	disable JOB, change JOB parameter=     a user asks
//	offer AGENT, update TASK STATE         the cluster reports
//	edit job NAME parameter=               an external edit in the registry
//	commit unknown                         the next commit's outcome is never known: the session is gone
//	commit lost done|undone                its answer is lost; the session lives, and the outcome is found
//	cut                                    the session is lost while nothing is committed
//	depose                                 another process begins a term
//	wait DURATION
var shellCommands = map[string]func(*shell, *scenario.Words){
	"lead": func(s *shell, _ *scenario.Words) { s.lead() },
	"app": func(s *shell, w *scenario.Words) {
		a := app.Default()
		a.AppName, a.AppURL, a.BootstrapScript, a.CPUCount, a.MemoryMB = w.Next(), "http://127.0.0.1/p.tar",
			"bin/start.sh", 0.5, 128
		s.ask(func(ctx context.Context) (string, error) {
			_, err := s.RegisterApp(ctx, explain.All(), a)
			return "done", err
		})
	},
	"job": func(s *shell, w *scenario.Words) {
		j := shellJob(w.Next())
		s.ask(func(ctx context.Context) (string, error) {
			_, err := s.RegisterJob(ctx, explain.All(), j)
			return "done", err
		})
	},
	"trigger": func(s *shell, w *scenario.Words) {
		job, key := w.Next(), w.Option("key", "")
		s.ask(func(ctx context.Context) (string, error) { return s.Trigger(ctx, explain.All(), job, key) })
	},
	"disable": func(s *shell, w *scenario.Words) {
		job := w.Next()
		s.ask(func(ctx context.Context) (string, error) {
			_, err := s.SetJobDisabled(ctx, explain.All(), job, true)
			return "done", err
		})
	},
	"change": func(s *shell, w *scenario.Words) {
		job, parameter := w.Next(), w.Option("parameter", "")
		s.ask(func(ctx context.Context) (string, error) {
			_, err := s.UpdateJob(ctx, explain.All(), job, func(j jobs.Config) (jobs.Config, error) {
				j.JobParameter = parameter
				return j, nil
			})
			return "done", err
		})
	},
	"show": func(s *shell, w *scenario.Words) {
		j, err := see(context.Background(), s.Scheduler, explain.Reader.Job, w.Next())
		s.diary.say("parameter %q, %v", j.Config.JobParameter, err)
	},
	"offer":  func(s *shell, w *scenario.Words) { s.cluster.offer(w.Next()) },
	"update": func(s *shell, w *scenario.Words) { s.cluster.update(s.cluster.ids[w.Next()], cluster.State(w.Next())) },
	"edit":   (*shell).edit,
	"commit": func(s *shell, w *scenario.Words) { s.registry.answerNext(strings.Join(w.List, " ")); w.List = nil },
	"cut":    func(s *shell, _ *scenario.Words) { s.registry.lose("the session is gone") },
	"depose": func(s *shell, _ *scenario.Words) { s.registry.depose(false) },
	"wait":   func(_ *shell, w *scenario.Words) { time.Sleep(w.Duration()) },
}

func shellJob(name string) jobs.Config {
	j := jobs.Default()
	j.JobName, j.AppName, j.JobExecutionType, j.ShardingTotalCount, j.CPUCount, j.MemoryMB = name, "my_app",
		jobs.Transient, 1, 1, 64
	return j
}

// shell is a stage with a scheduler whose users wait for their answers concurrently. Calls of one command are reported
// in a fixed order, whatever goroutine makes them.
type shell struct {
	*stage
	ctx     context.Context
	running sync.WaitGroup
}

// Said returns the reports since its last call.
func (s *shell) Said() string {
	s.diary.mu.Lock()
	defer s.diary.mu.Unlock()
	text := s.diary.out.String()
	s.diary.out.Reset()
	return text
}

// Command executes a line of a scenario, and waits for its effects.
func (s *shell) Command(line string) error {
	name, w, err := scenario.Split(line)
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
	return w.Err
}

// settles is how long, in the bubble's time, a command may take to have its effects.
const settles = 50 * time.Millisecond

func (s *shell) lead() {
	s.running.Go(func() {
		err := s.Lead(s.ctx)
		if s.ctx.Err() == nil {
			s.diary.say("the term has ended: %v", err)
		}
	})
}

// ask makes a request as a user does, and reports the answer.
func (s *shell) ask(request func(context.Context) (string, error)) {
	s.running.Go(func() {
		answer, err := request(s.ctx)
		time.Sleep(10 * time.Millisecond)
		if refused := (*problem.Error)(nil); errors.As(err, &refused) {
			s.diary.say("the user is answered (%d): %s", statusOf[refused.Kind], refused.Message)
			return
		}
		s.diary.say("the user is answered: %s", cmp.Or(answer, fmt.Sprint(err)))
	})
}

// statusOf is the status code of the API for a kind of error.
var statusOf = map[problem.Kind]int{problem.NotFound: 404, problem.Conflict: 409, problem.Invalid: 400,
	problem.Unavailable: 503, problem.OutcomeUnknown: 503, problem.TooSoon: 429}

// edit is an edit with zkCli.
func (s *shell) edit(w *scenario.Words) {
	if what := w.Next(); what != "job" {
		w.Err = fmt.Errorf("%q can't be edited", what)
		return
	}
	j := shellJob(w.Next())
	j.JobParameter = w.Option("parameter", "")
	data, err := json.Marshal(j)
	w.Err = errors.Join(w.Err, err)
	s.registry.edit("/config/job/"+j.JobName, data, false)
}
