package settings

import (
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings/commandline"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings/logging"
	"github.com/elasticjob-go/elasticjob/internal/mysql"
)

// Config holds the settings of a server, including the content of the files that they name.
type Config struct {
	Local      Local
	Mesos      Mesos
	Kubernetes Kubernetes
	ZooKeeper  ZooKeeper
	Registry   Registry
	History    History
	API        API
	TLS        TLS
	OpenID     OpenID
	Jobs       Jobs
	CA         CA
	// DataDir is the folder of all files that the server keeps.
	DataDir string
	// Documents limits the size of the documents of apps and jobs.
	Documents Documents
	// Reconcile is the interval at which the server asks the cluster for the states of its tasks.
	Reconcile time.Duration
	// JobMetrics is the maximum number of jobs that have metrics of their own in /metrics.
	JobMetrics int
	Log        logging.Options
	// CheckOnly says to print the settings and to start nothing.
	CheckOnly bool
	// Failpoint kills this process at the failure point that a test has armed; nil without one.
	Failpoint func(name string)
	// Notes are warnings about valid settings.
	Notes []string

	file string // the properties file of an ElasticJob-Cloud
}

// Local are the settings of this machine's cluster.
type Local struct {
	// On says that jobs run on this machine.
	On bool
	// CPUs and MemoryMB are the resources that the agent offers.
	CPUs, MemoryMB float64
	// GiveUpExecutors says to end the executors that an earlier run left behind.
	GiveUpExecutors bool
	// HideData says to hide the data folder and the secret files from jobs.
	HideData bool
}

// Jobs are the settings of all jobs and of the executors that run them.
type Jobs struct {
	// RunAs is the user of the jobs' processes; empty for the executors' own user.
	RunAs string
	// TimeZone is the zone of crons whose job names none.
	TimeZone string
	// KillGrace is the default time between SIGTERM and SIGKILL.
	KillGrace time.Duration
	// UnreachableAfter is the default time after which the shards of a silent agent are given up.
	UnreachableAfter time.Duration
	// Spread places shards on the emptiest agents instead of filling the fullest.
	Spread bool
	// ExecutorIdle is how long an idle executor is kept.
	ExecutorIdle time.Duration
	// ExecutorLimits are limits of executors, each as name=value.
	ExecutorLimits []string
	// ExecutorDir is the folder of the executor binaries; empty for the folder of this program.
	ExecutorDir string
}

// Documents limits the size of the documents of apps and jobs: of all together, and of each app with its jobs.
type Documents struct{ All, PerApp commandline.ByteSize }

// Elected reports whether several servers share a registry and elect a leader. Otherwise the registry is a file of
// this server.
func (c *Config) Elected() bool { return c.ZooKeeper.Servers != "" || c.Registry.DSN != "" }

// Scheme returns the scheme of this server's addresses, http or https.
func (c *Config) Scheme() string {
	if c.TLS.Files.Cert != "" {
		return "https"
	}
	return "http"
}

// AgentURL returns the URL at which agents reach this server, whose address is known to others. Agents of this
// machine cannot connect to an unspecified address such as 0.0.0.0, so they get 127.0.0.1 instead.
func (c *Config) AgentURL(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); c.Local.On && err == nil && ip != nil && ip.IsUnspecified() {
		address = net.JoinHostPort("127.0.0.1", port)
	}
	return c.Scheme() + "://" + address
}

// RegistryLocation describes where users and tokens are kept. The text contains no password.
func (c *Config) RegistryLocation() string {
	switch {
	case c.Registry.DSN != "":
		return "the registry in the database " + mysql.Name(string(c.Registry.DSN))
	case c.ZooKeeper.Servers != "":
		return fmt.Sprintf("%s of ZooKeeper %s", c.ZooKeeper.Root(), c.ZooKeeper.Servers)
	}
	return c.DataDir
}

// SecretFiles returns the absolute paths of the secret files that flags name. Jobs need none of them.
func (c *Config) SecretFiles() []string {
	var named []string
	for _, file := range []string{c.API.tokenFile, c.ZooKeeper.digestFile, c.History.file, c.Registry.file,
		c.Mesos.credentialsFile, c.Mesos.keyFile, c.file, c.TLS.Files.Key, c.OpenID.secretFile} {
		if path, err := filepath.Abs(file); file != "" && err == nil {
			named = append(named, path)
		}
	}
	return named
}

// rootExecutors reports whether executors run as root, if the server runs as the user uid.
func (c *Config) rootExecutors(uid int) bool {
	if c.Local.On || c.Mesos.user == "" {
		return uid == 0
	}
	return c.Mesos.user == "root" || c.Mesos.user == "0"
}
