package kubernetesserver_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
	"github.com/elasticjob-go/elasticjob/test/kubernetesserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// until waits until a condition is true.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	deadline := time.After(90 * time.Second)
	for !condition() {
		select {
		case <-deadline:
			t.Fatalf("it never happened that %s", what)
		case <-poll.C:
		}
	}
}

// pod contains the fields of a pod that the tests check.
type pod struct {
	Spec   struct{ NodeName string }
	Status struct {
		Phase             string
		ContainerStatuses []struct {
			State struct{ Terminated *struct{ ExitCode int } }
		}
	}
}

func get(t *testing.T, c *kubernetesserver.Cluster, name string) (p pod) {
	t.Helper()
	c.OK(t, "GET", "/api/v1/namespaces/jobs/pods/"+name, "", &p)
	return p
}

// create creates a pod that runs a script. Without a node, the scheduler places it. more are additional fields of the
// pod's spec.
func create(t *testing.T, c *kubernetesserver.Cluster, name, node, script string, more map[string]any) {
	t.Helper()
	spec := map[string]any{
		"restartPolicy": "Never", "nodeName": node, "terminationGracePeriodSeconds": 0,
		"containers": []any{map[string]any{"name": "main", "image": kubernetesserver.Box.Name,
			"command": []string{"sh", "-c", script}}},
	}
	maps.Copy(spec, more)
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": name}, "spec": spec})
	if err != nil {
		t.Fatal(err)
	}
	c.OK(t, "POST", "/api/v1/namespaces/jobs/pods", string(text), nil)
}

// TestHold is the test that TestOnKubernetesEndsWithTheTest kills.
func TestHold(t *testing.T) {
	if os.Getenv("KUBERNETESSERVER_HOLD") == "" {
		t.Skip("it is for another test, which runs it")
	}
	c := kubernetesserver.Start(t, kubernetesserver.Options{})
	c.Namespace(t, "jobs", nil)
	create(t, c, "lives", "node1", "sleep 1000000", nil)
	until(t, "the pod runs", func() bool { return get(t, c, "lives").Status.Phase == "Running" })
	fmt.Printf("it is in %s\n", c.Dir())
	<-t.Context().Done() // only at the timeout of go test
}

// TestOnKubernetesEndsWithTheTest checks that no process of a Kubernetes survives a SIGKILL to its test, not even a
// pod's.
func TestOnKubernetesEndsWithTheTest(t *testing.T) {
	t.Parallel()
	kubernetesserver.Require(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestHold$", "-test.v")
	cmd.Env = append(os.Environ(), "KUBERNETESSERVER_HOLD=1")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := ""
	for lines := bufio.NewScanner(out); dir == "" && lines.Scan(); {
		_, dir, _ = strings.Cut(lines.Text(), "it is in ")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	if dir == "" {
		t.Fatal("the test that was to be killed has started no Kubernetes")
	}
	cgroups := kubernetesserver.CgroupsOf(filepath.Join(dir, "node1"))
	if len(cgroups) == 0 {
		t.Error("the pod has no cgroup")
	}
	until(t, "no process of the Kubernetes runs", func() bool {
		pids, err := child.Using(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(pids) == 0
	})
	if mounts, err := os.ReadFile("/proc/self/mounts"); err != nil || strings.Contains(string(mounts), dir) {
		t.Errorf("something is mounted below %s: %v", dir, err)
	}
	// A test that ends normally removes the cgroups, which the kernel keeps when they are empty. RemoveCgroups also
	// shows that no process of a pod survives. child.Using does not, because their command lines don't contain the
	// folder.
	if err := kubernetesserver.RemoveCgroups(cgroups); err != nil {
		t.Error(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
}

func TestOnKubernetes(t *testing.T) {
	t.Parallel()
	c := kubernetesserver.Start(t, kubernetesserver.Options{Nodes: 2})
	c.Namespace(t, "jobs", nil)

	create(t, c, "fails", "node1", "echo said; exit 3", nil)
	until(t, "the pod has failed", func() bool { return get(t, c, "fails").Status.Phase == "Failed" })
	if ended := get(t, c, "fails").Status.ContainerStatuses[0].State.Terminated; ended == nil || ended.ExitCode != 3 {
		t.Errorf("the end is %+v, want the exit status 3", ended)
	}
	if a := c.Call(t, "GET", "/api/v1/namespaces/jobs/pods/fails/log", "", ""); a.Body != "said\n" {
		t.Errorf("the log is %d %q", a.Status, a.Body)
	}

	create(t, c, "scheduled", "", "exit 0", map[string]any{"hostNetwork": true})
	until(t, "the scheduler's pod has succeeded",
		func() bool { return get(t, c, "scheduled").Status.Phase == "Succeeded" })

	// A pod survives the kills of its kubelet and containerd.
	create(t, c, "lives", "node2", "while [ ! -e /tmp/end ]; do sleep 0.1; done", nil)
	until(t, "the pod runs", func() bool { return get(t, c, "lives").Status.Phase == "Running" })
	node := c.Nodes[1]
	node.Kubelet.Kill()
	node.Containerd.Kill()
	until(t, "the node is not ready", func() bool { return node.Ready(t) != "True" })
	node.Containerd.Restart(t)
	node.Kubelet.Restart(t)
	until(t, "the node is ready again", func() bool { return node.Ready(t) == "True" })
	if is := get(t, c, "lives").Status.Phase; is != "Running" {
		t.Errorf("the pod is %s, want it to run", is)
	}

	for _, part := range []*kubernetesserver.Part{c.API, c.Etcd} {
		part.Kill()
		if part.Runs() {
			t.Errorf("%s was killed and runs", part)
		}
		part.Restart(t)
		part.Pause(t)
		part.Resume(t)
		until(t, "the API is ready after the restart of "+part.String(),
			func() bool { return strings.Contains(c.Call(t, "GET", "/readyz", "", "").Body, "ok") })
	}
	if is := get(t, c, "lives").Status.Phase; is != "Running" {
		t.Errorf("the pod is %s after the restarts of the API and etcd, want it to run", is)
	}
	if token := c.Token(t, "jobs", "default"); strings.Count(token, ".") != 2 {
		t.Errorf("the token is %q", token)
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", node.Kubelet.PID())); err != nil {
		t.Errorf("the kubelet's process: %v", err)
	}

	// The process that waits for a server may itself be stopped, if it learns late that the server was stopped. The
	// test must still end.
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Scheduler.PID()))
	if err != nil {
		t.Fatal(err)
	}
	var state string
	var parent int
	if _, err := fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &parent); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(parent, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}
