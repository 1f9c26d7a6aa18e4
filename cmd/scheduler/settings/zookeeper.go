package settings

import (
	"path"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/registry/zookeeper"
)

// ZooKeeper are the settings of a registry in ZooKeeper.
type ZooKeeper struct {
	// Servers has the form host:port,…[/chroot]. It is empty if the registry is not in ZooKeeper.
	Servers string
	// Digest is user:password for ZooKeeper's scheme digest, or "".
	Digest Secret

	namespace, digestFile string
	timeout               time.Duration
}

// Options returns the options for opening the registry.
func (z *ZooKeeper) Options() zookeeper.Options {
	return zookeeper.Options{Servers: z.Servers, Namespace: strings.Trim(z.namespace, "/"),
		SessionTimeout: z.sessionTimeout(), Digest: string(z.Digest)}
}

// Root returns the absolute path of the node that contains the registry, or "" without ZooKeeper.
func (z *ZooKeeper) Root() string {
	if z.Servers == "" {
		return ""
	}
	_, chroot, _ := strings.Cut(z.Servers, "/")
	return path.Join("/", chroot, z.namespace)
}

// ZooKeeper ends a session at the first tick after its timeout. By default a tick is 2 s, and the shortest timeout is
// two ticks.
const (
	defaultTick = 2 * time.Second
	minSession  = 2 * defaultTick
)

// sessionTimeout returns the timeout to request from ZooKeeper: --zk-session-timeout without three quarters of a tick,
// because ZooKeeper rounds the timeout up. Another server then leads at most one second after --zk-session-timeout. A
// timeout is not reduced below minSession.
func (z *ZooKeeper) sessionTimeout() time.Duration {
	return max(z.timeout-defaultTick*3/4, min(z.timeout, minSession))
}

// check checks the settings of --zk and reads the file of the digest.
func (z *ZooKeeper) check(r *report) {
	if z.digestFile != "" {
		z.Digest = r.secret("zk-digest-file", z.digestFile)
	}
	user, password, _ := strings.Cut(string(z.Digest), ":")
	r.Unless(z.Digest == "" || user != "" && password != "", "%s: must be user:password", r.source("zk-digest-file"))
	if z.Servers == "" {
		return
	}
	r.About(r.source("zk"), checkServers(z.Servers))
	name := strings.Trim(z.namespace, "/")
	r.Unless(name != "" && !strings.Contains(name, "//"),
		"%s %q: must be the path of a node, such as elasticjob-cloud", r.source("zk-namespace"), z.namespace)
	r.Unless(z.timeout >= time.Second && z.timeout <= 5*time.Minute, "%s %s: must be 1s to 5m",
		r.source("zk-session-timeout"), z.timeout)
}
