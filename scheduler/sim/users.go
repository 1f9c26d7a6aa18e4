package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// users simulates the users, who register, change and trigger jobs, and has the properties of their jobs.
type users struct {
	w            *world
	apps         []string
	jobs         []string
	meanInterval time.Duration // mean interval between two requests
	longest      time.Duration // longest run of a process
	failing      float64       // fraction of processes that fail
	keys         int
	keyed        map[string]string // job and key → execution
	big          bool
	daemons      bool
	room         resources.Amount // size of the smallest agent
	n            int              // the number of agents
}

func newUsers(w *world) *users {
	u := &users{w: w, meanInterval: w.between(500*time.Millisecond, 20*time.Second), keyed: map[string]string{},
		big: w.rng.IntN(8) == 0}
	u.longest = []time.Duration{4 * time.Second, time.Minute, 10 * time.Minute}[w.rng.IntN(3)]
	u.failing = []float64{0, 0.1, 0.5}[w.rng.IntN(3)]
	// A crowded world must have room for the waiting executions.
	u.daemons = w.rng.IntN(2) == 0 && w.cfg.Seed%32 != 3
	for i := range 1 + w.rng.IntN(3) {
		u.apps = append(u.apps, fmt.Sprintf("app%d", i))
	}
	for i := range 1 + w.rng.IntN(10) {
		u.jobs = append(u.jobs, fmt.Sprintf("job%d", i))
	}
	smallest := slices.MinFunc(w.agents,
		func(a, b *agent) int { return cmp.Compare(a.total.CPUMilli, b.total.CPUMilli) })
	u.room, u.n = smallest.total, len(w.agents)
	return u
}

func (u *users) begin() {
	for i, name := range u.apps {
		u.w.after(time.Duration(i+1)*10*time.Millisecond, func() { u.registerApp(name) })
	}
	for i, name := range u.jobs {
		u.w.after(time.Second+time.Duration(i)*100*time.Millisecond, func() { u.registerJob(name) })
	}
	u.w.after(5*time.Second, u.act)
}

// act makes a random request, and schedules the next one.
func (u *users) act() {
	w := u.w
	if w.calm {
		return
	}
	w.after(w.between(0, 2*u.meanInterval), u.act)
	name, _ := pick(w, u.jobs)
	appName, _ := pick(w, u.apps)
	switch n := w.rng.IntN(110); {
	case n < 35:
		u.trigger(name, "", func(core.Reply) {})
	case n < 45:
		u.keys++
		u.triggerUntilAccepted(name, fmt.Sprintf("key%d", u.keys), 5)
	case n < 60:
		u.registerJob(name)
	case n < 70:
		u.updateJob(name)
	case n < 76:
		u.disableJob(name, true)
		w.after(w.between(0, 30*time.Second), func() { u.disableJob(name, false) })
	case n < 82:
		u.change("deregister "+name, config.DeregisterJob{Name: name})
		w.after(w.between(0, 20*time.Second), func() { u.registerJob(name) })
	case n < 88:
		if old, ok := view(u, (*views.Views).App, appName); ok {
			u.change("update app "+appName, config.UpdateApp{Config: u.app(appName), Version: old.Version})
		}
	case n < 91:
		u.disableApp(appName, true)
		w.after(w.between(0, 30*time.Second), func() { u.disableApp(appName, false) })
	case n < 93:
		u.change("delete app "+appName, config.DeleteApp{Name: appName, WithJobs: w.rng.IntN(2) == 0})
		w.after(w.between(0, 20*time.Second), func() { u.registerApp(appName) })
	case n < 95:
		u.registerApp(appName)
	case n < 97 && w.rates[OperatorEdits] > 0:
		u.edit(name)
	case n >= 97 && n < 100:
		u.kill()
	case n >= 100:
		u.control(name)
	}
}

