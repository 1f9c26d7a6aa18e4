package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/registry/database"
	"github.com/elasticjob-go/elasticjob/registry/zookeeper"
	"github.com/elasticjob-go/elasticjob/scheduler/core/recording"
)

// electedRegistry is a registry that several servers share. The backups of ZooKeeper and of a database have the same
// nodes, so that a backup of the one can be restored into the other.
type electedRegistry interface {
	backup(ctx context.Context) (backupHeader, []zookeeper.Node, error)
	// restore creates the nodes of a backup. If open is true, nodes that were protected in the backed-up registry may
	// become readable for everyone who reaches this one.
	restore(ctx context.Context, header backupHeader, nodes []zookeeper.Node, open bool) error
	// accept declares the present content of the registry as valid, although servers have seen later commits. It
	// returns the last commit of that content in words.
	accept(ctx context.Context) (string, error)
}

// inZooKeeper is a registry in a namespace of ZooKeeper.
type inZooKeeper struct{ zookeeper.Options }

// backupTimeout is how long a backup tries to read all nodes without a commit in between.
const backupTimeout = time.Minute

func (r inZooKeeper) backup(ctx context.Context) (backupHeader, []zookeeper.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, backupTimeout)
	defer cancel()
	header := newHeader()
	header.Namespace, header.Digest = r.Namespace, r.Digest != ""
	nodes, err := zookeeper.Backup(ctx, r.Options)
	switch {
	case errors.Is(err, zookeeper.ErrBusy):
		err = fmt.Errorf("%w within %v: try again when fewer tasks are running, or stop the servers for the backup; tasks on the cluster keep running", err, backupTimeout)
	case errors.Is(err, zookeeper.ErrUnfinished):
		err = fmt.Errorf("%w: start a server once and let it lead, or find in its log why it cannot finish, and try again", err)
	}
	return header, nodes, err
}

func (r inZooKeeper) restore(ctx context.Context, header backupHeader, nodes []zookeeper.Node, open bool) error {
	if header.Digest && r.Digest == "" && !open {
		return errors.New("only one user could read the nodes of the backup, and without --zk-digest-file everyone who reaches ZooKeeper could read its keys: give the --zk-digest-file of the servers, or --open to allow that")
	}
	return zookeeper.Restore(ctx, r.Options, nodes, recording.NotRestored()...)
}

func (r inZooKeeper) accept(context.Context) (string, error) {
	return "", errors.New("with --zk there is nothing to accept: servers follow a ZooKeeper that went back by themselves, and log it")
}

// inSQL is a registry in a database.
type inSQL struct{ database.Options }

func (r inSQL) backup(ctx context.Context) (backupHeader, []zookeeper.Node, error) {
	c, err := database.Backup(ctx, r.Options)
	if err != nil {
		return backupHeader{}, nil, err
	}
	header := newHeader()
	header.Digest = true // the database itself restricts who can read it
	return header, zookeeper.Nodes(c.Term, c.Entries, c.Shared), nil
}

func (r inSQL) restore(ctx context.Context, _ backupHeader, nodes []zookeeper.Node, _ bool) error {
	var c database.Copy
	var err error
	if c.Term, c.Entries, c.Shared, err = zookeeper.Entries(nodes, recording.NotRestored()...); err != nil {
		return fmt.Errorf("the backup is damaged: %w", err)
	}
	return database.Restore(ctx, r.Options, c)
}

func (r inSQL) accept(ctx context.Context) (string, error) {
	change, term, err := database.Accept(ctx, r.Options)
	return fmt.Sprintf("change %d of term %d", change, term), err
}
