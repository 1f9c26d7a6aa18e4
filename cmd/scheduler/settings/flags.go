package settings

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings/commandline"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// flags defines all flags. It returns them in the groups of --help, in its order: the most frequently used flags come
// first.
func (c *Config) flags(all *pflag.FlagSet) (groups []*pflag.FlagSet) {
	all.SortFlags = false
	for _, g := range []struct {
		name   string
		define func(*pflag.FlagSet)
	}{
		{"Cluster", c.clusterFlags},
		{"State", c.stateFlags},
		{"API and access", c.accessFlags},
		{"Jobs", c.jobFlags},
		{"History", c.History.flags},
		{"Other", c.otherFlags},
	} {
		f := pflag.NewFlagSet(g.name, pflag.ContinueOnError)
		f.SortFlags = false
		g.define(f)
		all.AddFlagSet(f)
		groups = append(groups, f)
	}
	return groups
}

func (c *Config) clusterFlags(f *pflag.FlagSet) {
	f.BoolVar(&c.Local.On, "local", false, "run jobs on this machine, without any other program")
	f.StringVar(&c.Mesos.Masters, "mesos", "",
		"run jobs on this Mesos cluster: zk://host:port,…/mesos, where its masters elect their leader, or http(s)://host:port of its masters, separated by commas")
	f.BoolVar(&c.Kubernetes.On, "kubernetes", false, "run jobs on Kubernetes: each shard is a pod")
	f.Float64Var(&c.Local.CPUs, "local-cpus", commandline.DefaultCPUs(), "with --local: CPUs on offer")
	f.Float64Var(&c.Local.MemoryMB, "local-memory", commandline.DefaultMemory(),
		"with --local: memory on offer, in MB")
	f.BoolVar(&c.Local.GiveUpExecutors, "give-up-executors", false,
		"with --local: end the executors that an earlier run left behind, instead of finding them again")
	f.StringVar(&c.Mesos.Role, "mesos-role", "",
		"with --mesos: the framework's role; what agents have reserved for it is used first")
	f.StringVar(&c.Mesos.Principal, "mesos-principal", "",
		"with --mesos: the framework's principal (default: that of the credentials)")
	f.StringVar(&c.Mesos.user, "mesos-user", "",
		"with --mesos: the user that executors run as from now on (default: the one that this server runs as)")
	f.StringVar(&c.Mesos.credentialsFile, "mesos-credentials-file", "",
		"with --mesos: file with principal and secret, on a line or as Mesos' JSON")
	f.StringVar(&c.Mesos.caFile, "mesos-ca-file", "",
		"with --mesos: PEM file of the certificates trusted for the cluster's TLS; masters and agents then speak https")
	f.StringVar(&c.Mesos.certFile, "mesos-cert-file", "",
		"with --mesos-ca-file: PEM file of this server's own certificate, for masters and agents that require client certificates; read for each connection")
	f.StringVar(&c.Mesos.keyFile, "mesos-key-file", "",
		"with --mesos-cert-file: PEM file of that certificate's private key; it never leaves this server (executors use the certificate of their agent)")
	c.Kubernetes.flags(f)
	f.DurationVar(&c.Reconcile, "reconcile-interval", 10*time.Minute,
		"interval at which the states of all tasks are reconciled with the cluster")
}

func (c *Config) stateFlags(f *pflag.FlagSet) {
	f.StringVar(&c.DataDir, "data-dir", defaultDataDir(),
		"folder of all data: copies of the executor; without --zk and --registry, configuration and state; with --local, the tasks' output")
	f.StringVar(&c.ZooKeeper.Servers, "zk", "",
		"keep configuration and state in this ZooKeeper, and elect a leader there: host:port,…[/chroot]; the chroot must exist")
	f.StringVar(&c.ZooKeeper.namespace, "zk-namespace", "elasticjob-cloud",
		"with --zk: the node below which all data is; that of an ElasticJob-Cloud can be taken over")
	f.DurationVar(&c.ZooKeeper.timeout, "zk-session-timeout", 10*time.Second,
		"with --zk: a leader that is silent this long is replaced, about a second later; ZooKeeper rounds the value to, and limits it by, its tickTime (2s)")
	f.StringVar(&c.ZooKeeper.digestFile, "zk-digest-file", "",
		"with --zk: file with user:password for ZooKeeper's scheme digest; nodes are then created with an ACL for that user only")
	c.Registry.flags(f)
	c.Documents = Documents{All: commandline.ByteSize(step.DefaultOptions().DocumentsLimit),
		PerApp: commandline.ByteSize(step.DefaultOptions().DocumentsPerAppLimit)}
	f.Var(&c.Documents.All, "documents-limit",
		"maximum size of the documents of all apps and jobs together: changes beyond it are refused, stored documents are kept. Each leader has all of them in memory")
	f.Var(&c.Documents.PerApp, "documents-per-app-limit", "the same for each app and its jobs")
}

