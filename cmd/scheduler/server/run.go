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
	"github.com/elasticjob-go/elasticjob/api/lease"
	"github.com/elasticjob-go/elasticjob/cluster/local"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/lifecycle"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
	"github.com/elasticjob-go/elasticjob/registry/embedded"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// parts are the opened parts of a server.
type parts struct {
	scheduler *scheduler.Scheduler
	web       *api.Server
	listener  net.Listener
	leases    net.Listener   // where executors ask for leases
	socket    net.Listener   // the admin socket, or nil
	machine   *local.Cluster // nil without --local
	log       *slog.Logger
	out       io.Writer
}

// run runs all parts until ctx ends or one of them fails. When ctx ends, a server with --local first ends its tasks
// and executors (rule O4); on a cluster they keep running. The scheduler ends before the API, so that the API can
// forward requests to the next leader in between.
func run(ctx context.Context, c *settings.Config, p parts) error {
	leading, stopLeading := context.WithCancel(context.WithoutCancel(ctx))
	defer stopLeading()
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	lead := p.scheduler.Stand
	if !c.Elected() {
		lead = p.scheduler.Lead // a registry in a file has no election, so a lost term is not followed by another
	}
	// Both channels are read again below. A case that has received from one therefore sends a nil error to it.
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

// serveUntilStopped keeps the API running after the file of the registry was lost, until ctx ends or the API fails. The
// API answers requests with an error that says what to do. Tasks keep running, and the content of a removed file can be
// recovered while this process has the file open.
func (p parts) serveUntilStopped(ctx context.Context, served chan error) error {
	p.log.Error("registry lost: this server accepts no changes, launches nothing and must be stopped")
	select {
	case err := <-served:
		served <- nil
		return err
	case <-ctx.Done():
		return nil // tasks keep running, and the next start finds them again
	}
}

// logStop logs what happens to the tasks and to the leadership when this process ends.
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
	// A job may have a longer grace period for its tasks. Executors get only the server's grace period (rule X4), so
	// they are ended after the last task (rule X2).
	grace := c.Jobs.KillGrace
	// If the scheduler does not answer, grace stays the server's grace period.
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

// serve serves the API on its address, and on the admin socket if there is one, until ctx ends or one of them fails.
func (p parts) serve(ctx context.Context) error {
	serving, ctx := errgroup.WithContext(ctx)
	serving.Go(func() error { return p.web.Serve(ctx, p.listener) })
	serving.Go(func() error { return lease.Serve(ctx, p.leases, p.scheduler.RenewLeases) })
	if p.socket != nil {
		serving.Go(func() error { return p.web.ServeSocket(ctx, p.socket) })
	}
	return serving.Wait()
}