// kill kills a task or an execution, which may be about to run, running, or just ended. The checker compares the
// leader's answer with what follows (rule K1).
func (u *users) kill() {
	w := u.w
	l := w.leading
	task, ok := pick(w, sorted(w.check.live))
	if l == nil || l.dead || !ok {
		return
	}
	w.count(KillRequested)
	id := w.check.live[task]
	ask := operator.KillRequested{TaskID: task, Actor: byUser}
	if w.rng.IntN(2) == 0 {
		ask = operator.KillRequested{ExecutionID: id, Actor: byUser}
	}
	w.trace.add("a user kills %+v", ask)
	w.after(w.between(0, 3*time.Second), func() {
		l.request(ask, func(r core.Reply) {
			if e := w.check.execs[id]; ask.ExecutionID != "" && r.Err == nil && e != nil {
				e.killed = true
			}
		})
	})
}

func (u *users) updateJob(name string) {
	cfg, keep := u.job(name), u.w.rng.IntN(2) == 0
	u.changeJob(name, func(old jobs.Config) jobs.Config {
		if keep && (old.Cron != "" || cfg.JobExecutionType != jobs.Daemon) {
			cfg.Cron = old.Cron
		}
		return cfg
	})
}

// changeJob makes the leader replace a job's document. It tries again if the document has changed meanwhile.
func (u *users) changeJob(name string, change func(jobs.Config) jobs.Config) {
	old, ok := view(u, (*views.Views).Job, name)
	if !ok {
		return
	}
	u.changeThen("update job "+name, config.UpdateJob{Config: change(old.Config), Version: old.Version},
		func(err *problem.Error) {
			if err != nil && err.Code == config.StaleVersion {
				u.changeJob(name, change)
			}
		})
}

// view returns the leader's view of an app or a job, if there is one.
func view[T any](u *users, show func(*views.Views, string) (T, error), name string) (v T, ok bool) {
	l := u.w.leading
	if l == nil || l.dead {
		return v, false
	}
	v, err := show(l.core.Views(), name)
	return v, err == nil
}

// change passes a request to the leader. It does nothing without a leader.
func (u *users) change(name string, change config.Change) {
	u.changeThen(name, change, func(*problem.Error) {})
}

// changeThen passes a request to the leader, and calls then with the answer.
func (u *users) changeThen(name string, change config.Change, then func(*problem.Error)) {
	l := u.w.leading
	if l == nil || l.dead {
		return
	}
	u.w.trace.add("a user: %s", name)
	l.request(core.ChangeRequested{Change: change, Actor: byUser}, func(r core.Reply) {
		u.w.trace.add("a user is answered about %s: %v", name, r.Err)
		then(r.Err)
	})
}

func (u *users) registerApp(name string) {
	u.change("register app "+name, config.RegisterApp{Config: u.app(name)})
}

func (u *users) app(name string) app.Config {
	w := u.w
	cfg := app.Default()
	cfg.AppName, cfg.AppURL = name, "http://files/"+name+".tar.gz"
	cfg.BootstrapScript = fmt.Sprintf("bin/start.sh v%d", w.rng.IntN(3))
	cfg.CPUCount = []float64{0.01, 0.1, 0.5}[w.rng.IntN(3)]
	cfg.MemoryMB = []float64{32, 128, 256}[w.rng.IntN(3)]
	return cfg
}

func (u *users) registerJob(name string) {
	u.change("register job "+name, config.RegisterJob{Config: u.job(name)})
}

var crons = []string{"* * * * * ?", "*/5 * * * * ?", "*/5 * * * * ?", "0/10 * * * * ?", "0/10 * * * * ?",
	"0/30 * * * * ?", "0 * * * * ?", "0 * * * * ?", "0 */5 * * * ?", "0 0 12 * * ?", "", ""}

