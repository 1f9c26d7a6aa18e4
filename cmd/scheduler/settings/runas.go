package settings

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/elasticjob-go/elasticjob/executor"
	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// checkRunAs adds an error if jobs would run as root although no flag says so, or if the user of --run-as is unknown
// or cannot be used. uid is the user of this process.
func (c *Config) checkRunAs(r *report, uid int) {
	switch {
	case c.Kubernetes.On: // the pods determine the user
	case !c.Local.On && c.Mesos.Masters == "": // checkLocation adds an error
	case c.Jobs.RunAs != "":
		if err := new(executor.Config).Set("run-as=" + c.Jobs.RunAs); err != nil {
			r.Add("%s %q: %w", r.source("run-as"), c.Jobs.RunAs, err)
		} else if c.Local.On {
			c.checkUser(r, uid)
		} else if user := c.Mesos.User(); !c.rootExecutors(uid) && user != c.Jobs.RunAs {
			r.Add("%s %s: executors run as %s, and only root can run processes as another user: add --mesos-user root, or leave %s out",
				r.source("run-as"), c.Jobs.RunAs, user, r.source("run-as"))
		}
	case c.Local.On: // a server of root chooses the user when it opens its data folder
	case c.rootExecutors(uid):
		r.Add("jobs would run as root: add --run-as USER, a user of the machines that they run on, or --run-as root if they need to be root")
	}
}

// checkUser checks the user of --run-as on this machine: it must exist, must be able to pass through the parents of
// the data folder, and must not be able to replace them.
func (c *Config) checkUser(r *report, uid int) {
	account, err := isolation.AccountFor(c.Jobs.RunAs, uid)
	if err != nil {
		r.Add("%w", err)
		return
	}
	if account == nil {
		if uid == 0 {
			r.note("jobs run as root: they can read and change everything on this machine, this server's secrets too")
		}
		return
	}
	// The server lets the user pass through the data folder, but does not change the parents of the folder.
	parent, err := filepath.Abs(c.DataDir)
	for err == nil && parent != "/" {
		parent = filepath.Dir(parent)
		if _, statErr := os.Stat(parent); statErr == nil {
			break
		}
	}
	if err == nil {
		err = errors.Join(account.CheckEntry(parent), account.CheckProtected(parent))
	}
	r.About(r.source("run-as"), err)
}
