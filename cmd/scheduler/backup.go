package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/internal/release"
	"github.com/elasticjob-go/elasticjob/registry/zookeeper"
)

// backupHeader is the first line of a backup; the nodes follow, each on a line of its own, and then a backupTrailer.
type backupHeader struct {
	// Format is the version of this form of a backup.
	Format  int    `json:"elasticjobBackup"`
	Release string `json:"release"`
	// Namespace is that of ZooKeeper, or empty for a registry in SQL.
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

func backupCommand() *cobra.Command {
	var output string
	cmd := registryCommand("backup", "Write all that the registry holds to a file, while servers run",
		`backup writes configuration and state, as they are between two commits of the leader, to a file for its owner only:

  scheduler backup --zk h1:2181,h2:2181 --output elasticjob.backup
  scheduler backup --registry-file FILE --output elasticjob.backup

An older file of that name stays as it is until the backup is whole. Without --output it goes to standard output.

It holds all that the registry holds: the keys that logins are signed with, hashes of passwords, and secrets that are written into
documents of apps and jobs. Keep it where only its owner can read it. scheduler restore reads it, into ZooKeeper or into a database, wherever it is from.
Without --zk and --registry the registry is the file registry.db of the data folder: stop the server and copy that.`,
		func(cmd *cobra.Command, r electedRegistry) error {
			header, nodes, err := r.backup(cmd.Context())
			if err != nil {
				return err
			}
			backup, err := backupOf(header, nodes)
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
			fmt.Fprintf(cmd.ErrOrStderr(),
				"%d nodes written; there are keys and secrets among them: keep the backup where only its owner can read it\n", len(nodes))
			return nil
		})
	cmd.Flags().StringVarP(&output, "output", "o", "", "file that the backup becomes once it is whole")
	return cmd
}

func restoreCommand() *cobra.Command {
	var open bool
	cmd := registryCommand("restore", "Read a backup from standard input into an empty namespace of ZooKeeper, or an empty database",
		`restore makes what scheduler backup has written in a namespace that is empty or not there, or in a database that has no registry:

  scheduler restore --zk h1:2181,h2:2181 <elasticjob.backup
  scheduler restore --registry-file FILE <elasticjob.backup

Stop all servers before, and start them when it has ended. What has happened since the backup is not in it: runs that were under
way then and have ended since may run again. With --zk-digest-file all nodes are made for that user only, as they have to be if they were before.`,
		func(cmd *cobra.Command, r electedRegistry) error {
			header, nodes, err := readBackup(cmd.InOrStdin())
			if err != nil {
				return err
			}
			if err := r.restore(cmd.Context(), header, nodes, open); err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(),
				"%d nodes restored, as release %s had them in %s at %s: start the servers\n",
				len(nodes), header.Release, header.place(), moment(header.Taken))
			return nil
		})
	cmd.Flags().BoolVar(&open, "open", false,
		"without --zk-digest-file, make open to everybody who reaches ZooKeeper what was one user's")
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
			return header, nil, fmt.Errorf("the backup is damaged or cut off after %d of %d nodes: %w", len(nodes),
				header.Nodes, err)
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

// registryCommand makes a command about the registry, in ZooKeeper or in a database, that the server's own flags name.
func registryCommand(use, short, long string, run func(*cobra.Command, electedRegistry) error) *cobra.Command {
	var c config
	cmd := &cobra.Command{Use: use, Short: short, Long: long, SilenceErrors: true, SilenceUsage: true}
	refuseBadFlags(cmd)
	c.flags(cmd.Flags())
	shown := []string{"zk", "zk-namespace", "zk-digest-file", "registry", "registry-file", "config"}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = !slices.Contains(shown, f.Name) })
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		return newSettings(&c, cmd.Flags()).completeRegistry(environment(os.Environ()))
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
		switch {
		case c.registry.db != "":
			o := c.registry.options()
			o.Logger = log
			return run(cmd, inSQL{o})
		case c.zk != "":
			return run(cmd, inZooKeeper{zookeeper.Options{
				Servers: c.zk, Namespace: strings.Trim(c.zkNamespace, "/"), SessionTimeout: sessionOf(c.zkTimeout),
				Digest: string(c.zkDigest), Logger: log,
			}})
		}
		return errors.New("--zk or --registry is missing: without them the registry is the file registry.db of the data folder, which is copied while the server is stopped")
	}
	return cmd
}
