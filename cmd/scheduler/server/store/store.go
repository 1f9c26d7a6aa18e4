// Package store opens the registry of a server: a file, a database or ZooKeeper.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/database"
	"github.com/elasticjob-go/elasticjob/registry/embedded"
	"github.com/elasticjob-go/elasticjob/registry/zookeeper"
)

// Store is a registry, with the configuration, state, users and tokens.
type Store interface {
	registry.Registry
	registry.Shared
}

// Open opens the registry in the settings. If remember is set, as for a server, the position of a registry in a
// database is recorded in the data folder. Commands do not set it.
func Open(c *settings.Config, remember bool, log *slog.Logger) (Store, error) {
	if !c.Elected() {
		if err := CheckNew(c.DataDir); err != nil {
			return nil, err
		}
		return embedded.Open(path(c.DataDir), log)
	}
	if c.Registry.DSN != "" {
		o := c.Registry.Options()
		o.Logger = log
		if remember {
			o.Seen = filepath.Join(c.DataDir, "registry-seen.json")
		}
		return database.Open(o)
	}
	if c.ZooKeeper.Digest == "" {
		log.Warn("ZooKeeper nodes open: every client that reaches ZooKeeper, such as a job, can read the keys that logins are signed with and pose as any user. "+
			"Give all servers --zk-digest-file, or let only them reach ZooKeeper", "zk", c.ZooKeeper.Servers)
	}
	o := c.ZooKeeper.Options()
	o.Logger = log
	return zookeeper.Open(o)
}

func path(dataDir string) string { return filepath.Join(dataDir, "registry.db") }

// isState reports whether an entry of the cluster's folder shows that the cluster has run. The file of the ports does
// not, because users may create it before the first start.
func isState(entry fs.DirEntry) bool { return entry.Name() != "ports.json" }

// CheckNew returns an error if Open would create an empty registry in a data folder that had one before: the folder
// has the state of this machine's cluster, or executors are running whose sandboxes are in it. With an empty registry,
// the running tasks would be unknown, and every caller would have all rights because there are no users.
func CheckNew(dataDir string) error {
	dataDir, err := filepath.Abs(dataDir)
	if err != nil {
		return err
	}
	file, state := path(dataDir), filepath.Join(dataDir, "cluster")
	problem := "is empty"
	switch info, err := os.Stat(file); {
	case errors.Is(err, fs.ErrNotExist):
		problem = "does not exist"
	case err != nil || info.Size() > 0:
		return nil
	}
	if entries, err := os.ReadDir(state); err == nil && slices.ContainsFunc(entries, isState) {
		return fmt.Errorf("the registry %s %s, but the state of its cluster is in %s: restore a copy of the registry; to begin with nothing, without any app or job, move the whole folder %s away",
			file, problem, state, dataDir)
	}
	if pids := processesIn(filepath.Join(state, "work")); len(pids) > 0 {
		return fmt.Errorf("the registry %s %s, but executors of a server with this data folder are running (process %s): the folder, or one above it, was moved: move it back; "+
			"to begin with nothing, without any app or job, end them first: kill %s",
			file, problem, strings.Join(pids, ", "), strings.Join(pids, " "))
	}
	return nil
}

// processesIn returns the processes that have a path below the folder as an argument, such as the supervisors of
// executors. It finds only processes whose command lines this user can read.
func processesIn(folder string) (pids []string) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline") // Glob fails only for a malformed pattern
	for _, name := range lines {
		line, err := os.ReadFile(name)
		if err == nil && strings.Contains(string(line), "\x00"+folder+"/") {
			pids = append(pids, filepath.Base(filepath.Dir(name)))
		}
	}
	return pids
}
