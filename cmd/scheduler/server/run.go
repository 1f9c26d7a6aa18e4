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
	socket    net.Listener   // nil if commands open the registry themselves
	machine   *local.Cluster // nil without --local
	log       *slog.Logger
	out       io.Writer
}

// run runs all parts until ctx ends or one of them fails. At the end, a server with --local first ends tasks and
// executors (rule O4); on a cluster they keep running. The scheduler ends before the API, so that the API forwards
// requests to the next leader in between.
func run(ctx context.Context, c *settings.Config, p parts) error {
	leading, stopLeading := context.WithCancel(context.WithoutCancel(ctx))
	defer stopLeading()
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	lead := p.scheduler.Stand
	if !c.Elected() {
		lead = p.scheduler.Lead // a registry in a file has no election, so there is no second candidacy
	}
	leadEnded, served := make(chan error, 1), make(chan error, 1)
	go func() { leadEnded <- lead(leading) }()
	go func() { served <- p.serve(serving) }()
	fmt.Fprintf(p.out, "elasticjob listens on %s://%s (open it in a browser for the console, or with curl for the next steps); its data is in %s, its process is %d, its log (%s, from level %s) goes to standard error; Ctrl-C ends it\n",
		c.Scheme(), p.listener.Addr(), c.DataDir, os.Getpid(), c.Log.FormatOn(os.Stderr), c.Log.Level)

	var errs []error
	select {
	case err := <-leadEnded:
		errs = append(errs, fmt.Errorf("scheduler failed: %w", err))
		leadEnded <- nil
		if errors.Is(err, embedded.ErrFileLost) {
			errs = append(errs, p.serveUntilStopped(ctx, served))
		}
	case err := <-served:
		errs = append(errs, err)
		served <- nil
	case <-ctx.Done():
		p.logStop(c)
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

// serveUntilStopped keeps a server running whose registry's file was lost. The API then answers every request with
// what to do. Tasks keep running, and the content of a removed file can be recovered as long as the process has it
// open. It returns when ctx ends or the API fails.
func (p parts) serveUntilStopped(ctx context.Context, served chan error) error {
	p.log.Error("registry lost: this server accepts no changes, launches nothing and must be stopped")
	select {
	case err := <-served:
		served <- nil
		return err
	case <-ctx.Done():
		return nil // tasks keep running, and the next start finds them
	}
}

// logStop logs what the end of this process means for tasks and for the leadership.
func (p parts) logStop(c *settings.Config) {
	switch {
	case p.machine != nil:
		p.log.Info("stop requested: all tasks are ended")
	case !c.Elected():
		p.log.Info("stop requested: tasks on the cluster keep running, and the next start finds them again")
	case p.scheduler.Health().Leading:
		p.log.Info("stop requested: leadership is handed over, tasks on the cluster keep running")
	default:
		p.log.Info("stop requested: this server does not lead, so nothing is handed over")
	}
}

// endTasks ends all tasks and executors of this machine.
func (p parts) endTasks(c *settings.Config) error {
	fmt.Fprintln(p.out, "ending all tasks; a second Ctrl-C leaves them running, and the next start finds them again")
	// Tasks may have a grace period of their job, which counts from now. Executors get only the server's grace period
	// to end (rule X4), so they are ended after the last task (rule X2).
	grace := c.Jobs.KillGrace
	// Without an answer, the server's grace period is used.
	_ = lifecycle.Within(time.Second, func(ctx context.Context) error {
		return p.scheduler.Read(ctx, explain.All(), func(r explain.Reader) error {
			longest, err := r.LongestKillGrace()
			grace = max(grace, longest)
			return err
		})
	})
	err := lifecycle.Within(grace+15*time.Second, p.scheduler.Drain)
	// The agent ends the executors that the scheduler could not end.
	return errors.Join(err, lifecycle.Within(c.Jobs.KillGrace+10*time.Second, p.machine.EndExecutors))
}

// serve serves the API, also on the admin socket if there is one, until ctx ends or one of them fails.
func (p parts) serve(ctx context.Context) error {
	serving, ctx := errgroup.WithContext(ctx)
	serving.Go(func() error { return p.web.Serve(ctx, p.listener) })
	if p.socket != nil {
		serving.Go(func() error { return p.web.ServeSocket(ctx, p.socket) })
	}
	return serving.Wait()
}
