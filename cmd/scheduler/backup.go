package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// backupHeader is the first line of a backup; the nodes follow, each on a line of its own, and then a backupTrailer.
type backupHeader struct {
	// Format is the version of this form of a backup.
	Format    int       `json:"elasticjobBackup"`
	Release   string    `json:"release"`
	Namespace string    `json:"namespace"`
	Taken     time.Time `json:"taken"`
	// Digest says that the nodes were some user's only.
	Digest bool `json:"digest"`
	// Nodes is how many lines follow, so that a backup that was cut off is known.
	Nodes int `json:"nodes"`
}

// backupTrailer is the last line.
type backupTrailer struct {
	// SHA256 is that of all lines before.
	SHA256 string `json:"sha256"`
}

const backupFormat = 1

// backupPatience is how long a moment between two commits is looked for.
const backupPatience = time.Minute

func backupCommand() *cobra.Command {
	var output string
	cmd := registryCommand("backup", "Write all that is in ZooKeeper to a file, while servers run",
		`backup writes configuration and state of the namespace, as they are between two commits of the leader, to a file for its owner only:

  scheduler backup --zk h1:2181,h2:2181 --output elasticjob.backup

An older file of that name stays as it is until the backup is whole. Without --output it goes to standard output.

It holds all that the registry holds: the keys that logins are signed with, hashes of passwords, and secrets that are written into
documents of apps and jobs. Keep it where only its owner can read it. scheduler restore reads it.
Without --zk the registry is the file registry.db of the data folder: stop the server and copy that.`,
		func(cmd *cobra.Command, o zookeeper.Options) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), backupPatience)
			defer cancel()
			nodes, err := zookeeper.Backup(ctx, o)
			switch {
			case errors.Is(err, zookeeper.ErrBusy):
				return fmt.Errorf("%w within %v: try again when less runs, or stop the servers for the backup; what runs on the cluster goes on", err, backupPatience)
			case errors.Is(err, zookeeper.ErrUnfinished):
				return fmt.Errorf("%w: start a server once and let it lead, or see in its log why it can't finish that, and try again", err)
			case err != nil:
				return err
			}
			backup, err := backupOf(backupHeader{Format: backupFormat, Release: release.Version(), Namespace: o.Namespace, Taken: time.Now().UTC(), Digest: o.Digest != ""}, nodes)
			switch {
			case err != nil:
			case output != "":
				err = writeWhole(output, backup, 0o600)
			default:
				_, err = cmd.OutOrStdout().Write(backup)
			}
			if err != nil {
				return fmt.Errorf("write the backup: %w", err)
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%d nodes written; there are keys and secrets among them: keep the backup where only its owner can read it\n", len(nodes))
			return nil
		})
	cmd.Flags().StringVarP(&output, "output", "o", "", "file that the backup becomes once it is whole")
	return cmd
}

func restoreCommand() *cobra.Command {
	var open bool
	cmd := registryCommand("restore", "Read a backup from standard input into an empty namespace of ZooKeeper",
		`restore makes what scheduler backup has written in a namespace that is empty or not there:

  scheduler restore --zk h1:2181,h2:2181 <elasticjob.backup

Stop all servers before, and start them when it has ended. What has happened since the backup is not in it: runs that were under
way then and have ended since may run again. With --zk-digest-file all nodes are made for that user only, as they have to be if they were before.`,
		func(cmd *cobra.Command, o zookeeper.Options) error {
			header, nodes, err := readBackup(cmd.InOrStdin())
			if err != nil {
				return err
			}
			if header.Digest && o.Digest == "" && !open {
				return errors.New("the backup is of nodes that one user could read, and without --zk-digest-file everybody who reaches ZooKeeper could read its keys: " +
					"give the file that the servers have, or --open if that is what you want")
			}
			if err := zookeeper.Restore(cmd.Context(), o, nodes, core.NotRestored()...); err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%d nodes restored, as release %s had them in the namespace %s at %s: start the servers\n",
				len(nodes), header.Release, header.Namespace, moment(header.Taken))
			return nil
		})
	cmd.Flags().BoolVar(&open, "open", false, "without --zk-digest-file, make open to everybody who reaches ZooKeeper what was one user's")
	return cmd
}

// backupOf is a backup as it is written.
func backupOf(header backupHeader, nodes []zookeeper.Node) ([]byte, error) {
	header.Nodes = len(nodes)
	var backup bytes.Buffer
	lines := json.NewEncoder(&backup)
	err := lines.Encode(header)
	for i := 0; i < len(nodes) && err == nil; i++ {
		err = lines.Encode(nodes[i])
	}
	err = errors.Join(err, lines.Encode(backupTrailer{sumOf(backup.Bytes())}))
	return backup.Bytes(), err
}

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// readBackup reads a backup whole before anything is made of it.
func readBackup(in io.Reader) (header backupHeader, nodes []zookeeper.Node, err error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return header, nil, fmt.Errorf("read the backup: %w", err)
	}
	lines := json.NewDecoder(bytes.NewReader(text))
	if err := lines.Decode(&header); err != nil || header.Format == 0 {
		return header, nil, errors.Join(errors.New("standard input has no backup: give what scheduler backup has written"), err)
	}
	if header.Format != backupFormat {
		return header, nil, fmt.Errorf("the backup has format %d, written by release %s; this release, %s, knows format %d: use release %s or a later one",
			header.Format, header.Release, release.Version(), backupFormat, header.Release)
	}
	for len(nodes) < header.Nodes {
		var n zookeeper.Node
		if err := lines.Decode(&n); err != nil {
			return header, nil, fmt.Errorf("the backup is damaged or cut off after %d of %d nodes: %w", len(nodes), header.Nodes, err)
		}
		nodes = append(nodes, n)
	}
	summed := text[:min(int(lines.InputOffset())+1, len(text))] // with the end of the line
	var trailer backupTrailer
	if err := lines.Decode(&trailer); err != nil || trailer.SHA256 == "" {
		return header, nil, errors.Join(fmt.Errorf("the backup was cut off: its last line, with the checksum of %d nodes, is missing", len(nodes)), err)
	}
	if trailer.SHA256 != sumOf(summed) || lines.More() {
		return header, nil, errors.New("the backup is damaged: it is not what its checksum is of; take another copy of it, or an earlier backup")
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
