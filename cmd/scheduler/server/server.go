// Package server assembles the server from its packages according to the settings, and runs it.
//
//	server.go                            opens the parts one after the other, and closes them in reverse order
//	run.go                               runs them until one fails or the process is asked to end
//	folder.go listen.go descriptors.go   what the process needs first: its data folder, addresses, file descriptors
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

// ErrLogged is returned for errors that are in the log already.
var ErrLogged = errors.New("logged")

// Run runs a server until ctx ends or a part fails. It logs the failure and returns ErrLogged. It writes messages for
// a user at a terminal to out.
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
	started, why := starts.Open(c.DataDir, log)
	defer func() { started.End(err != nil && ctx.Err() == nil) }()
	if why != "" {
		log.Warn("launches held: this server launches nothing until its next start if it leads within "+starts.SettledAfter.String(),
			"why", why)
	}
	access, closeAccess, err := openAccess(ctx, reg, c, log)
	if err != nil {
		return err
	}
	defer closeAccess()
	listener, err := listen(c.API.Listen)
	if err != nil {
		return err
	}
	defer listener.Close() // the API closes it too, once it serves
	address := cmp.Or(c.API.Advertise, listener.Addr().String())
	where, err := platform.Open(ctx, c, address, held, log)
	if err != nil {
		return err
	}
	defer lifecycle.Closing(&err, where.Close)
	zone, err := settings.Zone(c.Jobs.TimeZone)
	if err != nil {
		return err
	}
	record, err := recorder.Start(c, log)
	if err != nil {
		return err
	}
	defer lifecycle.Closing(&err, record.End)
	options := coreOptions(c, zone, where.ExecutorBinary)
	options.Held = why
	sched := scheduler.New(scheduler.Options{
		History: record.Scheduler, Registry: reg, Driver: where.Driver, Advertise: address, Logger: log,
		Point:          c.Failpoint,
		RefusedTimeout: refusedTimeout(c), Notifier: notify.New(time.Now), Audits: access,
		Framework: where.Framework, Core: options, HoldFor: starts.SettledAfter,
	})
	packages, err := newPackages(c, held)
	if err != nil {
		return err
	}
	web := api.Options{
		Scheduler: sched, Logs: where.Output, Artifact: where.Artifact, PodTemplate: where.PodTemplate,
		ExampleImage: where.Image, Packages: packages, AgentURL: c.AgentURL(address), Logger: log,
		AllowFile:     c.Local.On,
		FrameworkName: where.Framework.Name, Version: release.Version(), Zone: zone, Access: access,
		Advertise: address, RegistryRoot: c.ZooKeeper.Root(),
		History: record.Reads, HistoryStats: record.Stats, Warning: warning(c, sched.Held, record.Warning,
			reserve.Warning), TLS: c.TLS.Certificate,
		Throttled: where.Throttled, Descriptors: reserve, MaxStreams: streams,
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
		machine: where.Machine, log: log, out: out})
}

// refusedTimeout is how long a leader keeps the leadership while Mesos rejects all its calls. It is 0, no limit, if
// there can be no standby to take over.
func refusedTimeout(c *settings.Config) time.Duration {
	if !c.Elected() {
		return 0
	}
	return time.Minute
}
