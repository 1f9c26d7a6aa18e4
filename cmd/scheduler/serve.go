package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/local"
	"github.com/elasticjob-go/elasticjob/executor"
	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/internal/release"
	"github.com/elasticjob-go/elasticjob/notify"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/registry/embedded"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
	console "github.com/elasticjob-go/elasticjob/web"
)

// failoverTimeout is how long the master keeps our tasks without us, as the original's.
const failoverTimeout = 7 * 24 * time.Hour

// serve runs a server until ctx ends or something fails, which is logged.
func serve(ctx context.Context, c config, out io.Writer) error {
	log := c.log.logger(os.Stderr)
	err := assemble(ctx, c, log, out)
	if err == nil {
		return nil
	}
	log.Error("server ended", "error", err)
	return errLogged
}

// assemble puts the packages together and runs them until ctx ends or something fails.
func assemble(ctx context.Context, c config, log *slog.Logger, out io.Writer) (err error) {
	for _, note := range c.notes {
		log.Warn("setting noted: " + note)
	}
	if c.failpoint != nil {
		log.Warn("failure point armed: this process will kill itself", "variable", failpointVariable)
	}
	reserve, streams, err := reserveDescriptors(log)
	if err != nil {
		return err
	}
	defer closing(&err, reserve.Close)
	if !c.elected() {
		if err := checkNewRegistry(c.dataDir); err != nil { // before a folder is in the way of the one that was moved
			return err
		}
	}
	if c.runAs, err = openDataFolder(c, log); err != nil {
		return err
	}
	if c.dataDir, err = linklessDataFolder(c, log); err != nil {
		return err
	}
	if err := c.guardNames(os.Geteuid(), log); err != nil {
		return err
	}
	if c.held, err = holdFiles(c.secretFiles()); err != nil {
		return err
	}
	defer c.held.close()
	c.remembers = true
	reg, err := openRegistry(c, log)
	if err != nil {
		return err
	}
	defer closing(&err, reg.Close)
	started, held := openStarts(c.dataDir, ownMemory(), log)
	defer func() { started.end(err != nil && ctx.Err() == nil) }()
	if held != "" {
		log.Warn("this server launches nothing until its next start, if it leads within "+settledAfter.String(),
			"why", held)
	}
	access, closeAccess, err := openAccess(ctx, reg, c, log)
	if err != nil {
		return err
	}
	defer closeAccess()
	listener, err := listen(c.listen)
	if err != nil {
		return err
	}
	defer listener.Close() // the API closes it, too, once it serves
	address := cmp.Or(c.advertise, listener.Addr().String())
	where, err := openPlatform(ctx, c, address, log)
	if err != nil {
		return err
	}
	defer closing(&err, where.close)
	zone, err := zone(c.timeZone)
	if err != nil {
		return err
	}
	record, err := startRecorder(c, log)
	if err != nil {
		return err
	}
	defer closing(&err, record.end)
	options := coreOptions(c, zone, where.executorBinary)
	options.Held = held
	sched := scheduler.New(scheduler.Options{
		History: record.scheduler, Registry: reg, Driver: where.driver, Advertise: address, Logger: log,
		Point:       c.failpoint,
		RefusedMost: c.refusedMost(), Notifier: notify.New(time.Now), Audits: access,
		Framework: where.framework, Core: options, HoldFor: settledAfter,
	})
	packages, err := newPackages(c)
	if err != nil {
		return err
	}
	web := api.Options{
		Scheduler: sched, Logs: where.output, Artifact: where.artifact, PodTemplate: where.podTemplate,
		ExampleImage: where.image, Packages: packages, AgentURL: c.agentURL(address), Logger: log, AllowFile: c.local,
		FrameworkName: where.framework.Name, Version: release.Version(), Zone: zone, Access: access,
		Advertise: address, RegistryRoot: c.registryRoot(),
		History: record.reads, HistoryStats: record.stats, Warning: c.warning(sched.Held, record.warning,
			reserve.Warning), TLS: c.certificate,
		Throttled: where.throttled, Descriptors: reserve, MaxStreams: streams,
		Console: console.New(console.Static()),
	}
	defer c.keepCertificate(log)()
	defer c.useKeys(&web, access, log)()
	server := api.New(web)
	socket, err := c.listenSocket(reserve, log)
	if err != nil {
		return err
	}
	return run(ctx, c, parts{scheduler: sched, web: server, listener: reserve.Listener(listener), socket: socket,
		machine: where.machine, log: log, out: out})
}

// agentURL is where agents reach this server. Those of this machine can't ask for the address of a listener that has
// all.
func (c *config) agentURL(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); c.local && err == nil && ip != nil && ip.IsUnspecified() {
		address = net.JoinHostPort("127.0.0.1", port)
	}
	return c.scheme() + "://" + address
}

// registryRoot is the node of ZooKeeper below which everything is, empty without one.
func (c *config) registryRoot() string {
	if c.zk == "" {
		return ""
	}
	_, chroot, _ := strings.Cut(c.zk, "/")
	return path.Join("/", chroot, c.zkNamespace)
}

// refusedMost is how long a leader whom Mesos only refuses keeps the lead. Where there can be no standby,
// it goes on trying.
func (c *config) refusedMost() time.Duration {
	if !c.elected() {
		return 0
	}
	return time.Minute
}

