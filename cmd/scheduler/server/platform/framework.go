package platform

import (
	"net"
	"os"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
)

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
