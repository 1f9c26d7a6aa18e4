package platform

import (
	"time"

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
