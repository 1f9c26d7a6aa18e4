// Package kubernetesserver starts a private Kubernetes for tests, as root, from the folder that KUBERNETES_HOME
// names: etcd, the API server, the controller manager, the scheduler, and nodes, each of which is a kubelet with its
// own containerd.
//
//	Start ──▶ Cluster ── Etcd, API, Controllers, Scheduler: a Part each
//	             │       Nodes: Kubelet and Containerd, a Part each
//	             │       Call, Apply, Exec …: the REST API; Kubeconfig: for other programs
//	             ▼
//	           Part ── Kill (kill -9), Pause, Resume, Restart: each alone
//
// All of it runs in process and mount namespaces of its own. When the test ends, or is killed, the first process of
// these namespaces ends. The kernel then ends all other processes, including pods, and unmounts what they have
// mounted. Servers listen on free ports of the loopback interface, and require a certificate that only the test has.
//
// Pods have no network: a pod with hostNetwork uses the machine's, any other has only a loopback interface of its
// own. Images are made of files, by Image, and never pulled.
package kubernetesserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
	"github.com/elasticjob-go/elasticjob/test/internal/network"
)

const (
	// patience is how long a server may take until it answers.
	patience = 90 * time.Second
	// tries is how often other ports are tried if a free one was taken in the meantime.
	tries = 3
)

// Home returns the folder of the Kubernetes for tests, with its programs in bin: the value of KUBERNETES_HOME, "" for
// none.
func Home() string {
	if home := os.Getenv("KUBERNETES_HOME"); home != "none" {
		return home
	}
	return ""
}

// Require skips a test that needs a Kubernetes if there is none, or if root does not run it. In CI it is only skipped
// with KUBERNETES_HOME=none, never by mistake. The names of such tests must begin with TestOnKubernetes, by which
// test/checks finds them.
func Require(t testing.TB) {
	t.Helper()
	const how = "set KUBERNETES_HOME to a folder with bin/etcd, bin/kube-apiserver, bin/kubelet, … (make ci ONLY=kubernetes)"
	switch {
	case Home() == "" && os.Getenv("CI") != "" && os.Getenv("KUBERNETES_HOME") == "":
		t.Fatal("kubernetesserver: no test is skipped in CI: " + how)
	case Home() == "":
		t.Skip("kubernetesserver: NOT RUN on a real Kubernetes: " + how)
	case os.Geteuid() != 0:
		t.Skip("kubernetesserver: NOT RUN on a real Kubernetes: only root can run a kubelet")
	}
	if err := complete(); err != nil {
		t.Fatalf("kubernetesserver: %v", err)
	}
}

// complete returns an error that lists what is missing to start a Kubernetes.
func complete() error {
	var missing []error
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"} {
		if _, err := os.Stat(binary(name)); err != nil {
			missing = append(missing, fmt.Errorf("KUBERNETES_HOME holds no whole Kubernetes: %w", err))
		}
	}
	for _, name := range []string{"containerd", "ctr", "runc", "unshare", "nsenter"} {
		if _, err := exec.LookPath(name); err != nil {
			missing = append(missing, fmt.Errorf("tools/prepare installs what is missing: %w", err))
		}
	}
	for _, path := range []string{busybox, loopback} {
		if _, err := os.Stat(path); err != nil {
			missing = append(missing, fmt.Errorf("tools/prepare installs what is missing: %w", err))
		}
	}
	return errors.Join(missing...)
}

func binary(name string) string { return filepath.Join(Home(), "bin", name) }

// Options describe a Kubernetes. The zero value has one node.
type Options struct {
	// Nodes is their number, by default 1: node1, node2, …
	Nodes int
	// Images are the images on each node, in addition to Box.
	Images []Image
	// Networks are the networks of nodes, by their names. A node without one uses the host's. A pod with hostNetwork
	// uses that of its node.
	Networks map[string]*network.Network
	// APIArgs and ControllerArgs are additional flags of the API server and the controller manager, which take
	// precedence over those set here.
	APIArgs, ControllerArgs []string
}

// Cluster is a running Kubernetes. Each of its parts can be killed and restarted separately.
type Cluster struct {
	// Etcd, API, Controllers and Scheduler are the control plane. The scheduler places pods that a test applies; jobs
	// do not use it.
	Etcd, API, Controllers, Scheduler *Part
	// Nodes are sorted by name.
	Nodes []*Node

	dir    string
	ports  ports
	spaces *spaces
	pair   pair
	client *http.Client
	o      Options
}

// ports are the ports of the control plane.
type ports struct{ etcd, peer, api, controllers, scheduler int }

// Start starts a Kubernetes, whose nodes are ready when it returns. It ends with the test.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	Require(t)
	c, err := start(o)
	if err != nil {
		t.Fatalf("kubernetesserver: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.LastWords())
		}
		if err := c.close(); err != nil {
			t.Errorf("kubernetesserver: %v", err)
		}
	})
	return c
}