// job returns a random document. Its job fits on the cluster when nothing else runs, or never.
func (u *users) job(name string) jobs.Config {
	w := u.w
	cfg := jobs.Default()
	cfg.JobName, cfg.JobExecutionType = name, jobs.Transient
	cfg.AppName, _ = pick(w, u.apps)
	cfg.Cron, _ = pick(w, crons)
	if u.daemons && w.rng.IntN(3) == 0 {
		cfg.JobExecutionType = jobs.Daemon
		cfg.Cron = cmp.Or(cfg.Cron, "0/10 * * * * ?")
	}
	cfg.JobParameter = fmt.Sprintf("v%d", w.rng.IntN(3))
	cfg.Failover, cfg.Misfire = w.rng.IntN(2) == 0, w.rng.IntN(2) == 0
	cfg.MaxRetries = w.rng.IntN(3)
	if w.rng.IntN(4) > 0 {
		cfg.MaxRetries = 0
	}
	cfg.ShardingTotalCount = 1 + w.rng.IntN(4)
	if w.rng.IntN(4) == 0 {
		cfg.ShardingTotalCount = 1 + w.rng.IntN(12)
	}
	if u.big && w.rng.IntN(4) == 0 {
		cfg.ShardingTotalCount = 40 + w.rng.IntN(80)
	}
	u.setHandler(&cfg)
	perAgent := (cfg.ShardingTotalCount + u.n - 1) / u.n
	// limit is the room that the largest executor leaves. It is divided by the number of shards that an agent must
	// hold.
	limit := u.room.Minus(resources.New(0.5, 256))
	cpu := float64(limit.CPUMilli/int64(perAgent)) / 1000
	mem := float64(limit.MemMilli/int64(perAgent)/1000) - 1
	cfg.CPUCount, cfg.MemoryMB = cpu, mem
	switch w.rng.IntN(10) {
	case 0: // hardly fits
	case 1:
		if w.rng.IntN(4) == 0 {
			cfg.CPUCount = neverCPUs
		}
	default:
		cfg.CPUCount, cfg.MemoryMB = max(cpu/8, 0.001), max(mem/8, 1)
	}
	u.setLimits(&cfg)
	w.makeExclusive(&cfg)
	return cfg
}

// neverCPUs is more than any agent has.
const neverCPUs = 1000

func (u *users) disableJob(name string, disabled bool) {
	u.change(fmt.Sprintf("disable %s: %v", name, disabled), config.SetJobDisabled{Name: name, Disabled: disabled})
}

func (u *users) disableApp(name string, disabled bool) {
	u.change(fmt.Sprintf("disable app %s: %v", name, disabled), config.SetAppDisabled{Name: name, Disabled: disabled})
}

// trigger sends one request, and does not repeat it.
func (u *users) trigger(job, key string, done func(core.Reply)) {
	l := u.w.leading
	if l == nil || l.dead {
		return
	}
	u.w.trace.add("a user triggers %s, key %q", job, key)
	l.request(operator.TriggerRequested{Job: job, Key: key, Actor: byUser}, func(r core.Reply) {
		if r.Err == nil {
			u.w.check.recordPromise(r.ExecutionID)
		}
		done(r)
	})
}

// triggerUntilAccepted repeats the request with the same key, at most tries times, until it is answered. Sometimes it
// also repeats an answered request.
func (u *users) triggerUntilAccepted(job, key string, tries int) {
	answered := false
	u.trigger(job, key, func(r core.Reply) {
		answered = true
		if r.Err != nil {
			return
		}
		if old, ok := u.keyed[job+" "+key]; ok && old != r.ExecutionID {
			u.w.fail("T3 a key makes a trigger idempotent", "job %s, key %s: first %s, then %s", job, key, old,
				r.ExecutionID)
		}
		u.keyed[job+" "+key] = r.ExecutionID
	})
	u.w.after(u.w.between(time.Second, 30*time.Second), func() {
		if (!answered || u.w.rng.IntN(4) == 0) && tries > 0 && !u.w.calm {
			u.w.count(TriggerRepeated)
			u.triggerUntilAccepted(job, key, tries-1)
		}
	})
}

// stop ends all activity: it removes all crons and enables everything. It keeps one daemon, whose shards must run at
// the end.
func (u *users) stop() {
	u.w.keptDaemon = u.w.check.daemonToKeep()
	for _, name := range u.apps {
		u.disableApp(name, false)
	}
	for _, name := range u.jobs {
		u.disableJob(name, false)
		u.pauseJob(name, false)
		if j := u.w.check.job(name); j.daemon() {
			if name != u.w.keptDaemon {
				u.change("deregister "+name, config.DeregisterJob{Name: name})
			}
			continue
		}
		u.changeJob(name, func(old jobs.Config) jobs.Config {
			if old.JobExecutionType != jobs.Daemon { // the job may have become a daemon meanwhile
				old.Cron = ""
			}
			return old
		})
	}
}
