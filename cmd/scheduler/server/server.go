// Package server builds the server from its parts according to the settings, and runs it.
//
//	server.go                            opens the parts one after the other, and closes them in reverse order
//	run.go                               runs the parts until one fails or the process must end
//	folder.go listen.go descriptors.go   the data folder, addresses and file descriptors
//	core.go access.go keys.go            options of the core, users and tokens, keys and logins
//	certificate.go packagecheck.go       other dependencies of the API
package server

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/lifecycle"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/platform"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/recorder"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/starts"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/store"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
	"github.com/elasticjob-go/elasticjob/internal/release"
	"github.com/elasticjob-go/elasticjob/notify"
	"github.com/elasticjob-go/elasticjob/scheduler"
	console "github.com/elasticjob-go/elasticjob/web"
)

// ErrLogged is the error of Run after a failure that Run has already logged.
var ErrLogged = errors.New("logged")

// Run runs a server until ctx ends or a part fails. It logs a failure and returns ErrLogged. It writes messages for a
// user at a terminal to out.
func Run(ctx context.Context, c settings.Config, out io.Writer) error {
	log := c.Log.Logger(os.Stderr)
	err := assemble(ctx, &c, log, out)
	if err == nil {
		return nil
	}
	log.Error("server ended", "error", err)
	return ErrLogged
}

// assemble opens all parts and runs them until ctx ends or one fails.
func assemble(ctx context.Context, c *settings.Config, log *slog.Logger, out io.Writer) (err error) {
	for _, note := range c.Notes {
		log.Warn("setting warning: " + note)
	}
	if c.Failpoint != nil {
		log.Warn("failure point armed: this process will kill itself", "variable", settings.FailpointVariable)
	}
	reserve, streams, err := reserveDescriptors(log)
	if err != nil {
		return err
	}
	defer lifecycle.Closing(&err, reserve.Close)
	c, held, err := openFolder(c, log)
	if err != nil {
		return err
	}
	defer held.Close()
	reg, err := store.Open(c, true, log)
	if err != nil {
		return err
	}
	defer lifecycle.Closing(&err, reg.Close)
	start, holdReason := starts.Open(c.DataDir, log)
	defer func() { start.End(err != nil && ctx.Err() == nil) }()
	if holdReason != "" {
		log.Warn("launches held: this server launches nothing until its next start if it leads within "+
			starts.SettledAfter.String(), "why", holdReason)
	}
	access, closeAccess, err := openAccess(ctx, reg, c, log)
	if err != nil {
		return err
	}
	defer closeAccess()
	listener, err := listen(c.API.Listen, "--listen")
	if err != nil {
		return err
	}
	defer listener.Close() // the API also closes it, when it has served
	address := cmp.Or(c.API.Advertise, listener.Addr().String())
	leases, err := listen(c.Lease.ListenOn(c.API.Listen), "--lease-listen")
	if err != nil {
		return err
	}
	defer leases.Close() // its server also closes it
	cluster, err := platform.Open(ctx, c, address, held, log)
	if err != nil {
		return err
	}
	defer lifecycle.Closing(&err, cluster.Close)
	zone, err := settings.Zone(c.Jobs.TimeZone)
	if err != nil {
		return err
	}
	history, err := recorder.Start(c, log)
	if err != nil {
		return err
	}
	defer lifecycle.Closing(&err, history.End)
	options := coreOptions(c, zone, cluster.ExecutorBinary)
	options.Held = holdReason
	options.LeaseURLs = c.LeaseURLs(leases.Addr().String(), address)
	sched := scheduler.New(scheduler.Options{
		History: history.Scheduler, Registry: reg, Driver: cluster.Driver, Advertise: address, Logger: log,
		Point: c.Failpoint, RefusedTimeout: refusedTimeout(c), Notifier: notify.New(time.Now), Audits: access,
		Framework: cluster.Framework, Core: options, HoldFor: starts.SettledAfter,
	})
	packages, err := newPackages(c, held)
	if err != nil {
		return err
	}
	web := api.Options{
		Scheduler: sched, Logs: cluster.Output, Artifact: cluster.Artifact, PodTemplate: cluster.PodTemplate,
		ExampleImage: cluster.Image, Packages: packages, AgentURL: c.AgentURL(address), Logger: log,
		AllowFile: c.Local.On, FrameworkName: cluster.Framework.Name, Version: release.Version(), Zone: zone,
		Access: access, Advertise: address, RegistryRoot: c.ZooKeeper.Root(),
		History: history.Reads, HistoryStats: history.Stats,
		Warning: warning(c, sched.Held, history.Warning, reserve.Warning),
		TLS:     c.TLS.Certificate, Throttled: cluster.Throttled, Descriptors: reserve, MaxStreams: streams,
		Console: console.New(console.Static()),
	}
	defer keepCertificate(c, log)()
	defer useKeys(c, &web, access, log)()
	server := api.New(web)
	socket, err := listenSocket(c, reserve, log)
	if err != nil {
		return err
	}
	return run(ctx, c, parts{scheduler: sched, web: server, listener: reserve.Listener(listener), socket: socket,
		leases:  reserve.Listener(leases),
		machine: cluster.Machine, log: log, out: out})
}

// refusedTimeout returns how long a leader keeps the leadership while Mesos refuses all its calls. It returns 0 for no
// limit if there can be no standby.
func refusedTimeout(c *settings.Config) time.Duration {
	if !c.Elected() {
		return 0
	}
	return time.Minute
}
