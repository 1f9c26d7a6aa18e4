package kubernetesserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
	"github.com/elasticjob-go/elasticjob/test/internal/network"
)

// loopback is the CNI plugin that gives a pod its loopback interface. The package containernetworking-plugins contains
// it.
var loopback = firstExisting("/usr/lib/cni/loopback", "/opt/cni/bin/loopback")

// Node is one node: a kubelet and its containerd.
type Node struct {
	// Name is the name of the node, such as node1.
	Name string
	// Kubelet and Containerd are the servers of the node.
	Kubelet, Containerd *Part

	c                        *Cluster
	network                  *network.Network // nil for the host's
	dir                      string
	kubeletPort, healthzPort int
}

func (c *Cluster) newNode(name string) (*Node, error) {
	free, err := child.FreePorts(2)
	if err != nil {
		return nil, err
	}
	n := &Node{Name: name, c: c, network: c.o.Networks[name], dir: filepath.Join(c.dir, name), kubeletPort: free[0],
		healthzPort: free[1]}
	n.Containerd = c.part(name+"-containerd", n.network, func() []string {
		return []string{"containerd", "--config", filepath.Join(n.dir, "containerd.toml"), "--log-level", "warn"}
	}, func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", n.socket())
		if err == nil {
			err = conn.Close()
		}
		return err
	})
	n.Kubelet = c.part(name+"-kubelet", n.network, func() []string {
		return []string{
			binary("kubelet"), "--config=" + filepath.Join(n.dir, "kubelet.yaml"), "--kubeconfig=" + c.Kubeconfig(),
			"--root-dir=" + filepath.Join(n.dir, "kubelet"), "--cert-dir=" + filepath.Join(n.dir, "pki"),
			"--hostname-override=" + n.Name,
		}
	}, func(ctx context.Context) error { return c.checkKubelet(ctx, n.address(), n.healthzPort) })
	return n, nil
}

// address returns the address at which the node's kubelet listens.
func (n *Node) address() string {
	if n.network != nil {
		return n.network.Address()
	}
	return "127.0.0.1"
}

func (n *Node) socket() string { return filepath.Join(n.dir, "c.sock") }

// containerdConfig sets restrict_oom_score_adj because runc cannot lower the OOM score if the test itself runs in a
// container.
const containerdConfig = `version = 2
root = "%[1]s/root"
state = "%[1]s/state"
disabled_plugins = ["io.containerd.internal.v1.tracing", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = "%[1]s/c.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "%[1]s/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "%[2]s"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  disable_tcp_service = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "%[1]s/cni/bin"
    conf_dir = "%[1]s/cni/conf"
`

// kubeletConfig creates cgroups only for containers, not for pods: another kubelet on this machine would end the
// processes in the cgroups of pods that it does not know.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: "%[2]s"}}
authorization: {mode: Webhook}
tlsCertFile: "%[2]s"
tlsPrivateKeyFile: "%[3]s"
address: %[6]s
port: %[4]d
healthzBindAddress: %[6]s
healthzPort: %[5]d
readOnlyPort: 0
failSwapOn: false
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
containerRuntimeEndpoint: unix://%[1]s/c.sock
imageGCHighThresholdPercent: 100
evictionHard: {nodefs.available: "1%%"}
podLogsDir: %[1]s/logs
resolvConf: ""
nodeStatusUpdateFrequency: 2s
nodeLeaseDurationSeconds: 4
makeIPTablesUtilChains: false
maxPods: 500
`

// networkPlugin is a CNI plugin that creates no network. It returns an unreachable address, because containerd requires
// one for each pod.
const networkPlugin = `#!/bin/sh
case $CNI_COMMAND in
VERSION) echo '{"cniVersion":"0.4.0","supportedVersions":["0.4.0"]}' ;;
ADD) echo '{"cniVersion":"0.4.0","interfaces":[{"name":"eth0","sandbox":"'"$CNI_NETNS"'"}],"ips":[{"version":"4","interface":0,"address":"192.0.2.1/32"}]}' ;;
esac
`

func (n *Node) configure() error {
	conf, bin := filepath.Join(n.dir, "cni", "conf"), filepath.Join(n.dir, "cni", "bin")
	write := func(path, text string, mode os.FileMode) error { return os.WriteFile(path, []byte(text), mode) }
	return errors.Join(
		os.MkdirAll(conf, 0o755), os.MkdirAll(bin, 0o755), os.Symlink(loopback, filepath.Join(bin, "loopback")),
		write(filepath.Join(bin, "none"), networkPlugin, 0o755),
		write(filepath.Join(conf, "10-none.conflist"),
			`{"cniVersion":"0.4.0","name":"none","plugins":[{"type":"none"}]}`, 0o644),
		write(filepath.Join(n.dir, "containerd.toml"), fmt.Sprintf(containerdConfig, n.dir, pause.Name), 0o644),
		write(filepath.Join(n.dir, "kubelet.yaml"),
			fmt.Sprintf(kubeletConfig, n.dir, n.c.pair.cert, n.c.pair.key, n.kubeletPort, n.healthzPort,
				n.address()), 0o644),
	)
}

// launchContainerd starts containerd and loads pause, Box and the images.
func (n *Node) launchContainerd(images []Image) error {
	if err := n.configure(); err != nil {
		return fmt.Errorf("configure %s: %w", n.Name, err)
	}
	if err := n.Containerd.launch(); err != nil {
		return err
	}
	for _, i := range append([]Image{pause, Box}, images...) {
		if err := n.load(i); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) load(i Image) error {
	archive := filepath.Join(n.dir, "image.tar")
	if err := i.write(archive); err != nil {
		return fmt.Errorf("make the image %s: %w", i.Name, err)
	}
	return errors.Join(n.c.spaces.run("ctr", "--address", n.socket(), "--namespace", "k8s.io", "images", "import",
		archive), os.Remove(archive))
}

// Load loads an image on the node.
func (n *Node) Load(t testing.TB, i Image) {
	t.Helper()
	if err := n.load(i); err != nil {
		t.Fatalf("kubernetesserver: %v", err)
	}
}

// launchKubelet starts the kubelet and waits until the node is ready.
func (n *Node) launchKubelet() error {
	if err := n.Kubelet.launch(); err != nil {
		return err
	}
	return await("make "+n.Name+" ready", n.Kubelet.nsenter.Done(), func(ctx context.Context) error {
		ready, err := n.ready(ctx)
		if err == nil && ready != "True" {
			err = fmt.Errorf("its condition Ready is %q", ready)
		}
		return err
	})
}

// Ready returns the node's condition Ready in the API: True, False, Unknown, or "" for none.
func (n *Node) Ready(t testing.TB) string {
	t.Helper()
	ready, err := n.ready(t.Context())
	if err != nil {
		t.Fatalf("kubernetesserver: %v", err)
	}
	return ready
}

func (n *Node) ready(ctx context.Context) (string, error) {
	a, err := n.c.request(ctx, "GET", "/api/v1/nodes/"+n.Name, nil, "")
	if err != nil {
		return "", err
	}
	var node struct {
		Status struct {
			Conditions []struct{ Type, Status string }
		}
	}
	if err := json.Unmarshal([]byte(a.Body), &node); err != nil {
		return "", fmt.Errorf("node %s: %w", n.Name, err)
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == "Ready" {
			return condition.Status, nil
		}
	}
	return "", nil
}
