package zookeeper_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/zookeeper"
	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

// testBackupAndRestore: what was read from a namespace that is led is the same in another one: all entries, shared values, a
// later term. What is there already is not touched.
func testBackupAndRestore(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	from := zookeeper.Options{Servers: server.Address(), Namespace: namespace()}
	r, term := lead(t, from)
	writes := []registry.Write{
		{Path: "/config/app/app", Value: []byte("a document")}, {Path: "/config/job/job", Value: []byte("another one")},
		{Path: "/state/disable/job/job", Value: []byte("job")}, {Path: "/ha/framework_id", Value: []byte("elasticjob-1")},
		{Path: "/scheduler/empty"}, {Path: "/scheduler/a~b/deep/er", Value: []byte{0, 255, 10}},
	}
	for i := range 300 {
		writes = append(writes, registry.Write{Path: fmt.Sprintf("/scheduler/execution/%d", i), Value: []byte(strings.Repeat("x", i))})
	}
	if err := term.Commit(t.Context(), writes); err != nil {
		t.Fatal(err)
	}
	if _, err := r.WriteShared(t.Context(), "access", []byte("keys"), registry.Absent()); err != nil {
		t.Fatal(err)
	}
	nodes, err := zookeeper.Backup(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	into := zookeeper.Options{Servers: server.Address(), Namespace: namespace(), Digest: "elasticjob:secret"}
	if err := zookeeper.Restore(t.Context(), into, nodes); err != nil {
		t.Fatal(err)
	}
	for _, o := range []zookeeper.Options{into, from} {
		if err := zookeeper.Restore(t.Context(), o, nodes); err == nil || !strings.Contains(err.Error(), "there is something already") {
			t.Errorf("restored over what is there: %v", err)
		}
	}
	r2, term2 := lead(t, into)
	if diff := cmp.Diff(all(t, term), all(t, term2)); diff != "" {
		t.Errorf("the restored entries differ (- before, + restored):\n%s", diff)
	}
	if e, err := r2.ReadShared(t.Context(), "access"); err != nil || string(e.Value) != "keys" {
		t.Errorf("the shared value is %q, %v", e.Value, err)
	}
	if term2.Number() <= term.Number()+500 {
		t.Errorf("the term after the restore is %d, and %d was before: there may have been terms since the backup", term2.Number(), term.Number())
	}
	if _, err := zookeeper.Backup(t.Context(), zookeeper.Options{Servers: server.Address(), Namespace: namespace()}); err == nil || !strings.Contains(err.Error(), "no server has led there") {
		t.Errorf("a namespace that is not there: %v", err)
	}
	if err := zookeeper.Restore(t.Context(), zookeeper.Options{Servers: server.Address(), Namespace: namespace()}, nodes[:3]); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a part of a backup: %v", err)
	}
}

func all(t *testing.T, term registry.Term) map[string]string {
	t.Helper()
	entries, err := term.List(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, e := range entries {
		values[e.Path] = string(e.Value)
	}
	return values
}

// testBackupIsOfOneMoment: while a leader commits, a backup has all of a commit or nothing of it, or is refused as too busy.
func testBackupIsOfOneMoment(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace()}
	_, term := lead(t, o)
	const pairs = 50
	var writing sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	commit := func(n int) error {
		var writes []registry.Write
		for i := range pairs {
			writes = append(writes, registry.Write{Path: fmt.Sprintf("/scheduler/pair/%d", i), Value: fmt.Append(nil, n)})
		}
		return term.Commit(t.Context(), writes)
	}
	if err := commit(0); err != nil {
		t.Fatal(err)
	}
	writing.Go(func() {
		for n := 1; ctx.Err() == nil; n++ {
			if err := commit(n); err != nil {
				t.Error(err)
				return
			}
			if n%3 == 0 { // a leader has its pauses, and the other tests their share of the server
				select {
				case <-time.After(20 * time.Millisecond):
				case <-ctx.Done():
				}
			}
		}
	})
	whole, busy := 0, 0
	for range 8 {
		limited, cancel := context.WithTimeout(t.Context(), time.Second)
		nodes, err := zookeeper.Backup(limited, o)
		cancel()
		switch {
		case errors.Is(err, zookeeper.ErrBusy) || errors.Is(err, context.DeadlineExceeded):
			busy++
			continue
		case err != nil:
			t.Error(err)
			continue
		}
		whole++
		values := map[string]int{}
		for _, n := range nodes {
			if strings.Contains(n.Path, "pair~1") {
				values[string(n.Value)]++
			}
		}
		if len(values) != 1 {
			t.Errorf("one backup has of the entries of a commit: %v by value", values)
		}
	}
	stop()
	writing.Wait()
	t.Logf("%d backups, %d tries that found no moment between commits", whole, busy)
}