func framework(c config, address string) cluster.Framework {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	if c.advertise != "" {
		host, _, _ = net.SplitHostPort(c.advertise) // checked
	}
	f := cluster.Framework{
		Name: "ElasticJob-Cloud", Hostname: host, WebUI: c.scheme() + "://" + address, Role: c.role,
		Principal: c.principal, User: c.user(),
		FailoverTimeout: failoverTimeout,
	}
	if c.role != "" {
		f.Name += "-" + c.role
	}
	return f
}

// user is who executors run as. Mesos keeps the framework's user for ever, so that each executor says its own.
func (c *config) user() string {
	if c.mesosUser != "" {
		return c.mesosUser
	}
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}

// localKillAnswer is rule K3's with --local: the agent is in this process, so nothing but the executor can be silent.
const localKillAnswer = 5 * time.Second

func coreOptions(c config, zone *time.Location, binary string) step.Options {
	o := step.DefaultOptions()
	o.Release = release.Version()
	o.Zone, o.ExecutorBinary, o.ExecutorIdle, o.KillGrace = zone, binary, c.executorIdle, c.killGrace
	o.ReconcileEvery, o.Role, o.JobMetrics = c.reconcile, c.role, c.jobMetrics
	o.DocumentsLimit, o.DocumentsPerAppLimit = int64(c.documents.all), int64(c.documents.perApp)
	o.ExecutorShutdown = executor.ShutdownGrace(c.killGrace)
	switch {
	case c.kubernetes.on:
		c.kubernetes.core(&o)
	case c.local: // its cluster runs everything as who started it
		o.KillAnswer = localKillAnswer
		o.ExecutorEnvironment = map[string]string{launch.SecretsVariable: secretsFolder(c.dataDir)}
	default:
		o.ExecutorUser = c.user()
	}
	if ca := c.executorCA; ca != "" {
		o.ExecutorEnvironment = map[string]string{agent.TLSVariable: "true", agent.CAVariable: ca}
		o.HostnameVariable = agent.HostnameVariable
	}
	if c.zk != "" {
		o.Documents = step.YAMLDocuments // as ElasticJob-Cloud's, so that there is a way back
	}
	for _, limit := range c.executorLimits {
		o.ExecutorCommand = append(o.ExecutorCommand, "--"+limit)
	}
	if c.runAs != "" {
		o.ExecutorCommand = append(o.ExecutorCommand, "--run-as="+c.runAs)
	}
	if c.spread {
		o.Strategy = offers.Spread
	}
	return o
}

// secretsFolder is where jobs of this machine's cluster may name files in by fromFile.
func secretsFolder(dataDir string) string {
	if whole, err := filepath.Abs(dataDir); err == nil { // an error: this folder is gone, and the start fails elsewhere
		dataDir = whole
	}
	return filepath.Join(dataDir, "secrets")
}

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
func run(ctx context.Context, c config, p parts) error {
	leading, stopLeading := context.WithCancel(context.WithoutCancel(ctx))
	defer stopLeading()
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	lead := p.scheduler.Stand
	if !c.elected() {
		lead = p.scheduler.Lead // a file has no election to stand for again
	}
	leadEnded, served := make(chan error, 1), make(chan error, 1)
	go func() { leadEnded <- lead(leading) }()
	go func() { served <- p.serve(serving) }()
	fmt.Fprintf(p.out, "elasticjob listens on %s://%s (open that in a browser for the console, or curl it for what to do next); its data is in %s, its process is %d, its log (%s, from level %s) goes to standard error; Ctrl-C ends it\n",
		c.scheme(), p.listener.Addr(), c.dataDir, os.Getpid(), c.log.formatOn(os.Stderr), c.log.level)

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
func (p parts) tellStop(c config) {
	switch {
	case p.machine != nil:
		p.log.Info("stop requested: all tasks are ended")
	case !c.elected():
		p.log.Info("stop requested: tasks on the cluster keep running, and the next start finds them again")
	case p.scheduler.Health().Leading:
		p.log.Info("stop requested: the lead is handed over, tasks on the cluster keep running")
	default:
		p.log.Info("stop requested: this server does not lead, so nothing is handed over")
	}
}

// endTasks ends all tasks and executors of this machine.
func (p parts) endTasks(c config) error {
	fmt.Fprintln(p.out, "ending all tasks; a second Ctrl-C leaves them running, and the next start finds them again")
	// Jobs may have graces of their own. Their tasks have them now: the executors, which have only the server's to end
	// (rule X4), are told to when no task is left (rule X2).
	grace := c.killGrace
	_ = within(time.Second, func(ctx context.Context) error { // without an answer the server's will do
		return p.scheduler.Read(ctx, explain.All(), func(r explain.Reader) error {
			longest, err := r.LongestKillGrace()
			grace = max(grace, longest)
			return err
		})
	})
	err := within(grace+15*time.Second, p.scheduler.Drain)
	// The agent ends what the scheduler could not.
	return errors.Join(err, within(c.killGrace+10*time.Second, p.machine.EndExecutors))
}

func within(d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return f(ctx)
}

func closing(err *error, f func() error) { *err = errors.Join(*err, f()) }

// listen binds the API's address and says what to do when it is taken.
func listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listen on %s: the address is taken, perhaps by another scheduler; end that, or choose another with --listen", address)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return l, nil
}
