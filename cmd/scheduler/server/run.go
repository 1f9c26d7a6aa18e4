package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/cluster/local"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/lifecycle"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
	"github.com/elasticjob-go/elasticjob/registry/embedded"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// parts are the components that run.
type parts struct {
	scheduler *scheduler.Scheduler
	web       *api.Server
	listener  net.Listener
	socket    net.Listener   // nil where commands find users and tokens by themselves
	machine   *local.Cluster // nil without --local
	log       *slog.Logger
	out       io.Writer
}

// run runs everything until ctx ends or a part fails. Then, on this machine,
// tasks and executors are ended first (rule O4); on a cluster they go on. The lead is given up
// before the API ends: until then requests are forwarded to the next leader.
func run(ctx context.Context, c *settings.Config, p parts) error {
	leading, stopLeading := context.WithCancel(context.WithoutCancel(ctx))
	defer stopLeading()
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	lead := p.scheduler.Stand
	if !c.Elected() {
		lead = p.scheduler.Lead // a file has no election to stand for again
	}
	leadEnded, served := make(chan error, 1), make(chan error, 1)
	go func() { leadEnded <- lead(leading) }()
	go func() { served <- p.serve(serving) }()
	fmt.Fprintf(p.out, "elasticjob listens on %s://%s (open that in a browser for the console, or curl it for what to do next); its data is in %s, its process is %d, its log (%s, from level %s) goes to standard error; Ctrl-C ends it\n",
		c.Scheme(), p.listener.Addr(), c.DataDir, os.Getpid(), c.Log.FormatOn(os.Stderr), c.Log.Level)

	var errs []error
	select {
	case err := <-leadEnded:
		errs = append(errs, fmt.Errorf("the scheduler can't go on: %w", err))
		leadEnded <- nil
		if errors.Is(err, embedded.ErrFileLost) {
			errs = append(errs, p.outlive(ctx, served))
		}
	case err := <-served:
		errs = append(errs, err)
		served <- nil
	case <-ctx.Done():
		p.tellStop(c)
		if p.machine != nil {
			errs = append(errs, p.endTasks(c))
		}
	}
	stopLeading()
	errs = append(errs, <-leadEnded)
	stopServing()
	err := errors.Join(append(errs, <-served)...)
	if err == nil {
		p.log.Info("server stopped")
	}
	return err
}

// outlive keeps the server up whose registry's file is lost: it answers everybody with what is to be done, its tasks
// run on, and what was in a removed file can be saved as long as the process runs. It returns when ctx ends.
func (p parts) outlive(ctx context.Context, served chan error) error {
	p.log.Error("registry lost: this server accepts no change, launches nothing, and waits to be stopped")
	select {
	case err := <-served:
		served <- nil
		return err
	case <-ctx.Done():
		return nil // tasks go on, and are found again by the next start
	}
}

// tellStop says what the end of this process means.
func (p parts) tellStop(c *settings.Config) {
	switch {
	case p.machine != nil:
		p.log.Info("stop requested: all tasks are ended")
	case !c.Elected():
		p.log.Info("stop requested: tasks on the cluster keep running, and the next start finds them again")
	case p.scheduler.Health().Leading:
		p.log.Info("stop requested: the lead is handed over, tasks on the cluster keep running")
	default:
		p.log.Info("stop requested: this server does not lead, so nothing is handed over")
	}
}

// endTasks ends all tasks and executors of this machine.
func (p parts) endTasks(c *settings.Config) error {
	fmt.Fprintln(p.out, "ending all tasks; a second Ctrl-C leaves them running, and the next start finds them again")
	// Jobs may have graces of their own. Their tasks have them now: the executors, which have only the server's to end
	// (rule X4), are told to when no task is left (rule X2).
	grace := c.Jobs.KillGrace
	_ = lifecycle.Within(time.Second, func(ctx context.Context) error { // without an answer the server's will do
		return p.scheduler.Read(ctx, explain.All(), func(r explain.Reader) error {
			longest, err := r.LongestKillGrace()
			grace = max(grace, longest)
			return err
		})
	})
	err := lifecycle.Within(grace+15*time.Second, p.scheduler.Drain)
	// The agent ends what the scheduler could not.
	return errors.Join(err, lifecycle.Within(c.Jobs.KillGrace+10*time.Second, p.machine.EndExecutors))
}

// serve answers requests, on the socket too if there is one, until ctx ends or one of them fails.
func (p parts) serve(ctx context.Context) error {
	serving, ctx := errgroup.WithContext(ctx)
	serving.Go(func() error { return p.web.Serve(ctx, p.listener) })
	if p.socket != nil {
		serving.Go(func() error { return p.web.ServeSocket(ctx, p.socket) })
	}
	return serving.Wait()
}
