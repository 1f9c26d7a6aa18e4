package agent

import (
	"cmp"
	"log/slog"
	"net"
	"strconv"
	"syscall"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/cluster/local/apihttp"
)

// Options configure an agent. Zero durations and counts mean Mesos' defaults.
type Options struct {
	// DataDir holds the agent's id and journals, WorkDir the sandboxes. Both paths are absolute and may be the same.
	// The caller must ensure that only one agent at a time uses them.
	DataDir, WorkDir string
	// IP and Port are the address at which Handler is served. Offers contain it, and executors receive it. The port
	// must be the same at every start, so that executors find their agent (rule O1).
	IP   string
	Port int
	// CPUs and MemMB are the offered resources.
	CPUs, MemMB float64
	// GiveUpExecutors kills the executors of earlier runs before anything else and reports their tasks as gone.
	GiveUpExecutors bool

	// Environment is added to the environment of every executor.
	Environment map[string]string
	// Isolate, if not nil, starts an executor and hides from it what its tasks must not see: it extends attr and env
	// and calls start.
	Isolate func(sandbox string, attr *syscall.SysProcAttr, env *[]string, start func() error) error

	// Credentials, if not nil, are required by the files API.
	Credentials *apihttp.Credentials
	// ExecutorKey, if not empty, signs the token that each executor receives in its environment, and the executor API
	// requires that token. The key must be the same at every start, because running executors keep their tokens.
	ExecutorKey apihttp.TokenKey
	// Authority, if not empty, is a certificate in PEM form. Each executor receives it in its environment. The
	// executor then speaks TLS with the agent and accepts only certificates that this authority has signed.
	Authority string

	// Failed, if not nil, receives the reason if the master permanently rejects the agent. The agent does not block on
	// it.
	Failed chan<- error
	// Logger is required.
	Logger *slog.Logger

	// RegistrationTimeout is how long a started executor has to subscribe; 1 minute by default.
	RegistrationTimeout time.Duration
	// ReregistrationTimeout is how long executors have to subscribe after a restart of the agent; 2 s by default.
	ReregistrationTimeout time.Duration
	// ShutdownGrace is the time between SHUTDOWN and SIGKILL unless the ExecutorInfo sets one; 5 s by default.
	ShutdownGrace time.Duration

	// KeepSandboxes and KeepFor limit how many sandboxes of ended executors are kept, and for how long: 50 and 1 week
	// by default.
	KeepSandboxes int
	KeepFor       time.Duration
}

// complete sets the defaults.
func (o *Options) complete() {
	o.RegistrationTimeout = cmp.Or(o.RegistrationTimeout, time.Minute)
	o.ReregistrationTimeout = cmp.Or(o.ReregistrationTimeout, 2*time.Second)
	o.ShutdownGrace = cmp.Or(o.ShutdownGrace, 5*time.Second)
	o.KeepFor, o.KeepSandboxes = cmp.Or(o.KeepFor, 7*24*time.Hour), cmp.Or(o.KeepSandboxes, 50)
}

// diskMB is the offered disk space; it is a constant because no task uses any.
const diskMB = 10_000

// endpoint returns the agent's address in the form that executors receive.
func (o *Options) endpoint() string { return net.JoinHostPort(o.IP, strconv.Itoa(o.Port)) }

// info returns the description with which the agent registers.
func (o *Options) info(id string) mesos.AgentInfo {
	port := int32(o.Port)
	scalar := func(name string, value float64) mesos.Resource {
		return mesos.Resource{Name: name, Type: mesos.SCALAR.Enum(), Scalar: &mesos.Value_Scalar{Value: value}}
	}
	return mesos.AgentInfo{
		Hostname: o.IP, Port: &port, ID: &mesos.AgentID{Value: id},
		Resources: []mesos.Resource{scalar("cpus", o.CPUs), scalar("mem", o.MemMB), scalar("disk", diskMB)},
	}
}
