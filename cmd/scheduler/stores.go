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
		if err := checkNewRegistry(c.dataDir); err != nil {
			return nil, err
		}
		return embedded.Open(registryPath(c.dataDir), log)
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
		Servers: c.zk, Namespace: strings.Trim(c.zkNamespace, "/"), SessionTimeout: sessionOf(c.zkTimeout),
		Digest: string(c.zkDigest), Logger: log,
	})
}

func registryPath(dataDir string) string { return filepath.Join(dataDir, "registry.db") }

// checkNewRegistry refuses to begin with nothing where there was a registry: beside the state of this machine's
// cluster, and while executors run whose sandboxes are, or were, in this data folder. What runs would be taken for
// nobody's, and who has no users is everybody's.
func checkNewRegistry(dataDir string) error {
	dataDir, err := filepath.Abs(dataDir)
	if err != nil {
		return err
	}
	file, state := registryPath(dataDir), filepath.Join(dataDir, "cluster")
	how := "is empty"
	switch info, err := os.Stat(file); {
	case errors.Is(err, fs.ErrNotExist):
		how = "is not there"
	case err != nil || info.Size() > 0:
		return nil
	}
	if entries, err := os.ReadDir(state); err == nil && len(entries) > 0 {
		return fmt.Errorf("the registry %s %s, though the state of its cluster is, in %s: bring back a copy of it; "+
			"to begin with nothing, without any app or job, move the whole folder %s away", file, how, state, dataDir)
	}
	if pids := namedBy(filepath.Join(state, "work")); len(pids) > 0 {
		return fmt.Errorf("the registry %s %s, though executors of a server with this data folder run on "+
			"(process %s): the folder, or one above it, was moved: move it back; "+
			"to begin with nothing, without any app or job, end them first: kill %s",
			file, how, strings.Join(pids, ", "), strings.Join(pids, " "))
	}
	return nil
}

// namedBy are the processes that name something below a folder as an argument, such as the supervisors of executors,
// of users whose processes this one can see.
func namedBy(folder string) (pids []string) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline") // it fails for a bad pattern only
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(line), "\x00"+folder+"/") {
			pids = append(pids, filepath.Base(filepath.Dir(path)))
		}
	}
	return pids
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
