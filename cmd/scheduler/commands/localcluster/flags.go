package localcluster

import (
	"cmp"
	"crypto/tls"
	"log/slog"
	"net/netip"
	"strings"

	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/cluster/local"
	"github.com/elasticjob-go/elasticjob/cluster/mesos"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings/commandline"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings/logging"
)

// clusterFlags are the flags of local-cluster and local-agent. Join is set for local-agent only.
type clusterFlags struct {
	local.Options
	ip          string
	credentials string
	tlsCert     string
	tlsKey      string
	registry    string
	// endExecutors makes SIGTERM and SIGINT end executors and their tasks, as SIGUSR1 always does.
	endExecutors bool
	log          logging.Options
}

const registryFile, registryInMemory = "file", "in_memory"

// addShared adds the flags that both commands have.
func (f *clusterFlags) addShared(flags *pflag.FlagSet) {
	flags.StringVar(&f.DataDir, "data-dir", "", "folder of all data; each process has its own (required)")
	flags.Float64Var(&f.CPUs, "cpus", 0,
		"CPUs that each agent offers (default: this machine's, divided among the agents)")
	flags.Float64Var(&f.MemoryMB, "memory", 0,
		"memory that each agent offers, in MB (default: three quarters of this machine's, divided among the agents)")
	flags.StringVar(&f.credentials, "credentials", "",
		`file with the principal and secret that this cluster requires, {"principal":…,"secret":…} (default: credentials.json of the data folder, which the first start creates)`)
	flags.BoolVar(&f.NoCredentials, "no-credentials", false, "let every user of this machine use the APIs")
	flags.BoolVar(&f.GiveUpExecutors, "give-up-executors", false,
		"end the executors that an earlier run left behind, instead of finding them again")
	flags.BoolVar(&f.endExecutors, "end-executors", false, "end executors and their tasks at SIGTERM and SIGINT, too")
	f.log.AddFlags(flags)
}

// options returns the options of the cluster, or an error with all problems of the flags.
func (f *clusterFlags) options(log *slog.Logger) (local.Options, error) {
	var bad commandline.Errors
	o := f.Options
	o.Logger, o.InMemoryRegistry = log, f.registry == registryInMemory
	if f.Agents == 0 {
		o.Agents = -1 // the options have -1 for none, because 0 means the default
	}
	bad.Unless(f.DataDir != "", "--data-dir is missing: name a folder")
	if f.Join == "" {
		f.checkMaster(&bad)
	} else {
		ip, err := netip.ParseAddr(f.ip)
		bad.Unless(err == nil && ip.Is4() && ip.IsLoopback(),
			"--ip %q: must be an IPv4 address of this machine only, such as 127.0.0.2", f.ip)
		o.AgentIP = ip
		bad.Unless(strings.HasPrefix(f.Join, "http://"), "--master %q: must be http://host:port", f.Join)
	}
	agents := float64(max(f.Agents, 1))
	o.CPUs = cmp.Or(f.CPUs, commandline.DefaultCPUs()/agents)
	o.MemoryMB = cmp.Or(f.MemoryMB, float64(int(commandline.DefaultMemory()/agents)))
	bad.CheckMachine("--", o.CPUs, o.MemoryMB)
	if f.NoCredentials && f.credentials != "" {
		bad.Add("--no-credentials and --credentials contradict each other")
	} else if f.credentials != "" {
		read, err := mesos.ReadCredentials(f.credentials)
		bad.About("--credentials", err)
		if err == nil {
			o.Secret = &local.Credentials{Principal: read.User, Secret: read.Secret}
		}
	}
	switch {
	case (f.tlsCert == "") != (f.tlsKey == ""):
		bad.Add("--tls-cert and --tls-key belong together")
	case f.tlsCert != "":
		pair, err := tls.LoadX509KeyPair(f.tlsCert, f.tlsKey)
		bad.About("--tls-cert and --tls-key", err)
		o.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	f.log.Check(&bad)
	return o, bad.Join()
}

// checkMaster validates the flags of a master.
func (f *clusterFlags) checkMaster(bad *commandline.Errors) {
	// Mesos' MasterInfo can only hold an IPv4 address.
	listen, err := netip.ParseAddrPort(strings.Replace(f.Listen, "localhost:", "127.0.0.1:", 1))
	bad.Unless(err == nil && listen.Addr().Is4() && listen.Addr().IsLoopback(),
		"--listen %q: must be 127.0.0.1:port: the cluster is for this machine only", f.Listen)
	bad.Unless(f.AgentPingTimeout > 0 && f.MaxAgentPingTimeouts > 0 && f.AgentReregisterTimeout > 0 && f.Heartbeat > 0,
		"--agent-ping-timeout, --max-agent-ping-timeouts, --agent-reregister-timeout and --heartbeat must be more than 0")
	bad.Unless(f.registry == registryFile || f.registry == registryInMemory, "--registry %q: must be file or in_memory",
		f.registry)
	bad.Unless(f.Agents >= 0 && f.Agents <= 100, "--agents %d: must be 0 to 100", f.Agents)
}
