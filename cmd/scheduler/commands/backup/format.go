package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/release"
	"github.com/elasticjob-go/elasticjob/registry/zookeeper"
)

// backupHeader is the first line of a backup. The nodes follow, one on each line, and then a backupTrailer.
type backupHeader struct {
	// Format is the version of the backup's format.
	Format  int    `json:"elasticjobBackup"`
	Release string `json:"release"`
	// Namespace is the namespace in ZooKeeper; empty for a registry in SQL.
	Namespace string    `json:"namespace"`
	Taken     time.Time `json:"taken"`
	// Digest is true if the registry restricted who could read the nodes: ZooKeeper by a digest, or a database by its
	// accounts.
	Digest bool `json:"digest"`
	// Nodes is the number of nodes that follow, so that a truncated backup is detected.
	Nodes int `json:"nodes"`
}

// backupTrailer is the last line of a backup.
type backupTrailer struct {
	// SHA256 is the checksum of all lines before this one, in hexadecimal.
	SHA256 string `json:"sha256"`
}

const backupFormat = 1

func newHeader() backupHeader {
	return backupHeader{Format: backupFormat, Release: release.Version(), Taken: time.Now().UTC()}
}

// location describes where a backup was taken.
func (h backupHeader) location() string {
	if h.Namespace == "" {
		return "a database"
	}
	return "the namespace " + h.Namespace
}

// encodeBackup returns the lines of a backup. It sets the number of nodes in the header.
func encodeBackup(header backupHeader, nodes []zookeeper.Node) ([]byte, error) {
	header.Nodes = len(nodes)
	var backup bytes.Buffer
	lines := json.NewEncoder(&backup)
	err := lines.Encode(header)
	for i := 0; i < len(nodes) && err == nil; i++ {
		err = lines.Encode(nodes[i])
	}
	err = errors.Join(err, lines.Encode(backupTrailer{checksum(backup.Bytes())}))
	return backup.Bytes(), err
}

func checksum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// readBackup reads and verifies a whole backup, so that no part of a damaged one is restored.
func readBackup(in io.Reader) (header backupHeader, nodes []zookeeper.Node, err error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return header, nil, fmt.Errorf("read the backup: %w", err)
	}
	lines := json.NewDecoder(bytes.NewReader(text))
	if err := lines.Decode(&header); err != nil || header.Format == 0 {
		return header, nil, errors.Join(
			errors.New("standard input is not a backup: give a file that scheduler backup has written"), err)
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
	checked := text[:min(int(lines.InputOffset())+1, len(text))] // including the end of the line
	var trailer backupTrailer
	if err := lines.Decode(&trailer); err != nil || trailer.SHA256 == "" {
		return header, nil, errors.Join(
			fmt.Errorf("the backup was cut off: its last line, with the checksum of %d nodes, is missing", len(nodes)),
			err)
	}
	if trailer.SHA256 != checksum(checked) || lines.More() {
		return header, nil, errors.New(
			"the backup is damaged: it does not match its checksum; take another copy of it, or an earlier backup")
	}
	return header, nodes, nil
}
