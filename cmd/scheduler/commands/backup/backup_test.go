package backup

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/registry/zookeeper"
)

// TestReadBackup: a backup is read as it was written, and a backup with any byte changed or missing is rejected.
func TestReadBackup(t *testing.T) {
	t.Parallel()
	wrote := backupHeader{Format: backupFormat, Release: "v1.2.3", Namespace: "here",
		Taken: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC), Digest: true, Nodes: 2}
	nodes := []zookeeper.Node{{Path: "/config/app/one", Value: []byte("a document")},
		{Path: "/registry/fence", Value: []byte("3 0 ")}}
	backup, err := encodeBackup(wrote, nodes)
	if err != nil {
		t.Fatal(err)
	}
	header, read, err := readBackup(bytes.NewReader(backup))
	if diff := cmp.Diff(nodes, read) + cmp.Diff(wrote, header); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for i := range len(backup) - 1 { // the line end of the last line is optional
		changed := bytes.Clone(backup)
		changed[i] ^= 1
		if _, _, err := readBackup(bytes.NewReader(changed)); err == nil {
			t.Errorf("a backup with byte %d changed is accepted: %s", i, changed)
		}
		if _, _, err := readBackup(bytes.NewReader(backup[:i])); err == nil {
			t.Errorf("the first %d of %d bytes are accepted as a backup", i, len(backup))
		}
	}
	if _, _, err := readBackup(strings.NewReader(string(backup) + "{}\n")); err == nil ||
		!strings.Contains(err.Error(), "damaged") {
		t.Errorf("a backup with an additional line: %v", err)
	}
}

// TestRaiseToken: after a restore, new fencing tokens are greater than those that were handed out since the backup.
func TestRaiseToken(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_790_000_000_000)
	for name, tt := range map[string]struct {
		stored string
		next   int64
		want   string // the limit that is stored afterwards; "" for an error
	}{
		"older than the clock":          {"1780000000000", 0, "1780000000000"},
		"reserved a moment ago":         {"1790000000999", 0, "1790000000999"},
		"handed out by a clock of 2099": {"4070000000000", 0, ""},
		"with a greater number":         {"4070000000000", 4_070_000_000_500, "4070000000499"},
		"with a number that was given":  {"4070000000000", 4_070_000_000_000, ""},
		"a number that is not needed":   {"1780000000000", 1_790_000_000_500, "1790000000499"},
		"damaged":                       {"x", 0, ""},
		"a backup without tokens":       {"", 0, ""},
		"a number, but no tokens":       {"", 5, ""},
	} {
		nodes := []zookeeper.Node{{Path: "/config/app/one"}}
		if tt.stored != "" {
			nodes = append(nodes, zookeeper.Node{Path: "/scheduler/fencing-token", Value: []byte(tt.stored)})
		}
		err := raiseToken(nodes, now, tt.next)
		fails := tt.want == "" && (tt.stored != "" || tt.next != 0)
		if got := string(nodes[len(nodes)-1].Value); (err != nil) != fails || err == nil && got != tt.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}
