package settings

import (
	"path"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/registry/zookeeper"
)

// ZooKeeper is where a registry is that is kept in ZooKeeper.
type ZooKeeper struct {
	// Servers are host:port,…[/chroot], empty if the registry is elsewhere.
	Servers string
	// Digest is user:password of ZooKeeper's scheme digest.
	Digest Secret

	namespace, digestFile string
	timeout               time.Duration
}

// Options are how it is opened.
func (z *ZooKeeper) Options() zookeeper.Options {
	return zookeeper.Options{Servers: z.Servers, Namespace: strings.Trim(z.namespace, "/"),
		SessionTimeout: z.session(), Digest: string(z.Digest)}
}

// Root is the node below which everything is, from ZooKeeper's own root on, empty without a ZooKeeper.
func (z *ZooKeeper) Root() string {
	if z.Servers == "" {
		return ""
	}
	_, chroot, _ := strings.Cut(z.Servers, "/")
	return path.Join("/", chroot, z.namespace)
}

// ZooKeeper ends a session at its next tick after the timeout; ticks are 2 s apart by default, and no
// session is shorter than two of them.
const (
	usualTick       = 2 * time.Second
	shortestSession = 2 * usualTick
)

// session is what ZooKeeper is asked for, so that another server leads within --zk-session-timeout and a second more:
// less than that by what it may be rounded up.
func (z *ZooKeeper) session() time.Duration {
	return max(z.timeout-usualTick*3/4, min(z.timeout, shortestSession))
}

// check reads what --zk takes.
func (z *ZooKeeper) check(r *report) {
	if z.digestFile != "" {
		z.Digest = r.secret("zk-digest-file", z.digestFile)
	}
	user, password, _ := strings.Cut(string(z.Digest), ":")
	r.Unless(z.Digest == "" || user != "" && password != "", "%s: want user:password", r.said("zk-digest-file"))
	if z.Servers == "" {
		return
	}
	r.About(r.said("zk"), checkServers(z.Servers))
	name := strings.Trim(z.namespace, "/")
	r.Unless(name != "" && !strings.Contains(name, "//"),
		"%s %q: want the path of a node, such as elasticjob-cloud", r.said("zk-namespace"), z.namespace)
	r.Unless(z.timeout >= time.Second && z.timeout <= 5*time.Minute, "%s %s: want 1s to 5m",
		r.said("zk-session-timeout"), z.timeout)
}
