package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/api/certificate"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/cluster/mesos"
	"github.com/elasticjob-go/elasticjob/internal/release"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// config is what the command line, the environment and the file of --config say.
type config struct {
	local           bool
	mesos           string
	mesosFiles      mesosFiles
	role, principal string
	mesosUser       string
	kubernetes      kubernetesFlags
	zk              string
	zkNamespace     string
	zkTimeout       time.Duration
	zkDigestFile    string
	registry        inDatabase
	db              dsn
	dbFile          string
	runAs           string
	hideData        bool
	historyDays     int
	historyRows     int64
	historyOutboxMB int64
	listen          string
	advertise       string
	tokenFile       string
	loginLifetime   time.Duration
	tlsFiles        certificate.Files
	openID          openIDFlags
	dataDir         string
	localCPUs       float64
	localMemory     float64
	giveUpExecutors bool
	executorDir     string
	executorIdle    time.Duration
	killGrace       time.Duration
	executorLimits  []string
	reconcile       time.Duration
	timeZone        string
	jobMetrics      int
	documents       documentLimits
	spread          bool
	log             logging
	configFile      string
	checkConfig     bool

	// These are the contents of files, and the notes about settings without effect.
	token, zkDigest secret
	credentials     *mesos.Credentials
	tls             *tls.Config
	certificate     *certificate.Keeper // nil without --tls-cert
	executorCA      string              // as executors get it; empty without tls
	failpoint       func(name string)
	held            heldFiles // those of secretFiles, once the server has started
	remembers       bool      // how far the registry in SQL is, as servers do
	notes           []string
}

// documentLimits bound the documents of apps and jobs, all of them and those of each app.
type documentLimits struct{ all, perApp byteSize }

// mesosFiles are files that say how to reach Mesos.
type mesosFiles struct{ credentials, ca, cert, key string }

var (
	// errUsage marks errors of the command line that were printed already.
	errUsage = errors.New("usage")
	// errLogged marks errors that are in the log already.
	errLogged = errors.New("logged")
)

func command() *cobra.Command {
	var c config
	var s *settings
	cmd := &cobra.Command{
		Use:   "scheduler",
		Short: "Run sharded batch jobs on their cron, on a Mesos cluster, on Kubernetes or on this machine",
		Long: `scheduler publishes apps, registers jobs on them, and runs the jobs' shards.

On this machine, with nothing installed:

  scheduler --local

then see http://127.0.0.1:8899/ for what to do next.

On a Mesos cluster, two or three of these, anywhere; one leads, and any of them answers:

  scheduler user add NAME --role admin --zk h1:2181,h2:2181
  scheduler --mesos zk://h1:2181,h2:2181/mesos --zk h1:2181,h2:2181 --listen HOST:8899

On Kubernetes, from a pod of it or from anywhere with a kubeconfig:

  scheduler --kubernetes --kubernetes-namespace jobs --registry mysql://user:password@host/database

With --registry in the place of --zk, on any cluster, state and election are in a database of MySQL or
MariaDB. With --mesos or --kubernetes and without either the state is kept in a file of --data-dir:
then there is one server, and there is no standby.

Every flag can also be set in the environment: --data-dir as ` + envPrefix + `DATA_DIR, and so on. --config
reads ElasticJob-Cloud's properties file; with it, environment variables with the names of its keys count as well.
What counts is, in this order: the flag, ` + envPrefix +
			`…, the environment variable of the key's name, the file, the default.
A flag or ` + envPrefix + `… that is given and empty is refused; empty keys and variables of their names count as not given.`,
		Version:       release.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			s = newSettings(&c, cmd.Flags())
			return s.complete(environment(os.Environ()))
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.checkConfig {
				return s.show(cmd.OutOrStdout())
			}
			return serve(cmd.Context(), c, os.Stdout)
		},
	}
	cmd.SetVersionTemplate(release.Text("scheduler"))
	refuseBadFlags(cmd)
	showGroups(cmd, c.flags(cmd.Flags()))
	cmd.CompletionOptions.HiddenDefaultCmd = true
	cmd.AddCommand(userCommand(), tokenCommand(), migrateCommand(), backupCommand(), restoreCommand(), acceptCommand(),
		readyCommand(), localClusterCommand(), localAgentCommand())
	return cmd
}

