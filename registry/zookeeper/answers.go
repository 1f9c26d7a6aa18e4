package zookeeper

import (
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/internal/zookeeper"
	"github.com/elasticjob-go/elasticjob/registry"
)

// explain returns an error of ZooKeeper together with the failed action and with what to do next. If ZooKeeper denies
// access, the error also wraps registry.ErrUnusable, because retries would not help. path is a ZooKeeper path.
func (ns *namespace) explain(doing, path string, err error) error {
	explained := ns.explainNode(doing, path, err)
	denied := errors.Is(err, zk.ErrNoAuth) || errors.Is(err, zk.ErrAuthFailed) || errors.Is(err, zk.ErrInvalidACL)
	if denied || zookeeper.Code(err) == zookeeper.CodeWantsSASL {
		return fmt.Errorf("%w: %w (check --zk-digest-file)", registry.ErrUnusable, explained)
	}
	return explained
}

// explainNode is explain without registry.ErrUnusable, for an error that may concern only this node.
func (ns *namespace) explainNode(doing, path string, err error) error {
	action := doing + " " + path
	code := zookeeper.Code(err)
	switch {
	case errors.Is(err, zk.ErrNoAuth):
		return fmt.Errorf("%s: %s: %w", action, ns.noPermission(path), err)
	case errors.Is(err, zk.ErrAuthFailed), errors.Is(err, zk.ErrInvalidACL):
		return fmt.Errorf("%s: ZooKeeper does not accept %s: %w", action, ns.user(), err)
	case code == zookeeper.CodeWantsSASL:
		return fmt.Errorf("%s: ZooKeeper requires SASL, which is not supported (%w): remove sessionRequireClientSASLAuth from its servers' configuration, or add digest to enforce.auth.schemes there, and set --zk-digest-file",
			action, err)
	case code == zookeeper.CodeQuotaExceeded:
		return fmt.Errorf("%s: a quota in ZooKeeper is exceeded (%w): see zkCli.sh listquota %s, for this node and those above and below it, and raise it with setquota",
			action, err, ns.root)
	case code != 0:
		return fmt.Errorf("%s: ZooKeeper refused the request (%w; the number is a KeeperException.Code, and the servers' logs may say why)",
			action, err)
	default:
		return fmt.Errorf("%s: %w", action, err)
	}
}

// noPermission returns a text that says which user lacks the permission for a ZooKeeper path, and how to grant it.
func (ns *namespace) noPermission(path string) string {
	return fmt.Sprintf("ZooKeeper denies permission to %s: see zkCli.sh getAcl %s, and change it with setAcl",
		ns.user(), path)
}
