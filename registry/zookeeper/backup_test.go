package zookeeper_test

import (
	"bytes"
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

// testBackupAndRestore checks that a backup of a namespace with a leader is restored completely in another namespace:
// all entries, shared values and a later term. Existing nodes are not touched.
func testBackupAndRestore(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	from := zookeeper.Options{Servers: server.Address(), Namespace: namespace()}
	r, term := lead(t, from)
	writes := []registry.Write{
		{Path: "/config/app/app", Value: []byte("a document")}, {Path: "/config/job/job", Value: []byte("another one")},
		{Path: "/state/disable/job/job", Value: []byte("job")}, {Path: "/ha/framework_id", Value: []byte("elasticjob-1")},
		{Path: "/scheduler/empty"}, {Path: "/scheduler/one", Value: []byte("1")}, {Path: "/scheduler/a~b/deep/er", Value: []byte{0, 255, 10}},
	}
	for i := range 300 {
		writes = append(writes, registry.Write{Path: fmt.Sprintf("/scheduler/execution/%d", i),
			Value: []byte(strings.Repeat("x", i))})
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
	if err := zookeeper.Restore(t.Context(), into, nodes, "/scheduler/one", "/scheduler/a~b/deep/er"); err != nil {
		t.Fatal(err)
	}
	for _, o := range []zookeeper.Options{into, from} {
		if err := zookeeper.Restore(t.Context(), o, nodes); err == nil ||
			!strings.Contains(err.Error(), "the namespace is not empty") {
			t.Errorf("restored over what is there: %v", err)
		}
	}
	r2, term2 := lead(t, into)
	before := all(t, term)
	for _, left := range []string{"/scheduler/one", "/scheduler/a~b/deep/er"} {
		delete(before, left)
	}
	if diff := cmp.Diff(before, all(t, term2)); diff != "" {
		t.Errorf("the restored entries differ (- before, + restored):\n%s", diff)
	}
	if e, err := r2.ReadShared(t.Context(), "access"); err != nil || string(e.Value) != "keys" {
		t.Errorf("the shared value is %q, %v", e.Value, err)
	}
	if term2.Number() != term.Number()+1 {
		t.Errorf("the term after the restore is %d, and %d was before", term2.Number(), term.Number())
	}
	if _, err := zookeeper.Backup(t.Context(),
		zookeeper.Options{Servers: server.Address(),
			Namespace: namespace()}); err == nil || !strings.Contains(err.Error(), "no server has led there") {
		t.Errorf("a namespace that is not there: %v", err)
	}
	if err := zookeeper.Restore(t.Context(), zookeeper.Options{Servers: server.Address(), Namespace: namespace()},
		nodes[:3]); err == nil || !strings.Contains(err.Error(), "damaged") {
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

// testRestoreBesideAServer checks that a running server makes the restore fail, and that no server can lead what
// remains.
func testRestoreBesideAServer(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	from := zookeeper.Options{Servers: server.Address(), Namespace: namespace()}
	_, term := lead(t, from)
	commit(t, term, put("/config/job/job", "a document"), put("/scheduler/one", "1"))
	nodes, err := zookeeper.Backup(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ before, makes, want string }{
		{"/registry/fence", "/ha", "/ha was created by another program meanwhile"},
		{"/registry/entries/", "/ha/election/_c_x-lock-0000000000", "a server stands for election"},
	} {
		t.Run(c.makes, func(t *testing.T) {
			t.Parallel()
			into, client, cable := from, server.Client(t), newCable()
			into.Namespace, into.Dial = namespace(), cable.dial
			var meddle func(p *plug, packet []byte) (int, error)
			meddle = func(p *plug, packet []byte) (int, error) {
				if bytes.Contains(packet, []byte(into.Namespace+c.before)) {
					create(t, client, "/"+into.Namespace+c.makes, "a server")
				} else {
					cable.on(opCreate, meddle)
				}
				return p.Conn.Write(packet)
			}
			cable.on(opCreate, meddle)
			if err := zookeeper.Restore(t.Context(), into, nodes); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Fatalf("restored beside a server: %v, want %q", err, c.want)
			}
			log := &lines{}
			wipe(t, client, "/"+into.Namespace+"/ha")
			r := open(t, zookeeper.Options{Servers: server.Address(), Namespace: into.Namespace, Logger: log.logger()})
			ctx, stop := context.WithCancel(t.Context())
			led := make(chan error, 1)
			go func() {
				_, err := r.Campaign(ctx, "127.0.0.1:8899")
				led <- err
			}()
			eventually(t, "the log says why no server leads",
				func() bool { return strings.Contains(log.String(), "unfinished restore") })
			stop()
			if err := <-led; !errors.Is(err, context.Canceled) {
				t.Errorf("the campaign ended with %v", err)
			}
		})
	}
}

// testBackupOfHalfACommit checks that a commit that no leader continues is reported as ErrUnfinished, not as ErrBusy.
func testBackupOfHalfACommit(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace()}
	lead(t, o)
	create(t, server.Client(t), "/"+o.Namespace+"/registry/commit", `{"name":"1-1","parts":2,"applied":1}`)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := zookeeper.Backup(ctx, o); !errors.Is(err, zookeeper.ErrUnfinished) {
		t.Errorf("%v, want %v", err, zookeeper.ErrUnfinished)
	}
}

// testBackupIsOfOneMoment checks that a backup during commits has all of a commit or nothing of it, or fails with
// ErrBusy.
func testBackupIsOfOneMoment(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace()}
	_, term := lead(t, o)
	const pairs = 50
	large := strings.Repeat("x", 30_000) // of each entry, so that a commit has several parts
	var writing sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	commit := func(n int) error {
		value := fmt.Append(nil, n)
		if n%5 == 0 {
			value = fmt.Append(value, " ", large)
		}
		var writes []registry.Write
		for i := range pairs {
			writes = append(writes, registry.Write{Path: fmt.Sprintf("/scheduler/pair/%d", i), Value: value})
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
			if n%3 == 0 { // a leader pauses too, and other tests share the server
				select {
				case <-time.After(20 * time.Millisecond):
				case <-ctx.Done():
				}
			}
		}
	})
	whole, busy := 0, 0
	backup := func() {
		limited, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		nodes, err := zookeeper.Backup(limited, o)
		switch {
		case errors.Is(err, zookeeper.ErrBusy) || errors.Is(err, zookeeper.ErrUnfinished) ||
			errors.Is(err, context.DeadlineExceeded):
			busy++
			return
		case err != nil:
			t.Error(err)
			return
		}
		whole++
		entries, values := 0, map[string]int{}
		for _, n := range nodes {
			if strings.Contains(n.Path, "pair~1") {
				number, _, _ := strings.Cut(string(n.Value), " ")
				values[number]++
				entries++
			}
		}
		if len(values) != 1 || entries != pairs {
			t.Errorf("a backup mixes commits; its entries by value: %v", values)
		}
	}
	for range 8 {
		backup()
	}
	stop()
	writing.Wait()
	eventually(t, "a backup while nothing is committed", func() bool {
		backup()
		return whole > 0
	})
	t.Logf("%d backups, %d tries that found no moment between commits", whole, busy)
}
