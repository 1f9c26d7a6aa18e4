package platform

import (
	"maps"
	"net"
	"os"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/datafolder"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/internal/trust"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// clusterKind is the text by which the state in the registry records that its tasks run on Kubernetes.
const clusterKind = "Kubernetes"

// localKillTimeout is the timeout of rule K3 with --local. It is short because the agent is in this process, so only
// the executor can fail to answer.
const localKillTimeout = 5 * time.Second

// SetCore sets the options of the core that depend on the kind of cluster.
func SetCore(c *settings.Config, o *step.Options) {
	switch {
	case c.Kubernetes.On:
		o.ClusterKind, o.TaskExecutors, o.Unfit = clusterKind, true, pods(c).Unfit
	case c.Local.On: // without ExecutorUser, because this machine's cluster runs executors as the server's own user
		o.KillAnswer = localKillTimeout
		o.ExecutorEnvironment = map[string]string{launch.SecretsVariable: datafolder.Secrets(c.DataDir)}
	default:
		o.ExecutorUser = c.Mesos.User()
	}
	if ca := c.Mesos.ExecutorCA; ca != "" {
		o.ExecutorEnvironment = map[string]string{agent.TLSVariable: "true", agent.CAVariable: ca}
		o.HostnameVariable = agent.HostnameVariable
	}
	if c.CA.PEM != "" && !c.Kubernetes.On {
		o.ExecutorEnvironment = maps.Clone(o.ExecutorEnvironment)
		if o.ExecutorEnvironment == nil {
			o.ExecutorEnvironment = map[string]string{}
		}
		o.ExecutorEnvironment[trust.Variable] = c.CA.PEM
	}
}

// pods returns the settings that all pods share.
func pods(c *settings.Config) pod.Settings {
	k := &c.Kubernetes
	return pod.Settings{Namespace: k.Namespace, Image: k.Image, Template: k.Template,
		AssignedUser: k.AssignedUser, Authorities: c.CA.PEM}
}

// failoverTimeout is how long the Mesos master keeps the tasks of the framework while the framework is disconnected.
// ElasticJob-Cloud uses the same value.
const failoverTimeout = 7 * 24 * time.Hour

// framework returns the description of this server for the cluster. address is the host:port under which others reach
// this server.
func framework(c *settings.Config, address string) cluster.Framework {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	if c.API.Advertise != "" {
		host, _, _ = net.SplitHostPort(c.API.Advertise) // the address was checked with the settings
	}
	f := cluster.Framework{
		Name: "ElasticJob-Cloud", Hostname: host, WebUI: c.Scheme() + "://" + address, Role: c.Mesos.Role,
		Principal: c.Mesos.Principal, User: c.Mesos.User(), FailoverTimeout: failoverTimeout,
	}
	if c.Mesos.Role != "" {
		f.Name += "-" + c.Mesos.Role
	}
	return f
}
