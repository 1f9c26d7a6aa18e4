package platform

import (
	"net"
	"os"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/datafolder"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// clusterKind is what the state in the registry says of where its tasks run on Kubernetes.
const clusterKind = "Kubernetes"

// localKillAnswer is rule K3's with --local: the agent is in this process, so nothing but the executor can be silent.
const localKillAnswer = 5 * time.Second

// SetCore sets what the core is to know of the cluster.
func SetCore(c *settings.Config, o *step.Options) {
	switch {
	case c.Kubernetes.On:
		o.ClusterKind, o.TaskExecutors, o.Unfit = clusterKind, true, pods(&c.Kubernetes).Unfit
	case c.Local.On: // its cluster runs everything as who started it
		o.KillAnswer = localKillAnswer
		o.ExecutorEnvironment = map[string]string{launch.SecretsVariable: datafolder.Secrets(c.DataDir)}
	default:
		o.ExecutorUser = c.Mesos.User()
	}
	if ca := c.Mesos.ExecutorCA; ca != "" {
		o.ExecutorEnvironment = map[string]string{agent.TLSVariable: "true", agent.CAVariable: ca}
		o.HostnameVariable = agent.HostnameVariable
	}
}

// pods are what all pods have in common.
func pods(k *settings.Kubernetes) pod.Settings {
	return pod.Settings{Namespace: k.Namespace, Image: k.Image, Template: k.Template}
}

// failoverTimeout is how long the master keeps our tasks without us, as the original's.
const failoverTimeout = 7 * 24 * time.Hour

// framework is who a server says that it is, which others find at an address.
func framework(c *settings.Config, address string) cluster.Framework {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	if c.API.Advertise != "" {
		host, _, _ = net.SplitHostPort(c.API.Advertise) // checked
	}
	f := cluster.Framework{
		Name: "ElasticJob-Cloud", Hostname: host, WebUI: c.Scheme() + "://" + address, Role: c.Mesos.Role,
		Principal: c.Mesos.Principal, User: c.Mesos.User(),
		FailoverTimeout: failoverTimeout,
	}
	if c.Mesos.Role != "" {
		f.Name += "-" + c.Mesos.Role
	}
	return f
}