// start retries with other ports if one of them was taken in the meantime.
func start(o Options) (*Cluster, error) {
	var failed error
	for range tries {
		c, err := newCluster(o)
		if err == nil {
			if err = c.launch(); err == nil {
				return c, nil
			}
			err = fmt.Errorf("%w\n%s", err, c.LastWords())
			err = errors.Join(err, c.close())
		}
		failed = err
	}
	return nil, fmt.Errorf("no Kubernetes starts, in %d tries: %w", tries, failed)
}

func newCluster(o Options) (*Cluster, error) {
	free, err := child.FreePorts(5)
	if err != nil {
		return nil, err
	}
	// The name is short, because paths of sockets below it must fit into 107 bytes.
	dir, err := os.MkdirTemp("", "kube-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, ports: ports{free[0], free[1], free[2], free[3], free[4]}, o: o}
	for n := range max(1, o.Nodes) {
		node, err := c.newNode(fmt.Sprint("node", n+1))
		if err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
		c.Nodes = append(c.Nodes, node)
	}
	c.Etcd, c.API, c.Controllers, c.Scheduler = c.etcd(), c.apiServer(), c.controllers(), c.kubeScheduler()
	return c, nil
}

// launch starts all parts, concurrently where they do not depend on each other.
func (c *Cluster) launch() (err error) {
	if c.pair, err = newPair(c.dir); err != nil {
		return err
	}
	if err := c.configure(); err != nil {
		return err
	}
	if c.spaces, err = newSpaces(c.dir, c.hosts()); err != nil {
		return err
	}
	all := []func() error{c.launchControlPlane}
	for _, n := range c.Nodes {
		all = append(all, func() error { return n.launchContainerd(c.o.Images) })
	}
	if err := atOnce(all...); err != nil {
		return err
	}
	all = []func() error{c.Controllers.launch, c.Scheduler.launch}
	for _, n := range c.Nodes {
		all = append(all, n.launchKubelet)
	}
	return atOnce(all...)
}

func (c *Cluster) launchControlPlane() error {
	if err := c.Etcd.launch(); err != nil {
		return err
	}
	return c.API.launch()
}

func atOnce(all ...func() error) error {
	failed := make([]error, len(all))
	var wait sync.WaitGroup
	for i, do := range all {
		wait.Go(func() { failed[i] = do() })
	}
	wait.Wait()
	return errors.Join(failed...)
}

// parts returns all parts.
func (c *Cluster) parts() []*Part {
	all := []*Part{c.Etcd, c.API, c.Controllers, c.Scheduler}
	for _, n := range c.Nodes {
		all = append(all, n.Kubelet, n.Containerd)
	}
	return all
}

// LastWords returns the ends of the logs of all parts.
func (c *Cluster) LastWords() string {
	var text string
	for _, p := range c.parts() {
		text += fmt.Sprintf("the log of %s ends:\n%s\n", p.name, p.LastWords())
	}
	return text
}

// close ends the Kubernetes with everything that it started, and removes its folder.
func (c *Cluster) close() error {
	if c.client != nil {
		c.client.CloseIdleConnections()
	}
	cgroups := c.cgroups()
	// The namespaces end once the process that waits for a server in them has noticed its end, which Kill waits for.
	for _, p := range c.parts() {
		p.Kill()
	}
	var failed error
	if c.spaces != nil {
		failed = c.spaces.end()
	}
	return errors.Join(failed, removeCgroups(cgroups), os.RemoveAll(c.dir))
}

// Shared is a Kubernetes that the tests of a package share. The first test that needs it starts it, and Main ends it.
// Each test has a namespace of its own.
type Shared struct {
	// Options returns its options when it starts; nil for the zero value.
	Options func() (Options, error)
	child.Shared[*Cluster]
}

// Cluster returns the shared Kubernetes, which answers.
func (s *Shared) Cluster(t testing.TB) *Cluster {
	t.Helper()
	Require(t)
	return s.Get(t, func() (c *Cluster, end func() error, err error) {
		var o Options
		if s.Options != nil {
			if o, err = s.Options(); err != nil {
				return nil, nil, err
			}
		}
		c, err = start(o)
		return c, c.close, err
	})
}

// await calls try until it succeeds, or until it cannot succeed any more.
func await(what string, gone <-chan struct{}, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-gone:
			return fmt.Errorf("%s: it has ended: %w", what, err)
		case <-ctx.Done():
			return fmt.Errorf("%s: not within %v: %w", what, patience, err)
		case <-poll.C:
		}
	}
}

// first returns the first existing path, or the first path if none exists.
func first(paths ...string) string {
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return cmp.Or(paths...)
}
