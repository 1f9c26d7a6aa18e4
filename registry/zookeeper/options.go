package zookeeper

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/internal/zookeeper"
	"github.com/elasticjob-go/elasticjob/registry"
)

// Options choose a ZooKeeper and the location of the registry in it.
type Options struct {
	// Servers is a connection string such as "h1:2181,h2:2181" or, with a chroot, "h1:2181,h2:2181/some/folder". The
	// chroot must exist. The default port is 2181.
	Servers string
	// Namespace is the folder below the chroot that contains all nodes, without leading and trailing slashes. It may
	// be nested. It is created if it does not exist.
	Namespace string
	// SessionTimeout is the silence after which a leader counts as dead; zero means 10 s. ZooKeeper raises it to 2 of
	// its ticks or lowers it to 20, if necessary.
	SessionTimeout time.Duration
	// Digest is "user:password" or empty. If it is set, only this user can access the nodes that the registry creates.
	Digest string
	// Logger receives the messages for operators; nil discards them.
	Logger *slog.Logger
	// Dial connects to a server; nil uses a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// namespace is the location of a registry: the checked Options with defaults.
type namespace struct {
	Options
	servers []string
	chroot  string // "" or "/…"
	root    string // chroot and namespace: the node of the registry's root
	acl     []zk.ACL
}

func newNamespace(o Options) (*namespace, error) {
	unusable := func(format string, args ...any) (*namespace, error) {
		return nil, fmt.Errorf("%w: %s", registry.ErrUnusable, fmt.Sprintf(format, args...))
	}
	ns := &namespace{Options: o, acl: zk.WorldACL(zk.PermAll)}
	hosts, chroot, found := strings.Cut(o.Servers, "/")
	if found && chroot != "" {
		ns.chroot = "/" + chroot
		if err := checkPath(ns.chroot); err != nil {
			return unusable("the chroot of the ZooKeeper address %q: %v", o.Servers, err)
		}
	}
	var err error
	if ns.servers, err = zookeeper.ParseServers(hosts); err != nil {
		return unusable("%q is not a ZooKeeper address: it must be h1:2181,h2:2181 with an optional /chroot",
			o.Servers)
	}
	if err := checkPath("/" + o.Namespace); err != nil {
		return unusable("the namespace %q: %v", o.Namespace, err)
	}
	ns.root = ns.chroot + "/" + o.Namespace
	if ns.root == "/zookeeper" || strings.HasPrefix(ns.root, "/zookeeper/") {
		return unusable("/zookeeper is ZooKeeper's own: choose another namespace")
	}
	if o.Digest != "" {
		if user, _, ok := strings.Cut(o.Digest, ":"); !ok || user == "" {
			return unusable("the ZooKeeper digest must be user:password")
		}
		ns.acl = zk.AuthACL(zk.PermAll)
	}
	if ns.SessionTimeout = cmp.Or(ns.SessionTimeout, 10*time.Second); ns.SessionTimeout < 0 {
		return unusable("the session timeout %v must not be negative", ns.SessionTimeout)
	}
	if ns.Logger == nil {
		ns.Logger = slog.New(slog.DiscardHandler)
	}
	if ns.Dial == nil {
		ns.Dial = (&net.Dialer{}).DialContext
	}
	return ns, nil
}

// full returns the ZooKeeper path of a path below the namespace.
func (ns *namespace) full(path string) string { return ns.root + path }

// user returns a text about the user of the digest, for messages. It does not contain the password.
func (ns *namespace) user() string {
	if user, _, ok := strings.Cut(ns.Digest, ":"); ok {
		return "the user " + user + " of the ZooKeeper digest"
	}
	return "anonymous clients (no ZooKeeper digest is set)"
}

// checkPath is registry.CheckPath, but also returns an error for characters that ZooKeeper does not allow.
func checkPath(path string) error {
	if err := registry.CheckPath(path); err != nil {
		return err
	}
	for _, r := range path {
		if r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0 {
			return fmt.Errorf("%w: %q has the character %q, which ZooKeeper does not allow in paths",
				registry.ErrBadPath, path, r)
		}
	}
	return nil
}
