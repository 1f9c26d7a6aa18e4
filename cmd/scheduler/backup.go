package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/registry/zookeeper"
	"github.com/elasticjob-go/elasticjob/release"
)

// backupHeader is the first line of a backup; the nodes follow, each on a line of its own.
type backupHeader struct {
	// Format is the version of this form of a backup.
	Format    int       `json:"elasticjobBackup"`
	Release   string    `json:"release"`
	Namespace string    `json:"namespace"`
	Taken     time.Time `json:"taken"`
	// Nodes is how many lines follow, so that a backup that was cut off is known.
	Nodes int `json:"nodes"`
}

const backupFormat = 1

// backupPatience is how long a moment between two commits is looked for.
const backupPatience = time.Minute

func backupCommand() *cobra.Command {
	return registryCommand("backup", "Write all that is in ZooKeeper to standard output, while servers run",
		`backup writes configuration and state of the namespace, as they are between two commits of the leader, to standard output:

  (umask 077; scheduler backup --zk h1:2181,h2:2181 >elasticjob.backup)

It holds all that the registry holds: the keys that logins are signed with, hashes of passwords, and secrets that are written into
documents of apps and jobs. Keep it where only its owner can read it. scheduler restore reads it.
Without --zk the registry is the file registry.db of the data folder: stop the server and copy that.`,
		func(cmd *cobra.Command, o zookeeper.Options) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), backupPatience)
			defer cancel()
			nodes, err := zookeeper.Backup(ctx, o)
			if errors.Is(err, zookeeper.ErrBusy) {
				return fmt.Errorf("%w: try again when less runs, or stop the servers for the backup; what runs on the cluster goes on", err)
			}
			if err != nil {
				return err
			}
			out := bufio.NewWriter(cmd.OutOrStdout())
			lines := json.NewEncoder(out)
			err = lines.Encode(backupHeader{backupFormat, release.Version(), o.Namespace, time.Now().UTC(), len(nodes)})
			for i := 0; i < len(nodes) && err == nil; i++ {
				err = lines.Encode(nodes[i])
			}
			if err = errors.Join(err, out.Flush()); err != nil {
				return fmt.Errorf("write the backup: %w", err)
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%d nodes written; there are keys and secrets among them: keep the backup where only its owner can read it\n", len(nodes))
			return nil
		})
}

func restoreCommand() *cobra.Command {
	return registryCommand("restore", "Read a backup from standard input into an empty namespace of ZooKeeper",
		`restore makes what scheduler backup has written in a namespace that is empty or not there:

  scheduler restore --zk h1:2181,h2:2181 <elasticjob.backup

Stop all servers before, and start them when it has ended. What has happened since the backup is not in it: runs that were under
way then and have ended since may run again. With --zk-digest-file all nodes are made for that user only.`,
		func(cmd *cobra.Command, o zookeeper.Options) error {
			header, nodes, err := readBackup(cmd.InOrStdin())
			if err != nil {
				return err
			}
			if err := zookeeper.Restore(cmd.Context(), o, nodes); err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%d nodes restored, as release %s had them in the namespace %s at %s: start the servers\n",
				len(nodes), header.Release, header.Namespace, moment(header.Taken))
			return nil
		})
}

// readBackup reads a backup whole before anything is made of it.
func readBackup(in io.Reader) (header backupHeader, nodes []zookeeper.Node, err error) {
	lines := json.NewDecoder(bufio.NewReader(in))
	if err := lines.Decode(&header); err != nil || header.Format == 0 {
		return header, nil, errors.Join(errors.New("standard input has no backup: give what scheduler backup has written"), err)
	}
	if header.Format != backupFormat {
		return header, nil, fmt.Errorf("the backup has format %d, written by release %s; this release, %s, knows format %d: use release %s or a later one",
			header.Format, header.Release, release.Version(), backupFormat, header.Release)
	}
	for {
		var n zookeeper.Node
		if err := lines.Decode(&n); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return header, nil, fmt.Errorf("the backup is damaged after %d of %d nodes: %w", len(nodes), header.Nodes, err)
		}
		nodes = append(nodes, n)
	}
	if len(nodes) != header.Nodes {
		return header, nil, fmt.Errorf("the backup was cut off: it has %d of %d nodes", len(nodes), header.Nodes)
	}
	return header, nodes, nil
}

// registryCommand makes a command about the namespace in ZooKeeper that the server's own flags name.
func registryCommand(use, short, long string, run func(*cobra.Command, zookeeper.Options) error) *cobra.Command {
	var c config
	cmd := &cobra.Command{Use: use, Short: short, Long: long, SilenceErrors: true, SilenceUsage: true}
	refuseBadFlags(cmd)
	c.flags(cmd.Flags())
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		f.Hidden = f.Name != "zk" && f.Name != "zk-namespace" && f.Name != "zk-digest-file" && f.Name != "config"
	})
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		return newSettings(&c, cmd.Flags()).completeRegistry(environment(os.Environ()))
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if c.zk == "" {
			return errors.New("--zk is missing: without ZooKeeper the registry is the file registry.db of the data folder, which is copied while the server is stopped")
		}
		return run(cmd, zookeeper.Options{
			Servers: c.zk, Namespace: strings.Trim(c.zkNamespace, "/"), SessionTimeout: sessionOf(c.zkTimeout), Digest: string(c.zkDigest),
			Logger: slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn})),
		})
	}
	return cmd
}
