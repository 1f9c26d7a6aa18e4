package kubernetes_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
	"github.com/elasticjob-go/elasticjob/test/kubernetesserver"
	"github.com/elasticjob-go/elasticjob/test/mariadb"
)

var (
	bin        system.Binaries
	shared     = kubernetesserver.Shared{Options: func() (kubernetesserver.Options, error) { return options(1) }}
	namespaces atomic.Int64 // the number of namespaces created so far
)

func TestMain(m *testing.M) { os.Exit(system.Main(shared.Main(m), &bin, 3)) }

// options returns the options of a Kubernetes with this many nodes. The nodes have the project's image for tasks, with
// the programs that the ledger's script needs.
func options(nodes int) (kubernetesserver.Options, error) {
	task, err := kubernetesserver.Task(bin.Dir).With("flock")
	return kubernetesserver.Options{Nodes: nodes, Images: []kubernetesserver.Image{task}}, err
}

// world is a server with its jobs, in a namespace of a Kubernetes.
type world struct {
	*system.Machine
	k         *kubernetesserver.Cluster
	namespace string
	flags     []string // of each server: the Kubernetes, the namespace, the image and the pod template
}

// onShared returns a world in the Kubernetes that the tests share.
func onShared(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	return newWorld(t, shared.Cluster(t), singleServer)
}

// TestOnKubernetesBroken breaks one Kubernetes in several ways, one after the other. Each test repairs it.
func TestOnKubernetesBroken(t *testing.T) {
	kubernetesserver.Require(t)
	t.Parallel()
	k := startOwn(t, 1)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *world)
	}{
		{"cordoned", cordoned},
		{"preempted", preempted},
		{"watch expired", watchExpired},
		{"node deleted", nodeDeleted},
		{"node away", nodeAway},
		{"deleted unseen", deletedUnseen},
		{"exclusive without a lease", exclusiveWithoutLease},
	} {
		passed := t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, k, singleServer)
			w.serve()
			test.run(t, w)
		})
		if !passed { // it may not have repaired the Kubernetes, so the remaining tests would fail, too
			return
		}
	}
}

// onOwnWithTwo returns a world in a Kubernetes of its own, with a database for the registry of two servers, which are
// not started.
func onOwnWithTwo(t *testing.T, nodes int) (w *world, c *system.Cluster) {
	t.Helper()
	kubernetesserver.Require(t)
	t.Parallel()
	w = newWorld(t, startOwn(t, nodes), func(t testing.TB, flags []string) *system.Machine {
		c = system.NewServersInSQL(t, bin, mariadb.Start(t), flags...)
		return c.Machine
	})
	return w, c
}

func startOwn(t *testing.T, nodes int) *kubernetesserver.Cluster {
	t.Helper()
	o, err := options(nodes)
	if err != nil {
		t.Fatal(err)
	}
	return kubernetesserver.Start(t, o)
}

// singleServer returns the machine of a single server.
func singleServer(t testing.TB, _ []string) *system.Machine { return system.New(t, bin) }

// newWorld creates a namespace and the template of its pods. machine then returns the Machine of the servers, which get
// the flags.
func newWorld(t testing.TB, k *kubernetesserver.Cluster,
	machine func(t testing.TB, flags []string) *system.Machine) *world {
	t.Helper()
	w := &world{k: k, namespace: fmt.Sprint("jobs-", namespaces.Add(1))}
	k.Namespace(t, w.namespace, nil)
	template := filepath.Join(t.TempDir(), "template.json")
	w.flags = []string{"--kubernetes", "--kubeconfig", k.Kubeconfig(), "--kubernetes-namespace", w.namespace,
		"--kubernetes-image", "docker.io/local/task:1", "--kubernetes-pod-template", template}
	w.Machine = machine(t, w.flags)
	// Pods write the ledger as the user of the image, and fetch packages from this machine's loopback interface.
	ledgers := filepath.Dir(w.LedgerPath)
	if err := errors.Join(os.Chmod(filepath.Dir(ledgers), 0o711), os.Chmod(ledgers, 0o777)); err != nil {
		t.Fatal(err)
	}
	text := w.json(system.Doc{"spec": system.Doc{
		"hostNetwork": true,
		"containers":  []any{system.Doc{"name": "shard", "volumeMounts": []any{system.Doc{"name": "machine", "mountPath": os.TempDir()}}}},
		"volumes":     []any{system.Doc{"name": "machine", "hostPath": system.Doc{"path": os.TempDir()}}},
	}})
	if err := os.WriteFile(template, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) json(of any) string {
	w.Helper()
	text, err := json.Marshal(of)
	if err != nil {
		w.Fatal(err)
	}
	return string(text)
}

// serve starts the server and waits until it is ready.
func (w *world) serve(args ...string) {
	w.Helper()
	w.LaunchCommand(w.command(args...))
	w.Ready()
}

func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(bin.Scheduler(),
		slices.Concat(w.flags, []string{"--data-dir", w.Dir, "--listen", "127.0.0.1:0", "--time-zone", "UTC"},
			args)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.Dir, "SECRET_OF_THE_SERVER=" + w.Canary}
	return cmd
}

// job registers a job of one shard with the memory that an executor needs.
func (w *world) job(name, app string, fields system.Doc) {
	w.Helper()
	all := system.Doc{"memoryMB": 64}
	for field, value := range fields {
		all[field] = value
	}
	w.Job(name, app, all)
}

// pod contains the fields of a pod that the tests check.
type pod struct {
	Metadata struct {
		Name, UID           string
		Labels, Annotations map[string]string
		DeletionTimestamp   *string
	}
	Spec struct {
		NodeName   string
		Containers []struct{ Name, Image string }
	}
	Status struct {
		Phase             string
		ContainerStatuses []struct {
			Name  string
			State struct{ Waiting *struct{ Reason string } }
		}
	}
}

// pods returns the pods of a job.
func (w *world) pods(job string) []pod {
	w.Helper()
	var list struct{ Items []pod }
	w.k.OK(w.TB, "GET", "/api/v1/namespaces/"+w.namespace+"/pods", "", &list)
	var pods []pod
	for _, p := range list.Items {
		if p.Metadata.Annotations["elasticjob/job"] == job {
			pods = append(pods, p)
		}
	}
	return pods
}

// awaitExplanation waits until the explanation of a job contains these words.
func (w *world) awaitExplanation(job, words string) {
	w.Helper()
	w.Until("explain of "+job+" says: "+words, func() string {
		if text := w.OK("GET", "/api/job/"+job+"/explain", ""); !strings.Contains(text, words) {
			return text
		}
		return ""
	})
}

// awaitEvent waits until an event of a pod has a reason and contains these words.
func (w *world) awaitEvent(pod, reason, words string) {
	w.Helper()
	w.Until("an event of "+pod+" says: "+words, func() string {
		var list struct {
			Items []struct{ Reason, Message string }
		}
		w.k.OK(w.TB, "GET", "/api/v1/namespaces/"+w.namespace+"/events?fieldSelector=involvedObject.name="+pod, "",
			&list)
		for _, e := range list.Items {
			if e.Reason == reason && strings.Contains(e.Message, words) {
				return ""
			}
		}
		return fmt.Sprintf("%+v", list.Items)
	})
}

// only returns a package with a single script, the app's.
func only(commands string) system.Files {
	return system.Files{"bin/start.sh": "#!/bin/sh\n" + commands + "\n"}
}
