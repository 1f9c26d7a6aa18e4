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

// Config has the settings of a server, including the contents of the files that settings name.
type Config struct {
	Local      Local
	Mesos      Mesos
	Kubernetes Kubernetes
	ZooKeeper  ZooKeeper
	Registry   Registry
	History    History
	API        API
	TLS        TLS
	Lease      Lease
	Notify     Notify
	OpenID     OpenID
	Jobs       Jobs
	CA         CA
	// DataDir is the folder of all files that the server keeps.
	DataDir string
	// Documents limits the size of the documents of apps and jobs.
	Documents Documents
	// Reconcile is the interval at which the server asks the cluster for the states of its tasks.
	Reconcile time.Duration
	// JobMetrics is the maximum number of jobs that have separate metrics in /metrics.
	JobMetrics int
	Log        logging.Options
	// CheckOnly is set if the command must only print the settings.
	CheckOnly bool
	// Failpoint kills this process at the failure point that a test has armed. It is nil if no point is armed.
	Failpoint func(name string)
	// Notes are warnings about valid settings.
	Notes []string

	file string // the properties file of an ElasticJob-Cloud
}

// Local are the settings of this machine's cluster.
type Local struct {
	// On is set if jobs run on this machine.
	On bool
	// CPUs and MemoryMB are the resources that the agent offers.
	CPUs, MemoryMB float64
	// GiveUpExecutors is set if the server must end the executors of an earlier run, instead of finding them again.
	GiveUpExecutors bool
	// HideData is set if the data folder and the secret files must be hidden from jobs.
	HideData bool
}

// Jobs are the settings of all jobs and of the executors that run them.
type Jobs struct {
	// RunAs is the user of the jobs' processes. If it is empty, they run as the user of the executors.
	RunAs string
	// TimeZone is the time zone of the crons of jobs without a time zone.
	TimeZone string
	// KillGrace is the default time between SIGTERM and SIGKILL.
	KillGrace time.Duration
	// UnreachableAfter is the default time after which the shards on a silent agent are abandoned.
	UnreachableAfter time.Duration
	// Spread places shards on the emptiest agents instead of filling the fullest.
	Spread bool
	// ExecutorIdle is how long an idle executor is kept.
	ExecutorIdle time.Duration
	// ExecutorLimits are limits of executors, each as name=value.
	ExecutorLimits []string
	// ExecutorDir is the folder of the executor binaries. If it is empty, that is the folder of this program.
	ExecutorDir string
}

// Documents are limits of the total size of documents: All for all apps and jobs, PerApp for an app and its jobs.
type Documents struct{ All, PerApp commandline.ByteSize }

// Elected reports whether servers elect a leader in a shared registry. Otherwise the registry is a file of this
// server.
func (c *Config) Elected() bool { return c.ZooKeeper.Servers != "" || c.Registry.DSN != "" }

// Scheme returns the scheme of this server's addresses, http or https.
func (c *Config) Scheme() string {
	if c.TLS.Files.Cert != "" {
		return "https"
	}
	return "http"
}

// AgentURL returns the URL at which agents reach this server. address is the server's address. With --local, AgentURL
// replaces an unspecified address such as 0.0.0.0, to which agents cannot connect, by 127.0.0.1.
func (c *Config) AgentURL(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); c.Local.On && err == nil && ip != nil && ip.IsUnspecified() {
		address = net.JoinHostPort("127.0.0.1", port)
	}
	return c.Scheme() + "://" + address
}

// RegistryLocation returns a text about the location of the registry, for messages. It contains no password.
func (c *Config) RegistryLocation() string {
	switch {
	case c.Registry.DSN != "":
		return "the registry in the database " + mysql.Name(string(c.Registry.DSN))
	case c.ZooKeeper.Servers != "":
		return fmt.Sprintf("%s of ZooKeeper %s", c.ZooKeeper.Root(), c.ZooKeeper.Servers)
	}
	return c.DataDir
}

// SecretFiles returns the absolute paths of the secret files that flags name.
func (c *Config) SecretFiles() []string {
	var paths []string
	for _, file := range []string{c.API.tokenFile, c.ZooKeeper.digestFile, c.History.file, c.Registry.file,
		c.Mesos.credentialsFile, c.Mesos.keyFile, c.file, c.TLS.Files.Key, c.OpenID.secretFile, c.Notify.file} {
		if path, err := filepath.Abs(file); file != "" && err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// rootExecutors reports whether executors run as root. uid is the user of the server.
func (c *Config) rootExecutors(uid int) bool {
	if c.Local.On || c.Mesos.user == "" {
		return uid == 0
	}
	return c.Mesos.user == "root" || c.Mesos.user == "0"
}
