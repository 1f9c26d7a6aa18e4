package zookeeper_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/zookeeper"
	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

const opCreateRequest, opSetRequest = 1, 5

// testSharedValueWithoutAnAnswer checks that the outcome of a write whose answer was lost is determined.
func testSharedValueWithoutAnAnswer(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	for name, arrives := range map[string]bool{"it was done": true, "it was not": false} {
		for what, op := range map[string]uint32{"create": opCreateRequest, "set": opSetRequest} {
			t.Run(what+", "+name, func(t *testing.T) {
				t.Parallel()
				cable := newCable()
				r := open(t, zookeeper.Options{Servers: server.Address(), Namespace: namespace(), Dial: cable.dial})
				condition, want := registry.Absent(), int64(0)
				write := func(value string) (int64, error) {
					return r.WriteShared(t.Context(), "access", []byte(value), condition)
				}
				// The first write creates the parent nodes.
				if _, err := r.WriteShared(t.Context(), "other", nil, condition); err != nil {
					t.Fatal(err)
				}
				if op == opSetRequest {
					if _, err := write("before"); err != nil {
						t.Fatal(err)
					}
					condition, want = registry.AtVersion(0), 1
				}
				cable.on(op, func(p *plug, packet []byte) (int, error) {
					if arrives {
						if _, err := p.Conn.Write(packet); err != nil {
							t.Error(err)
						}
						client := server.Client(t)
						eventually(t, "the write", func() bool { return sharedNodeHas(client, packet) })
					}
					cable.cut()
					return 0, errCable
				})
				if version, err := write("after"); err != nil || version != want {
					t.Fatalf("version %d, %v; want %d", version, err, want)
				}
				if e, err := r.ReadShared(t.Context(), "access"); err != nil || string(e.Value) != "after" ||
					e.Version != want {
					t.Errorf("%+v, %v", e, err)
				}
			})
		}
	}
}

// sharedNodeHas reports whether the node that a request names has the value "after".
func sharedNodeHas(client *zk.Conn, packet []byte) bool {
	const headerLength = 16 // the lengths of the packet and the path, the request's id and its operation
	path := packet[headerLength:]
	path = path[:bytes.Index(path, []byte("/access"))+len("/access")]
	value, _, err := client.Get(string(path))
	return err == nil && string(value) == "after"
}

// testSharedValueWithoutZooKeeper checks that a call returns when its context ends, and that a write that was never
// sent is not reported as unknown.
func testSharedValueWithoutZooKeeper(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	cable := newCable()
	defer cable.freeze()()
	r := open(t, zookeeper.Options{Servers: server.Address(), Namespace: namespace(), Dial: cable.dial})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := r.ReadShared(ctx, "access"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("read: %v", err)
	}
	if _, err := r.WriteShared(ctx, "access", nil, registry.Absent()); !errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, registry.ErrOutcomeUnknown) {
		t.Errorf("write: %v", err)
	}
}

// testSharedValueIsProtected checks that other users can't read the value, and that a wrong digest is reported.
func testSharedValueIsProtected(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	o := zookeeper.Options{Servers: server.Address(), Namespace: "digest-" + namespace(), Digest: "job:secret-word"}
	if _, err := open(t, o).WriteShared(t.Context(), "access", []byte("keys"), registry.Absent()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := server.Client(t).Get("/" + o.Namespace + "/registry/shared/access"); !errors.Is(err,
		zk.ErrNoAuth) {
		t.Errorf("anybody may read it: %v", err)
	}
	o.Digest = "job:wrong-word"
	if _, err := open(t, o).ReadShared(t.Context(), "access"); !errors.Is(err, registry.ErrUnusable) ||
		!bytes.Contains([]byte(err.Error()), []byte("digest")) {
		t.Errorf("with another digest: %v", err)
	}
}

// testSharedValueIsProtectedLater checks that a digest that is configured later protects an existing value from the
// next term on.
func testSharedValueIsProtectedLater(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	anybody := server.Client(t)
	o := zookeeper.Options{Servers: server.Address(), Namespace: "open-" + namespace()}
	if _, err := open(t, o).WriteShared(t.Context(), "access", []byte("keys"), registry.Absent()); err != nil {
		t.Fatal(err)
	}
	node := "/" + o.Namespace + "/registry/shared/access"
	if _, _, err := anybody.Get(node); err != nil {
		t.Fatal(err)
	}
	o.Digest = "job:secret-word"
	r, _ := lead(t, o)
	if _, _, err := anybody.Get(node); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("anybody may read it: %v", err)
	}
	if err := anybody.Delete(node, -1); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("anybody may delete it: %v", err)
	}
	if e, err := r.ReadShared(t.Context(), "access"); err != nil || string(e.Value) != "keys" {
		t.Errorf("with the digest: %q, %v", e.Value, err)
	}
}
