package settings

import (
	"cmp"
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings/commandline"
	"github.com/elasticjob-go/elasticjob/executor"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// maxJobMetrics is the maximum of --job-metrics: the number of jobs for which a cluster is designed.
const maxJobMetrics = 100_000

// check adds errors about invalid and contradictory settings, and reads the files that settings name. uid is the user
// of this process. fileRead is false if the file of --config could not be read.
func (c *Config) check(r *report, uid int, fileRead bool) {
	c.checkLocation(r, fileRead)
	c.CA.check(r)
	c.Mesos.check(r)
	c.Kubernetes.check(r, c.Local.On, c.Mesos.Masters != "")
	c.ZooKeeper.check(r)
	c.Registry.check(r, c.Local.On, c.ZooKeeper.Servers != "")
	c.API.check(r)
	c.Lease.check(r)
	c.Notify.check(r)
	address := cmp.Or(c.API.Advertise, c.API.Listen)
	c.TLS.check(r, address)
	c.OpenID.check(r, c.Scheme()+"://"+address)
	c.History.check(r)
	c.checkRunAs(r, uid)
	c.checkRest(r)
}

// checkRegistryOnly is check for commands that require only the location of the registry.
func (c *Config) checkRegistryOnly(r *report) {
	zk := c.ZooKeeper.Servers != ""
	c.CA.check(r)
	c.ZooKeeper.check(r)
	c.Registry.check(r, c.Local.On, zk)
	r.Unless(!c.Local.On || !zk, "%s and %s contradict each other: on one machine users and tokens are kept in a file",
		r.source("local"), r.source("zk"))
	r.require(zk, "--zk", "zk-namespace", "zk-digest-file")
	r.Unless(c.Elected() || c.DataDir != "",
		"--data-dir is missing: there is no home folder to derive it from; name a folder")
}

// checkLocation checks the location of the jobs and of the state, and the flags that depend on these.
func (c *Config) checkLocation(r *report, fileRead bool) {
	switch {
	case c.Local.On && c.Mesos.Masters != "":
		r.Add("%s and %s contradict each other: --local has its own cluster", r.source("local"), r.source("mesos"))
	// If the file of --config could not be read, it may contain the setting.
	case !c.Local.On && c.Mesos.Masters == "" && !c.Kubernetes.On && fileRead:
		r.Add("name where jobs run: --local for this machine, --kubernetes, or --mesos zk://host:2181/mesos or http://host:5050 for a cluster")
	}
	r.Unless(!c.Local.On || c.ZooKeeper.Servers == "",
		"%s and %s contradict each other: on one machine the state is kept in a file, and there is no election",
		r.source("local"), r.source("zk"))
	r.require(c.Mesos.Masters != "" || c.file != "", "--mesos", "mesos-role", "mesos-user")
	r.require(c.Mesos.Masters != "", "--mesos", "mesos-credentials-file", "mesos-ca-file", "mesos-cert-file",
		"mesos-key-file", "mesos-principal")
	r.require(c.ZooKeeper.Servers != "" || c.file != "", "--zk", "zk-namespace")
	r.require(c.ZooKeeper.Servers != "", "--zk", "zk-session-timeout", "zk-digest-file")
	r.require(c.Registry.DSN != "" || c.Registry.file != "", "--registry", "registry-lease")
	r.require(c.Local.On || c.History.DSN != "" || c.History.file != "", "--db-file", "history-days", "history-rows",
		"history-outbox-mb")
	r.require(c.Local.On, "--local", "hide-data", "local-cpus", "local-memory", "give-up-executors")
}

// checkRest checks the settings that do not depend on others.
func (c *Config) checkRest(r *report) {
	if c.Local.On {
		r.CheckMachine("--local-", c.Local.CPUs, c.Local.MemoryMB)
	}
	if c.DataDir == "" {
		r.Add("--data-dir is missing: there is no home folder to derive it from; name a folder")
	} else if err := checkFolder(c.DataDir); err != nil {
		r.Add("--data-dir %s: %w; name another folder", c.DataDir, err)
	}
	r.About("--login-lifetime", auth.CheckLoginLifetime(c.API.LoginLifetime))
	r.Unless(c.Jobs.ExecutorIdle >= 0, "--executor-idle %s: must be 0s or more", c.Jobs.ExecutorIdle)
	r.Unless(c.Jobs.KillGrace >= 0 && c.Jobs.KillGrace <= 24*time.Hour, "--kill-grace %s: must be 0s to 24h",
		c.Jobs.KillGrace)
	r.Unless(c.Jobs.UnreachableAfter >= jobs.MinUnreachableSeconds*time.Second &&
		c.Jobs.UnreachableAfter <= jobs.MaxUnreachableSeconds*time.Second,
		"--unreachable-after %s: must be 15s to 168h", c.Jobs.UnreachableAfter)
	r.Unless(c.Reconcile >= time.Minute && c.Reconcile <= 24*time.Hour, "--reconcile-interval %s: must be 1m to 24h",
		c.Reconcile)
	r.Unless(c.JobMetrics >= 0 && c.JobMetrics <= maxJobMetrics, "--job-metrics %d: must be 0 to %d", c.JobMetrics,
		maxJobMetrics)
	checkSize := func(flag string, size commandline.ByteSize) {
		r.Unless(size >= 1<<20 && size <= 1<<40, "%s %s: must be 1MiB to 1024GiB", flag, &size)
	}
	checkSize("--documents-limit", c.Documents.All)
	checkSize("--documents-per-app-limit", c.Documents.PerApp)
	for _, limit := range c.Jobs.ExecutorLimits {
		r.About(fmt.Sprintf("--executor-limit %q", limit), new(executor.Config).Set(limit))
	}
	_, err := time.LoadLocation(c.Jobs.TimeZone)
	r.Unless(err == nil, "--time-zone %q: no such zone; use an IANA name such as Europe/Berlin, or Local",
		c.Jobs.TimeZone)
	c.Log.Check(&r.Errors)
}
