package kubernetesserver

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/elasticjob-go/elasticjob/test/internal/network"
)

// configure writes the configuration of the servers.
func (c *Cluster) configure() error {
	c.client = &http.Client{Transport: &http.Transport{TLSClientConfig: c.pair.config}}
	text, err := c.kubeconfigText()
	if err != nil {
		return err
	}
	return os.WriteFile(c.Kubeconfig(), []byte(text), 0o600)
}

// Kubeconfig returns the path of the kubeconfig of an administrator.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.dir, "kubeconfig") }

// Dir returns the folder of the Kubernetes, which is removed at its end.
func (c *Cluster) Dir() string { return c.dir }

// Port returns the port of the API.
func (c *Cluster) Port() int { return c.ports.api }

// Address returns the address of the API, as HOST:PORT.
func (c *Cluster) Address() string { return local(c.ports.api) }

// CA returns the path of the certificate of the authority that signed the API's certificate.
func (c *Cluster) CA() string { return c.pair.cert }

func local(port int) string { return fmt.Sprint("127.0.0.1:", port) }

func (c *Cluster) kubeconfigText() (string, error) {
	encoded := func(path string) (string, error) {
		text, err := os.ReadFile(path)
		return base64.StdEncoding.EncodeToString(text), err
	}
	cert, err := encoded(c.pair.cert)
	if err != nil {
		return "", err
	}
	key, err := encoded(c.pair.key)
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "https://%s", certificate-authority-data: %s}}]
users: [{name: admin, user: {client-certificate-data: %s, client-key-data: %s}}]
contexts: [{name: test, context: {cluster: test, user: admin}}]
current-context: test
`, c.Address(), cert, cert, key), err
}

// hosts returns the text of the /etc/hosts of the Kubernetes: the host's, and the addresses of the nodes.
func (c *Cluster) hosts() string {
	text := "127.0.0.1 localhost\n::1 localhost\n"
	if own, err := os.ReadFile("/etc/hosts"); err == nil {
		text = string(own)
	}
	for _, n := range c.Nodes {
		text += "\n" + n.address() + " " + n.Name + "\n"
	}
	return text
}

// etcd returns the part etcd. It does not wait for the disk, because tests kill processes, never the machine.
func (c *Cluster) etcd() *Part {
	client, peer := "https://"+local(c.ports.etcd), "https://"+local(c.ports.peer)
	return c.part("etcd", nil, func() []string {
		return []string{
			binary("etcd"), "--data-dir", filepath.Join(c.dir, "etcd"), "--unsafe-no-fsync", "--logger=zap",
			"--log-level=warn",
			"--listen-client-urls", client, "--advertise-client-urls", client,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default=" + peer,
			"--client-cert-auth", "--cert-file", c.pair.cert, "--key-file", c.pair.key,
			"--trusted-ca-file", c.pair.cert,
			"--peer-client-cert-auth", "--peer-cert-file", c.pair.cert, "--peer-key-file", c.pair.key,
			"--peer-trusted-ca-file", c.pair.cert,
		}
	}, c.healthCheck(c.ports.etcd, "/health"))
}

func (c *Cluster) apiServer() *Part {
	return c.part("api", nil, func() []string {
		return append([]string{
			binary("kube-apiserver"), "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
			fmt.Sprint("--secure-port=", c.ports.api),
			"--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.96.0.0/24", "--allow-privileged=true",
			"--authorization-mode=RBAC",
			"--etcd-servers=https://" + local(c.ports.etcd), "--etcd-cafile=" + c.pair.cert,
			"--etcd-certfile=" + c.pair.cert, "--etcd-keyfile=" + c.pair.key,
			"--tls-cert-file=" + c.pair.cert, "--tls-private-key-file=" + c.pair.key,
			"--client-ca-file=" + c.pair.cert, "--cert-dir=" + c.dir,
			"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + c.pair.key,
			"--service-account-signing-key-file=" + c.pair.key,
			"--kubelet-certificate-authority=" + c.pair.cert, "--kubelet-client-certificate=" + c.pair.cert,
			"--kubelet-client-key=" + c.pair.key,
			"--kubelet-preferred-address-types=Hostname",
		}, c.o.APIArgs...)
	}, c.healthCheck(c.ports.api, "/readyz"))
}

// podControllers are the controllers that affect pods. The others don't run, because they would only take time.
var podControllers = []string{
	"deployment-controller", "replicaset-controller", "disruption-controller", "garbage-collector-controller",
	"namespace-controller",
	"node-lifecycle-controller", "taint-eviction-controller", "pod-garbage-collector-controller",
	"resourcequota-controller",
	"root-ca-certificate-publisher-controller", "serviceaccount-controller", "serviceaccount-token-controller",
	"job-controller",
	"service-ca-certificate-publisher-controller", // this build adds its certificate to each token
}

// controllers returns the controller manager. It marks a node as not ready after 5 s without a message from it.
func (c *Cluster) controllers() *Part {
	return c.part("controllers", nil, func() []string {
		return append([]string{
			binary("kube-controller-manager"), "--kubeconfig=" + c.Kubeconfig(), "--leader-elect=false",
			"--controllers=" + strings.Join(podControllers, ","),
			"--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", c.ports.controllers),
			"--tls-cert-file=" + c.pair.cert, "--tls-private-key-file=" + c.pair.key,
			"--service-account-private-key-file=" + c.pair.key, "--root-ca-file=" + c.pair.cert,
			"--node-monitor-period=500ms", "--node-monitor-grace-period=5s",
		}, c.o.ControllerArgs...)
	}, c.healthCheck(c.ports.controllers, "/healthz"))
}

func (c *Cluster) kubeScheduler() *Part {
	return c.part("scheduler", nil, func() []string {
		return []string{
			binary("kube-scheduler"), "--kubeconfig=" + c.Kubeconfig(), "--leader-elect=false",
			"--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", c.ports.scheduler),
			"--tls-cert-file=" + c.pair.cert, "--tls-private-key-file=" + c.pair.key,
		}
	}, c.healthCheck(c.ports.scheduler, "/healthz"))
}

// part returns a server that runs in a network, or in the host's if it is nil. checkHealth returns an error until the
// server answers.
func (c *Cluster) part(name string, in *network.Network, command func() []string,
	checkHealth func(context.Context) error) *Part {
	return &Part{name: name, cluster: c, network: in, command: command, checkHealth: checkHealth}
}

// healthCheck returns a function that returns an error unless the server at a port answers a path with 200.
func (c *Cluster) healthCheck(port int, path string) func(context.Context) error {
	return func(ctx context.Context) error {
		a, err := c.ask(ctx, http.MethodGet, "https://"+net.JoinHostPort("127.0.0.1", fmt.Sprint(port))+path, nil, "")
		if err == nil && a.Status != http.StatusOK {
			err = fmt.Errorf("%s answers %d: %s", path, a.Status, a.Body)
		}
		return err
	}
}
