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

// Config is what a server was told, and what is in the files that this names.
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
	// DataDir is the folder of all that is kept.
	DataDir string
	// Documents bound the documents of apps and jobs.
	Documents Documents
	// Reconcile is how often the cluster is asked what it knows of the server's tasks.
	Reconcile time.Duration
	// JobMetrics is of how many jobs /metrics has numbers of their own.
	JobMetrics int
	Log        logging.Options
	// CheckOnly says that nothing is to be started.
	CheckOnly bool
	// Failpoint ends this process at a failure point that tests have armed; nil without one.
	Failpoint func(name string)
	// Notes are what should be known of the settings and is not wrong.
	Notes []string

	file string // of an ElasticJob-Cloud
}

// Local is this machine's cluster.
type Local struct {
	// On says that jobs run there.
	On bool
	// CPUs and MemoryMB are on offer.
	CPUs, MemoryMB float64
	// GiveUpExecutors ends the executors of an earlier run.
	GiveUpExecutors bool
	// HideData hides the data folder and the files of secrets from jobs.
	HideData bool
}

// Jobs are how all jobs run, and the executors that run them.
type Jobs struct {
	// RunAs is the user that their processes run as, empty for the executors' own.
	RunAs string
	// TimeZone is that of crons whose job names none.
	TimeZone string
	// KillGrace is the time between SIGTERM and SIGKILL.
	KillGrace time.Duration
	// Spread places shards on the emptiest agents instead of filling the fullest.
	Spread bool
	// ExecutorIdle is how long an executor is kept with nothing to do.
	ExecutorIdle time.Duration
	// ExecutorLimits are bounds of executors, as name=value.
	ExecutorLimits []string
	// ExecutorDir is the folder of the executor binaries, empty for that of this program.
	ExecutorDir string
}

// Documents bound the documents of apps and jobs, all of them and those of each app.
type Documents struct{ All, PerApp commandline.ByteSize }

// Elected reports whether servers elect their leader, so that others can lead than this one. Without that the registry
// is a file of this server's own.
func (c *Config) Elected() bool { return c.ZooKeeper.Servers != "" || c.Registry.DSN != "" }

// Scheme is that of this server's addresses.
func (c *Config) Scheme() string {
	if c.TLS.Files.Cert != "" {
		return "https"
	}
	return "http"
}

// AgentURL is where agents reach a server that others find at an address. Those of this machine can't ask for the
// address of a listener that has all.
func (c *Config) AgentURL(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); c.Local.On && err == nil && ip != nil && ip.IsUnspecified() {
		address = net.JoinHostPort("127.0.0.1", port)
	}
	return c.Scheme() + "://" + address
}

// Place says where users and tokens are kept. It shows no password.
func (c *Config) Place() string {
	switch {
	case c.Registry.DSN != "":
		return "the registry in the database " + mysql.Name(string(c.Registry.DSN))
	case c.ZooKeeper.Servers != "":
		return fmt.Sprintf("%s of ZooKeeper %s", c.ZooKeeper.Root(), c.ZooKeeper.Servers)
	}
	return c.DataDir
}

// SecretFiles are the files that flags name and that are no job's.
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

// rootExecutors reports whether executors will be root's, of a server that runs as a user.
func (c *Config) rootExecutors(uid int) bool {
	if c.Local.On || c.Mesos.user == "" {
		return uid == 0
	}
	return c.Mesos.user == "root" || c.Mesos.user == "0"
}
