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
// A Cluster runs in its own process and mount namespaces. When the test ends, or is killed, the first process of these
// namespaces ends. The kernel then ends all other processes in them, including pods, and unmounts what they have
// mounted. Servers listen on free ports of the loopback interface or, if their node has a Network, of its address. They
// require a certificate that only the test has.
//
// There is no network for pods: a pod with hostNetwork uses the network of its node, and any other pod has only a
// loopback interface of its own. Images are made from files, see Image, and never pulled.
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
	// tries is how often a Kubernetes is started, because another process may take one of its ports at any time.
	tries = 3
)

// Home returns KUBERNETES_HOME, the folder of the Kubernetes for tests, with its programs in bin. It returns "" if
// KUBERNETES_HOME is not set or "none".
func Home() string {
	if home := os.Getenv("KUBERNETES_HOME"); home != "none" {
		return home
	}
	return ""
}

// Require skips a test that needs a Kubernetes if Home is "" or the user is not root. In CI it fails the test if
// KUBERNETES_HOME is not set, so that no test is skipped by mistake. It also fails the test if a program is missing.
// The names of such tests must begin with TestOnKubernetes, by which test/checks finds them.
func Require(t testing.TB) {
	t.Helper()
	const how = "set KUBERNETES_HOME to a folder with bin/etcd, bin/kube-apiserver, bin/kubelet, … (make ci ONLY=kubernetes)"
	switch {
	case Home() == "" && os.Getenv("CI") != "" && os.Getenv("KUBERNETES_HOME") == "":
		t.Fatal("kubernetesserver: tests on Kubernetes must run in CI: " + how)
	case Home() == "":
		t.Skip("kubernetesserver: NOT RUN on a real Kubernetes: " + how)
	case os.Geteuid() != 0:
		t.Skip("kubernetesserver: NOT RUN on a real Kubernetes: only root can run a kubelet")
	}
	if err := checkPrograms(); err != nil {
		t.Fatalf("kubernetesserver: %v", err)
	}
}

// checkPrograms returns an error that lists the missing programs of those that start a Kubernetes.
func checkPrograms() error {
	var missing []error
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"} {
		if _, err := os.Stat(binary(name)); err != nil {
			missing = append(missing, fmt.Errorf("KUBERNETES_HOME does not contain all programs: %w", err))
		}
	}
	for _, name := range []string{"containerd", "ctr", "runc", "unshare", "nsenter"} {
		if _, err := exec.LookPath(name); err != nil {
			missing = append(missing, fmt.Errorf("%w (tools/prepare installs it)", err))
		}
	}
	for _, path := range []string{busybox, loopback} {
		if _, err := os.Stat(path); err != nil {
			missing = append(missing, fmt.Errorf("%w (tools/prepare installs it)", err))
		}
	}
	return errors.Join(missing...)
}

func binary(name string) string { return filepath.Join(Home(), "bin", name) }

// Options describe a Kubernetes. The zero value has one node.
type Options struct {
	// Nodes is the number of nodes, by default 1. Their names are node1, node2, …
	Nodes int
	// Images are the images on each node, in addition to Box.
	Images []Image
	// Networks are the networks of nodes, by the nodes' names. A node that is not listed uses the host's network.
	Networks map[string]*network.Network
	// APIArgs and ControllerArgs are additional flags of the API server and the controller manager. They override the
	// flags that this package sets.
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

// Start starts a Kubernetes and returns when all nodes are ready. The Kubernetes ends with the test.
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

// start starts a Kubernetes. If that fails, as when another process has taken a port, it retries with other ports.
func start(o Options) (*Cluster, error) {
	var lastErr error
	for range tries {
		c, err := newCluster(o)
		if err == nil {
			if err = c.launch(); err == nil {
				return c, nil
			}
			err = fmt.Errorf("%w\n%s", err, c.LastWords())
			err = errors.Join(err, c.close())
		}
		lastErr = err
	}
	return nil, fmt.Errorf("start a Kubernetes, in %d tries: %w", tries, lastErr)
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
	launches := []func() error{c.launchControlPlane}
	for _, n := range c.Nodes {
		launches = append(launches, func() error { return n.launchContainerd(c.o.Images) })
	}
	if err := runConcurrently(launches...); err != nil {
		return err
	}
	launches = []func() error{c.Controllers.launch, c.Scheduler.launch}
	for _, n := range c.Nodes {
		launches = append(launches, n.launchKubelet)
	}
	return runConcurrently(launches...)
}

func (c *Cluster) launchControlPlane() error {
	if err := c.Etcd.launch(); err != nil {
		return err
	}
	return c.API.launch()
}

// runConcurrently calls all functions, waits for them, and returns their errors.
func runConcurrently(all ...func() error) error {
	errs := make([]error, len(all))
	var running sync.WaitGroup
	for i, run := range all {
		running.Go(func() { errs[i] = run() })
	}
	running.Wait()
	return errors.Join(errs...)
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
	// Kill also waits for the nsenter of each server. The namespaces cannot end before it.
	for _, p := range c.parts() {
		p.Kill()
	}
	var err error
	if c.spaces != nil {
		err = c.spaces.end()
	}
	return errors.Join(err, removeCgroups(cgroups), os.RemoveAll(c.dir))
}

// Shared is a Kubernetes that the tests of a package share. The first test that needs it starts it, and Main ends it.
// Each test has a namespace of its own.
type Shared struct {
	// Options returns the options of the Kubernetes. It is called once, when the Kubernetes starts. nil means the zero
	// Options.
	Options func() (Options, error)
	child.Shared[*Cluster]
}

// Cluster returns the shared Kubernetes. The first call starts it.
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

// await calls try until it succeeds. It returns an error after patience, or when the channel ended is closed, because
// try cannot succeed from then on.
func await(what string, ended <-chan struct{}, try func(context.Context) error) error {
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
		case <-ended:
			return fmt.Errorf("%s: the process has ended: %w", what, err)
		case <-ctx.Done():
			return fmt.Errorf("%s: failed for %v: %w", what, patience, err)
		case <-poll.C:
		}
	}
}

// firstExisting returns the first path that exists, or the first path if none exists.
func firstExisting(paths ...string) string {
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return cmp.Or(paths...)
}
