package agent

import (
	"cmp"
	"log/slog"
	"net"
	"strconv"
	"syscall"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/cluster/local/apihttp"
)

// Options of an agent. Zero durations and counts mean Mesos' defaults.
type Options struct {
	// DataDir holds the agent's id and journals, WorkDir the sandboxes. They are absolute, and may be the same folder.
	// One agent at a time may use them; the caller sees to that.
	DataDir, WorkDir string
	// IP and Port are where Handler is served, and what offers and executors name. The port must be the
	// same at every start, so that executors find their agent (rule O1).
	IP   string
	Port int
	// CPUs and MemMB are offered.
	CPUs, MemMB float64
	// GiveUpExecutors kills the executors of earlier runs before anything else and reports their tasks as gone.
	GiveUpExecutors bool

	// Environment is added to that of every executor.
	Environment map[string]string
	// Isolate, if not nil, starts an executor so that it does not see what its tasks are not to see: it adds to the
	// attributes and the environment and calls start.
	Isolate func(sandbox string, attr *syscall.SysProcAttr, env *[]string, start func() error) error

	// Credentials are asked for by the files API, if not nil.
	Credentials *apihttp.Credentials
	// ExecutorKey, if not empty, signs the token that each executor gets in its environment, and that the executor API
	// then asks for. It must be the same at every start: running executors keep their tokens.
	ExecutorKey apihttp.TokenKey
	// Authority, if not empty, is a certificate in PEM form. Each executor gets it in its environment, and then
	// speaks TLS with the agent and accepts only certificates that this authority has signed.
	Authority string

	// Failed, if not nil, takes why the master has refused the agent for good. It is not waited for.
	Failed chan<- error
	// Logger is required.
	Logger *slog.Logger

	// RegistrationTimeout is how long a started executor has to subscribe: 1 minute.
	RegistrationTimeout time.Duration
	// ReregistrationTimeout is how long executors have after a restart of the agent: 2 s.
	ReregistrationTimeout time.Duration
	// ShutdownGrace is the time between SHUTDOWN and SIGKILL: 5 s. An ExecutorInfo may say otherwise.
	ShutdownGrace time.Duration

	// KeepSandboxes and KeepFor bound what is kept of executors that ended: the last 50, for 1 week.
	KeepSandboxes int
	KeepFor       time.Duration
}

func (o *Options) complete() {
	o.RegistrationTimeout = cmp.Or(o.RegistrationTimeout, time.Minute)
	o.ReregistrationTimeout = cmp.Or(o.ReregistrationTimeout, 2*time.Second)
	o.ShutdownGrace = cmp.Or(o.ShutdownGrace, 5*time.Second)
	o.KeepFor, o.KeepSandboxes = cmp.Or(o.KeepFor, 7*24*time.Hour), cmp.Or(o.KeepSandboxes, 50)
}

// diskMB is offered, as no task takes any of it.
const diskMB = 10_000

// endpoint is the agent's address as executors get it.
func (o *Options) endpoint() string { return net.JoinHostPort(o.IP, strconv.Itoa(o.Port)) }

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
