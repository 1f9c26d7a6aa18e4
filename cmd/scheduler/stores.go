package main

import (
	"log/slog"
	"path/filepath"
	"strings"

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
		Servers: c.zk, Namespace: strings.Trim(c.zkNamespace, "/"), SessionTimeout: c.zkTimeout, Digest: string(c.zkDigest), Logger: log,
	})
}
