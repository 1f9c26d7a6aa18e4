package main

import (
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/embedded"
	"github.com/elasticjob-go/elasticjob/registry/zookeeper"
)

// openRegistry opens where configuration and state are kept.
func openRegistry(c config, log *slog.Logger) (registry.Registry, error) {
	if c.zk == "" {
		return embedded.Open(filepath.Join(c.dataDir, "registry.db"), log)
	}
	return zookeeper.Open(zookeeper.Options{
		Servers: c.zk, Namespace: strings.Trim(c.zkNamespace, "/"), SessionTimeout: sessionOf(c.zkTimeout), Digest: string(c.zkDigest), Logger: log,
	})
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
