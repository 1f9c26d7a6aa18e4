package settings

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/elasticjob-go/elasticjob/executor"
	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// checkRunAs rejects settings with which jobs would run as root although no flag says so, and users that are unknown
// or unusable. uid is the user of this process.
func (c *Config) checkRunAs(r *report, uid int) {
	switch asked := c.Jobs.RunAs != ""; {
	case !c.Local.On && c.Mesos.Masters == "",
		c.Kubernetes.On: // an error is reported elsewhere, or pods have users of their own
	case asked:
		if err := new(executor.Config).Set("run-as=" + c.Jobs.RunAs); err != nil {
			r.Add("%s %q: %w", r.source("run-as"), c.Jobs.RunAs, err)
		} else if c.Local.On {
			c.checkUser(r, uid)
		} else if user := c.Mesos.User(); !c.rootExecutors(uid) && user != c.Jobs.RunAs {
			r.Add("%s %s: executors run as %s, and only root can run processes as another user: add --mesos-user root, or leave %s out", r.source("run-as"), c.Jobs.RunAs, user, r.source("run-as"))
		}
	case c.Local.On: // root's server chooses the user when it opens its data folder
	case c.rootExecutors(uid):
		r.Add("jobs would run as root: add --run-as USER, a user of the machines that they run on, or --run-as root if they need to be root")
	}
}

// checkUser validates the user on this machine.
func (c *Config) checkUser(r *report, uid int) {
	as, err := isolation.AccountFor(c.Jobs.RunAs, uid)
	if err != nil {
		r.Add("%w", err)
		return
	}
	if as == nil {
		if uid == 0 {
			r.note("jobs run as root: they can read and change everything on this machine, this server's secrets too")
		}
		return
	}
	// The start opens the data folder itself to that user, but it does not change the parents of that folder.
	parent, err := filepath.Abs(c.DataDir)
	for err == nil && parent != "/" {
		parent = filepath.Dir(parent)
		if _, missing := os.Stat(parent); missing == nil {
			break
		}
	}
	if err == nil {
		err = errors.Join(as.CheckEntry(parent), as.CheckProtected(parent))
	}
	r.About(r.source("run-as"), err)
}