// flags defines all flags, and returns them in the groups and the order in which --help shows them: what is needed
// every day first.
func (c *config) flags(all *pflag.FlagSet) (groups []*pflag.FlagSet) {
	all.SortFlags = false
	for _, g := range []struct {
		name   string
		define func(*pflag.FlagSet)
	}{
		{"Cluster", c.clusterFlags},
		{"State", c.stateFlags},
		{"API and access", c.accessFlags},
		{"Jobs", c.jobFlags},
		{"History", c.historyFlags},
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

func (c *config) clusterFlags(f *pflag.FlagSet) {
	f.BoolVar(&c.local, "local", false, "run jobs on this machine: brings a cluster of its own, needs nothing else")
	f.StringVar(&c.mesos, "mesos", "", "run jobs on this Mesos cluster: zk://host:port,…/mesos, where its masters elect their leader, or http(s)://host:port of its masters, separated by commas")
	f.BoolVar(&c.kubernetes.on, "kubernetes", false, "run jobs on Kubernetes: each shard is a pod")
	f.Float64Var(&c.localCPUs, "local-cpus", float64(runtime.NumCPU()), "with --local: CPUs on offer")
	f.Float64Var(&c.localMemory, "local-memory", defaultMemory(), "with --local: memory on offer, in MB")
	f.BoolVar(&c.giveUpExecutors, "give-up-executors", false,
		"with --local: end the executors that an earlier run left behind, instead of finding them again")
	f.StringVar(&c.role, "mesos-role", "",
		"with --mesos: the framework's role; what agents have reserved for it is used first")
	f.StringVar(&c.principal, "mesos-principal", "",
		"with --mesos: the framework's principal (default: that of the credentials)")
	f.StringVar(&c.mesosUser, "mesos-user", "",
		"with --mesos: the user that executors run as from now on (default: the one that this server runs as)")
	f.StringVar(&c.mesosFiles.credentials, "mesos-credentials-file", "",
		"with --mesos: file with principal and secret, on a line or as Mesos' JSON")
	f.StringVar(&c.mesosFiles.ca, "mesos-ca-file", "",
		"with --mesos: PEM file of the certificates that the cluster's TLS is checked with; masters and agents then speak https")
	f.StringVar(&c.mesosFiles.cert, "mesos-cert-file", "",
		"with --mesos-ca-file: PEM file of this server's own certificate, for masters and agents that want one of their clients; read for each connection")
	f.StringVar(&c.mesosFiles.key, "mesos-key-file", "",
		"with --mesos-cert-file: PEM file of that certificate's private key; it is sent nowhere, and executors have one of their own from their agent")
	c.kubernetes.flags(f)
	f.DurationVar(&c.reconcile, "reconcile-interval", 10*time.Minute,
		"how often the cluster is asked what it knows of our tasks, beside what it reports by itself")
}

func (c *config) stateFlags(f *pflag.FlagSet) {
	f.StringVar(&c.dataDir, "data-dir", defaultDataDir(),
		"folder of all that is kept: copies of the executor, without --zk and --registry configuration and state, and with --local the tasks' output")
	f.StringVar(&c.zk, "zk", "", "keep configuration and state in this ZooKeeper, and elect a leader there: host:port,…[/chroot]; the chroot must be there")
	f.StringVar(&c.zkNamespace, "zk-namespace", "elasticjob-cloud",
		"with --zk: the node below which everything is; that of an ElasticJob-Cloud can be taken over")
	f.DurationVar(&c.zkTimeout, "zk-session-timeout", 10*time.Second,
		"with --zk: a leader that is silent for so long has lost the lead, and another has it a second later; ZooKeeper's tickTime (2s) bounds and rounds it")
	f.StringVar(&c.zkDigestFile, "zk-digest-file", "",
		"with --zk: file with user:password for ZooKeeper's scheme digest; what is made then has an ACL for that user only")
	c.registryFlags(f)
	c.documents = documentLimits{all: byteSize(step.DefaultOptions().DocumentsLimit),
		perApp: byteSize(step.DefaultOptions().DocumentsPerAppLimit)}
	f.Var(&c.documents.all, "documents-limit",
		"how large the documents of all apps and jobs may be together: what would make them larger is refused, what is stored is kept. Each leader has all of them in memory")
	f.Var(&c.documents.perApp, "documents-per-app-limit", "the same of each app and its jobs")
}

func (c *config) accessFlags(f *pflag.FlagSet) {
	f.StringVar(&c.listen, "listen", "127.0.0.1:8899",
		"address of the REST API; one that other machines can reach serves health and artifacts only until there is a user (scheduler user add) or --api-token-file")
	f.StringVar(&c.advertise, "advertise", "",
		"host:port at which agents and other servers find this one (default: the listen address)")
	f.StringVar(&c.tokenFile, "api-token-file", "",
		"file with a token, readable by its owner only, with which a request may do everything, as Authorization: Bearer. The same on all servers")
	f.DurationVar(&c.loginLifetime, "login-lifetime", auth.DefaultLoginLifetime, "how long a login lasts, 1m to 168h")
	c.tlsFlags(f)
	c.openID.flags(f)
}

func (c *config) jobFlags(f *pflag.FlagSet) {
	f.StringVar(&c.timeZone, "time-zone", "Local",
		"zone of crons whose job names none: an IANA name, or Local for this machine's")
	f.DurationVar(&c.killGrace, "kill-grace", 5*time.Second,
		"time between SIGTERM and SIGKILL for a task that is to end, unless its job has killGraceSeconds")
	f.BoolVar(&c.spread, "spread", false, "place shards on the emptiest agents instead of filling the fullest")
	c.isolationFlags(f)
	f.DurationVar(&c.executorIdle, "executor-idle", 5*time.Minute,
		"how long an executor is kept with nothing to do, unless others wait for its resources; 0 ends it after each run")
	f.StringSliceVar(&c.executorLimits, "executor-limit", nil,
		"a bound of executors that start from now on, as name=value, repeated or separated by commas: "+
			"package-download 4GiB, package-bytes 16GiB, package-files 200000, package-ratio 250, package-path 1024, "+
			"package-depth 64, package-first-byte 10s, package-check 30s, package-stall 1m, package-rate 1KiB, "+
			"package-fetch-time 1h, package-unpack-time 15m, package-tries 4, processes 4096, "+
			"output-file 32MiB, output-tasks 1000, output-bytes 1GiB, keep-failed 0 are the defaults")
	f.StringVar(&c.executorDir, "executor-dir", "",
		"folder of the executor binaries, executor or executor-<os>-<arch> (default: the folder of this program)")
}

func (c *config) otherFlags(f *pflag.FlagSet) {
	f.StringVar(&c.configFile, "config", "",
		"read this conf/elasticjob-cloud-scheduler.properties of an ElasticJob-Cloud")
	f.BoolVar(&c.checkConfig, "check-config", false,
		"check flags, environment and files, print what would be in force, and end; nothing is connected to or changed")
	c.log.flags(f)
	f.IntVar(&c.jobMetrics, "job-metrics", 1000,
		"of how many jobs /metrics has numbers of their own: those that are the first to end a run; 0: of none")
}

// helpWidth is how wide the lines about flags are in --help.
const helpWidth = 120

// showGroups has --help of a command show its flags in groups, and those of its subcommands one after the other.
func showGroups(cmd *cobra.Command, groups []*pflag.FlagSet) {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	other := groups[len(groups)-1]
	other.AddFlag(cmd.Flags().Lookup("help"))
	other.AddFlag(cmd.Flags().Lookup("version"))
	var text strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&text, "\n\n%s:\n%s", g.Name(), strings.TrimRight(g.FlagUsagesWrapped(helpWidth), "\n"))
	}
	const flags = "{{if .HasAvailableLocalFlags}}\n\nFlags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}"
	cmd.SetUsageTemplate(strings.Replace(cmd.UsageTemplate(), flags,
		"{{if .HasParent}}"+strings.Replace(flags, "FlagUsages", fmt.Sprintf("FlagUsagesWrapped %d", helpWidth), 1)+
			"{{else}}"+text.String()+"{{end}}", 1))
}

// defaultMemory is three quarters of the machine's, in whole MB.
func defaultMemory() float64 {
	const fallback = 2048
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return fallback
	}
	var kb float64
	if _, err := fmt.Sscanf(string(text), "MemTotal: %f kB", &kb); err != nil || kb <= 0 {
		return fallback
	}
	return float64(int(kb / 1024 * 3 / 4))
}
