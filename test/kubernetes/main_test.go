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
	bin    system.Binaries
	shared = kubernetesserver.Shared{Options: func() (kubernetesserver.Options, error) { return with(1) }}
	made   atomic.Int64 // number of namespaces
)

func TestMain(m *testing.M) { os.Exit(system.Main(shared.Main(m), &bin, 3)) }

// with returns the options of a Kubernetes with this many nodes, which have the project's image with the programs
// that the ledger's script needs.
func with(nodes int) (kubernetesserver.Options, error) {
	task, err := kubernetesserver.Task(bin.Dir).With("flock")
	return kubernetesserver.Options{Nodes: nodes, Images: []kubernetesserver.Image{task}}, err
}

// world is a server with its jobs, in a namespace of a Kubernetes.
type world struct {
	*system.Machine
	k         *kubernetesserver.Cluster
	namespace string
	flags     []string // that name the Kubernetes
}

// onShared returns a world in the Kubernetes that the tests share.
func onShared(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	return newWorld(t, shared.Cluster(t), alone)
}

// TestOnKubernetesBroken breaks one Kubernetes in several ways, one after the other. Each test repairs it.
func TestOnKubernetesBroken(t *testing.T) {
	kubernetesserver.Require(t)
	t.Parallel()
	k := own(t, 1)
	for _, each := range []struct {
		name string
		test func(*testing.T, *world)
	}{
		{"cordoned", cordoned},
		{"preempted", preempted},
		{"watch expired", watchExpired},
		{"node deleted", nodeDeleted},
		{"node away", nodeAway},
		{"deleted unseen", deletedUnseen},
		{"exclusive without a lease", exclusiveWithoutLease},
	} {
		mended := t.Run(each.name, func(t *testing.T) {
			w := newWorld(t, k, alone)
			w.serve()
			each.test(t, w)
		})
		if !mended { // the remaining tests would only fail because of this
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
	w = newWorld(t, own(t, nodes), func(t testing.TB, flags []string) *system.Machine {
		c = system.NewServersInSQL(t, bin, mariadb.Start(t), flags...)
		return c.Machine
	})
	return w, c
}

func own(t *testing.T, nodes int) *kubernetesserver.Cluster {
	t.Helper()
	o, err := with(nodes)
	if err != nil {
		t.Fatal(err)
	}
	return kubernetesserver.Start(t, o)
}

// alone returns the machine of a single server.
func alone(t testing.TB, _ []string) *system.Machine { return system.New(t, bin) }

// newWorld creates a namespace, and the machine of servers with these flags.
func newWorld(t testing.TB, k *kubernetesserver.Cluster,
	machine func(t testing.TB, flags []string) *system.Machine) *world {
	t.Helper()
	w := &world{k: k, namespace: fmt.Sprint("jobs-", made.Add(1))}
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

// pod is the part of a pod that the tests check.
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
	var of []pod
	for _, p := range list.Items {
		if p.Metadata.Annotations["elasticjob/job"] == job {
			of = append(of, p)
		}
	}
	return of
}

// explained waits until the explanation of a job contains these words.
func (w *world) explained(job, words string) {
	w.Helper()
	w.Until("explain of "+job+" says: "+words, func() string {
		if text := w.OK("GET", "/api/job/"+job+"/explain", ""); !strings.Contains(text, words) {
			return text
		}
		return ""
	})
}

// told waits until an event of a pod has a reason and contains these words.
func (w *world) told(pod, reason, words string) {
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
