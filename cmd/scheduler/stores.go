package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/database"
	"github.com/elasticjob-go/elasticjob/registry/embedded"
	"github.com/elasticjob-go/elasticjob/registry/zookeeper"
)

// store is where configuration, state, users and tokens are kept.
type store interface {
	registry.Registry
	registry.Shared
}

// openRegistry opens the store.
func openRegistry(c config, log *slog.Logger) (store, error) {
	if !c.elected() {
		file := filepath.Join(c.dataDir, "registry.db")
		if err := checkCluster(file, filepath.Join(c.dataDir, "cluster", "agent", "agent.json")); err != nil {
			return nil, err
		}
		return embedded.Open(file, log)
	}
	if c.registry.db != "" {
		o := c.registry.options()
		o.Logger = log
		if c.remembers {
			o.Seen = seenFile(c.dataDir)
		}
		return database.Open(o)
	}
	if c.zkDigest == "" {
		log.Warn("ZooKeeper's nodes are open: whoever reaches it, a job for instance, can read the keys that logins are signed with, and be anybody. "+
			"Give all servers --zk-digest-file, or let only them reach ZooKeeper", "zk", c.zk)
	}
	return zookeeper.Open(zookeeper.Options{
		Servers: c.zk, Namespace: strings.Trim(c.zkNamespace, "/"), SessionTimeout: sessionOf(c.zkTimeout), Digest: string(c.zkDigest), Logger: log,
	})
}

// checkCluster refuses to begin with nothing beside the state of this machine's cluster: the registry was there before that, and
// what runs there would be taken for nobody's.
func checkCluster(file, agent string) error {
	if _, err := os.Stat(agent); err != nil {
		return nil
	}
	how := "is empty"
	switch info, err := os.Stat(file); {
	case errors.Is(err, fs.ErrNotExist):
		how = "is not there"
	case err != nil || info.Size() > 0:
		return nil
	}
	return fmt.Errorf("the registry %s %s, though the state of its cluster is, in %s: bring back a copy of it; to begin with nothing, without any app or job, move the whole folder %s away",
		file, how, filepath.Dir(filepath.Dir(agent)), filepath.Dir(file))
}

// ZooKeeper ends a session at its next tick after the timeout; ticks are 2 s apart by default, and no
// session is shorter than two of them.
const (
	usualTick       = 2 * time.Second
	shortestSession = 2 * usualTick
)

// sessionOf is the session that ZooKeeper is asked for, so that another server leads within the given time and a
// second more: less than that by what it may be rounded up.
func sessionOf(given time.Duration) time.Duration {
	return max(given-usualTick*3/4, min(given, shortestSession))
}
