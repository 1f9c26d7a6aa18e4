package kubernetes_test

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestOnKubernetesExclusiveWithLeases: the pod of an exclusive shard holds a lease. A restart of the server does not
// interrupt the shard. Without a server for longer than the lease, the shard is stopped, and runs again under the next
// server.
func TestOnKubernetesExclusiveWithLeases(t *testing.T) {
	w := onShared(t)
	ports, err := child.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	// On most machines localhost has several addresses, and nothing listens at one of them.
	leases := []string{"--lease-listen", fmt.Sprintf("127.0.0.1:%d", ports[0]),
		"--lease-urls", fmt.Sprintf("http://localhost:%d", ports[0])}
	w.serve(leases...)
	path, release := w.Hold()
	w.App("a", system.Files{"bin/start.sh": system.Ledger}, nil)
	w.job("j", "a", system.Doc{"exclusive": true, "leaseSeconds": 10, "killGraceSeconds": 1, "failover": true,
		"env": map[string]string{"HOLD": path}})
	id := w.Trigger("j")
	w.AwaitStarts(id, 1)
	w.Kill()
	w.serve(leases...)
	if shard := w.AwaitShards(id, "RUNNING").Shards[0]; shard.Attempt != 1 {
		t.Fatalf("it was lost with its server: %+v", shard)
	}
	time.Sleep(12 * time.Second) // longer than a lease
	w.awaitAlive("j", true)
	w.Kill()
	stopped := time.Now()
	w.awaitAlive("j", false)
	t.Logf("it was stopped %s after the server", time.Since(stopped).Round(100*time.Millisecond))
	w.serve(leases...)
	w.AwaitStarts(id, 2)
	release()
	w.Await(id, "FINISHED")
	w.checkNoOverlap()
}

// exclusiveWithoutLease: the kubelet of an exclusive shard's node is down. Without a lease the shard waits for it, even
// though its job has failover and its pod is deleted. It runs again when the kubelet is back and has ended the pod.
func exclusiveWithoutLease(t *testing.T, w *world) {
	path, release := w.Hold()
	w.App("a", system.Files{"bin/start.sh": system.Ledger}, nil)
	w.job("j", "a", system.Doc{"exclusive": true, "leaseSeconds": 10, "killGraceSeconds": 1, "failover": true,
		"unreachableSeconds": 15, "env": map[string]string{"HOLD": path}})
	id := w.Trigger("j")
	w.AwaitStarts(id, 1)
	w.AwaitShards(id, "RUNNING") // the kubelet reports it later
	node := w.k.Nodes[0]
	node.Kubelet.Kill()
	w.awaitExplanation("j", "of this exclusive job may still run on agent node1")
	pod := w.pods("j")[0].Metadata.Name
	w.k.OK(t, "DELETE", "/api/v1/namespaces/"+w.namespace+"/pods/"+pod, "", nil)
	time.Sleep(20 * time.Second) // longer than unreachableSeconds, or a lease
	if shard := w.AwaitShards(id, "RUNNING").Shards[0]; shard.Attempt != 1 {
		t.Errorf("the shard was abandoned: %+v", shard)
	}
	w.awaitAlive("j", true)
	node.Kubelet.Restart(t)
	w.AwaitStarts(id, 2)
	release()
	w.Await(id, "FINISHED")
	w.checkNoOverlap()
}

// checkNoOverlap checks that no two processes of a shard ran at once.
func (w *world) checkNoOverlap() {
	w.Helper()
	for _, e := range w.Ledger() {
		if e.What == "overlap" {
			w.Errorf("two processes of a shard ran at once: %+v", w.Ledger())
		}
	}
}

// awaitAlive waits until a process of the only shard of a job is alive or, if want is false, until none is. The script
// of the ledger holds a lock for as long as it runs.
func (w *world) awaitAlive(job string, want bool) {
	w.Helper()
	w.Until(fmt.Sprintf("a process of %s is alive: %t", job, want), func() string {
		file, err := os.Open(w.LedgerPath + "." + job + ".0")
		if err != nil {
			return err.Error()
		}
		defer file.Close() // this also unlocks it
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
		if is := errors.Is(err, syscall.EWOULDBLOCK); is != want {
			return fmt.Sprint(err)
		}
		return ""
	})
}
