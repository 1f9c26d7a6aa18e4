package zookeeper_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/zookeeper"
	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

// dials records when connections were made.
type dials struct {
	mu  sync.Mutex
	all []time.Time
}

func (d *dials) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d.mu.Lock()
	d.all = append(d.all, time.Now())
	d.mu.Unlock()
	return new(net.Dialer).DialContext(ctx, network, address)
}

// took waits for n connections and returns the time between the first and the nth.
func (d *dials) took(t *testing.T, n int) (took time.Duration) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d connections", n), func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		if len(d.all) < n {
			return false
		}
		took = d.all[n-1].Sub(d.all[0])
		return true
	})
	return took
}

// testFollowerThatIsRefused checks that a server that is not allowed to read who leads logs that once, and retries at
// growing intervals.
func testFollowerThatIsRefused(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	client := server.Client(t)
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace()}
	_, term := lead(t, o)
	node := "/" + o.Namespace + "/registry/fence"
	acl(t, client, node, false)
	var d dials
	log := &lines{}
	o.Dial, o.Logger = d.dial, log.logger()
	r := open(t, o)
	if took := d.took(t, 4); took < 700*time.Millisecond {
		t.Errorf("4 sessions in %v", took)
	}
	if _, ok := r.Leader(); ok {
		t.Error("a leader is known")
	}
	if err := r.Trouble(); err == nil || !strings.Contains(err.Error(), "getAcl "+node) {
		t.Errorf("the trouble is %v", err)
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 ||
		!strings.Contains(log.String(), "leader not readable in ZooKeeper") {
		t.Errorf("%d warnings", n)
	}
	acl(t, client, node, true)
	eventually(t, "to know the leader", func() bool {
		l, ok := r.Leader()
		return ok && l.Term == term.Number() && r.Trouble() == nil
	})
}

// peer starts a server that grants sessions as ZooKeeper does, calls answer for the first request, and closes the
// connection. If answer is nil, it closes the connection at once.
func peer(t *testing.T, answer func(conn net.Conn, number uint32)) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var goroutines sync.WaitGroup
	t.Cleanup(goroutines.Wait)
	t.Cleanup(func() { _ = listener.Close() })
	serve := func(conn net.Conn) {
		defer conn.Close()
		defer context.AfterFunc(t.Context(), func() { _ = conn.Close() })()
		for greeted := false; ; greeted = true {
			var length [4]byte
			if _, err := io.ReadFull(conn, length[:]); err != nil {
				return
			}
			packet := make([]byte, binary.BigEndian.Uint32(length[:]))
			if _, err := io.ReadFull(conn, packet); err != nil {
				return
			}
			if greeted {
				answer(conn, binary.BigEndian.Uint32(packet))
				return
			}
			hello := binary.BigEndian.AppendUint32(nil, 36)
			hello = binary.BigEndian.AppendUint32(hello, 0)    // version
			hello = binary.BigEndian.AppendUint32(hello, 4000) // timeout
			hello = binary.BigEndian.AppendUint64(hello, 1)    // session
			hello = append(binary.BigEndian.AppendUint32(hello, 16), make([]byte, 16)...)
			if _, err := conn.Write(hello); err != nil || answer == nil {
				return
			}
		}
	}
	goroutines.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			goroutines.Go(func() { serve(conn) })
		}
	})
	return listener.Addr().String()
}

// TestZooKeeperThatWantsSASL checks the error for a ZooKeeper that requires SASL (sessionRequireClientSASLAuth): it
// answers each request with error -124 and ends the session.
func TestZooKeeperThatWantsSASL(t *testing.T) {
	t.Parallel()
	var d dials
	log := &lines{}
	address := peer(t, func(conn net.Conn, number uint32) {
		reply := binary.BigEndian.AppendUint32(nil, 16)
		reply = binary.BigEndian.AppendUint32(reply, number)
		reply = binary.BigEndian.AppendUint64(reply, 1)
		code := int32(-124)
		_, _ = conn.Write(binary.BigEndian.AppendUint32(reply, uint32(code)))
	})
	r := open(t, zookeeper.Options{Servers: address, Namespace: "n", Logger: log.logger(), Dial: d.dial})
	ctx, cancel := context.WithTimeout(t.Context(), eventTimeout)
	defer cancel()
	_, err := r.Campaign(ctx, "x")
	if !errors.Is(err, registry.ErrUnusable) ||
		!strings.Contains(err.Error(), "requires SASL, which is not supported") {
		t.Errorf("the campaign: %v", err)
	}
	if took := d.took(t, 7); took < 300*time.Millisecond { // at most two for each of three sessions
		t.Errorf("7 connections in %v", took)
	}
	if err := r.Trouble(); err == nil || !strings.Contains(err.Error(), "requires SASL") {
		t.Errorf("the trouble is %v", err)
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings", n)
	}
}

// TestPeerThatGivesASessionAndHangsUp checks that a peer does not count as a server if it only grants sessions and
// closes the connections.
func TestPeerThatGivesASessionAndHangsUp(t *testing.T) {
	t.Parallel()
	var d dials
	address := peer(t, nil)
	r := open(t, zookeeper.Options{Servers: address, Namespace: "n", Dial: d.dial})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if _, err := r.Campaign(ctx, "x"); !errors.Is(err, context.Canceled) {
			t.Errorf("the campaign: %v", err)
		}
	}()
	if took := d.took(t, 10); took < 300*time.Millisecond {
		t.Errorf("10 connections in %v", took)
	}
	if err := r.Trouble(); err == nil || !strings.Contains(err.Error(), "check that it is a ZooKeeper server") {
		t.Errorf("the trouble is %v", err)
	}
	cancel()
	<-ended
}
