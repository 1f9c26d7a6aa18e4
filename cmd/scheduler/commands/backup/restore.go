package backup

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/elasticjob-go/elasticjob/registry/zookeeper"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

func restoreCommand() *cobra.Command {
	var open bool
	var nextToken int64
	cmd := registryCommand("restore",
		"Read a backup from standard input into an empty namespace of ZooKeeper, or an empty database",
		`restore writes a backup of scheduler backup into an empty or missing namespace, or into a database without a registry:

  scheduler restore --zk h1:2181,h2:2181 <elasticjob.backup
  scheduler restore --registry-file FILE <elasticjob.backup

Stop all servers before, and start them when it has ended. The backup lacks everything that happened after it was
taken: runs that were in progress then and have ended since may run again. With --zk-digest-file all nodes are created
for that user only. This is required if only one user could read the nodes of the backup.`,
		func(cmd *cobra.Command, r electedRegistry) error {
			header, nodes, err := readBackup(cmd.InOrStdin())
			if err != nil {
				return err
			}
			if err := raiseToken(nodes, time.Now(), nextToken); err != nil {
				return err
			}
			if err := r.restore(cmd.Context(), header, nodes, open); err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(),
				"%d nodes restored from a backup of release %s (%s, %s): start the servers\n",
				len(nodes), header.Release, header.location(), header.Taken.UTC().Format(time.RFC3339))
			return nil
		})
	cmd.Flags().BoolVar(&open, "open", false,
		"without --zk-digest-file, let everyone who reaches ZooKeeper read nodes that only one user could read")
	cmd.Flags().Int64Var(&nextToken, "next-token", 0,
		"first fencing token after the restore; required if the clock is behind the backup's tokens")
	return cmd
}

// raiseToken ensures that the fencing tokens of restored servers are greater than all tokens that were handed out after
// the backup was made (rule K6). Servers begin with the time as a token, and a correct clock is ahead of all tokens. If
// the clock is behind the tokens in the backup, it is wrong now or was wrong then. In that case the user must give the
// first token as next. next is 0 if the user gave none.
func raiseToken(nodes []zookeeper.Node, now time.Time, next int64) error {
	i := slices.IndexFunc(nodes, func(n zookeeper.Node) bool { return n.Path == store.PathFencing })
	switch {
	case i < 0 && next != 0:
		return errors.New("the backup has no fencing tokens, so servers begin at the clock: leave out --next-token")
	case i < 0:
		return nil
	}
	limit, err := strconv.ParseInt(string(nodes[i].Value), 10, 64)
	switch {
	case err != nil:
		return fmt.Errorf("read the fencing tokens of the backup: %w", err)
	case next > limit:
		nodes[i].Value = strconv.AppendInt(nil, next-1, 10)
	case next != 0:
		return fmt.Errorf("--next-token %d: the backup has tokens up to %d; give a greater number", next, limit)
	case limit-now.UnixMilli() > time.Second.Milliseconds():
		return fmt.Errorf("the fencing tokens of the backup go up to %d, and this machine's clock (%s) is behind that: "+
			"correct the clock, or give --next-token with a number that is greater than every token that jobs have got since the backup",
			limit, now.UTC().Format(time.RFC3339))
	}
	return nil
}