func (c *Config) accessFlags(f *pflag.FlagSet) {
	f.StringVar(&c.API.Listen, "listen", "127.0.0.1:8899",
		"address of the REST API; one that other machines can reach serves health and artifacts only until there is a user (scheduler user add) or --api-token-file")
	f.StringVar(&c.API.Advertise, "advertise", "",
		"host:port at which agents and other servers reach this one (default: the listen address)")
	f.StringVar(&c.API.tokenFile, "api-token-file", "",
		"file with a token that has all rights, sent as Authorization: Bearer; readable by its owner only. The same on all servers")
	f.DurationVar(&c.API.LoginLifetime, "login-lifetime", auth.DefaultLoginLifetime,
		"how long a login lasts, 1m to 168h")
	c.Lease.flags(f)
	c.Notify.flags(f)
	c.TLS.flags(f)
	c.OpenID.flags(f)
}

func (c *Config) jobFlags(f *pflag.FlagSet) {
	f.StringVar(&c.Jobs.TimeZone, "time-zone", "Local",
		"zone of crons whose job names none: an IANA name, or Local for this machine's")
	f.DurationVar(&c.Jobs.KillGrace, "kill-grace", 5*time.Second,
		"time between SIGTERM and SIGKILL when a task is ended, up to 24h, unless its job has killGraceSeconds")
	f.DurationVar(&c.Jobs.UnreachableAfter, "unreachable-after", time.Minute,
		"how long an agent may be silent before the shards on it are given up, 15s to 168h, unless their job has unreachableSeconds")
	f.BoolVar(&c.Jobs.Spread, "spread", false, "place shards on the emptiest agents instead of filling the fullest")
	f.StringVar(&c.Jobs.RunAs, "run-as", "",
		"run jobs as this user on the agents: name, uid or UID:GID (which need not exist there). "+
			"Executors must run as root, and root executors require it. With --local, a root server uses unused ids by default, or else root, and logs which")
	f.BoolVar(&c.Local.HideData, "hide-data", true,
		"with --local, where jobs run as the user of this server: hide the data folder and the secret files that flags name from them. "+
			"Programs that become another user, such as sudo, or make user namespaces don't work in jobs then")
	f.DurationVar(&c.Jobs.ExecutorIdle, "executor-idle", 5*time.Minute,
		"how long an idle executor is kept, unless others wait for its resources; 0 ends it after each run")
	f.StringSliceVar(&c.Jobs.ExecutorLimits, "executor-limit", nil,
		"a limit of executors that start from now on, as name=value, repeated or separated by commas: "+
			"package-download 4GiB, package-bytes 16GiB, package-files 200000, package-ratio 250, package-path 1024, "+
			"package-depth 64, package-first-byte 10s, package-check 30s, package-stall 1m, package-rate 1KiB, "+
			"package-fetch-time 1h, package-unpack-time 15m, package-tries 4, processes 4096, "+
			"output-file 32MiB, output-tasks 1000, output-bytes 1GiB, keep-failed 0 are the defaults")
	f.StringVar(&c.Jobs.ExecutorDir, "executor-dir", "",
		"folder of the executor binaries, executor or executor-<os>-<arch> (default: the folder of this program)")
}

func (c *Config) otherFlags(f *pflag.FlagSet) {
	f.StringVar(&c.file, "config", "",
		"read this conf/elasticjob-cloud-scheduler.properties of an ElasticJob-Cloud")
	f.BoolVar(&c.CheckOnly, "check-config", false,
		"check flags, environment and files, print the effective settings, and exit; nothing is connected to or changed")
	c.CA.flags(f)
	c.Log.AddFlags(f)
	f.IntVar(&c.JobMetrics, "job-metrics", 1000,
		"maximum number of jobs with their own metrics in /metrics; the first jobs to end a run get them. 0: none")
}
