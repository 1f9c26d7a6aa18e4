package kubernetes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
	"github.com/elasticjob-go/elasticjob/test/kubernetesserver"
)

// TestOnKubernetesEnds checks what the user reads about shards that fail.
func TestOnKubernetesEnds(t *testing.T) {
	for _, end := range []struct {
		name   string
		files  system.Files // in the package; nil for none
		app    system.Doc
		causes []string
	}{
		{"exit status", only("echo went wrong >&2; exit 3"), nil, []string{"3", "went wrong"}},
		{"memory", only("exec tail /dev/zero"), nil, []string{"memory"}},
		{"package that is not there", nil, nil, []string{"404"}},
		{"script that is not there", only("exit 0"), system.Doc{"bootstrapScript": "bin/none.sh"}, []string{"bin/none.sh"}},
	} {
		t.Run(strings.ReplaceAll(end.name, " ", "-"), func(t *testing.T) {
			w := onShared(t)
			w.serve()
			w.App("a", end.files, end.app)
			w.job("j", "a", nil)
			e := w.Run("j", "FAILED")
			for _, cause := range end.causes {
				if !strings.Contains(e.Shards[0].FailureCause, cause) {
					t.Errorf("the cause is %q, want %q in it", e.Shards[0].FailureCause, cause)
				}
			}
		})
	}
}

// TestOnKubernetesExecutorDoesNotStart: if a node cannot execute the program, the container runtime notices it only
// after the container counts as started, and reports it only in the container's output. So the cause must be taken from
// the output.
func TestOnKubernetesExecutorDoesNotStart(t *testing.T) {
	w := onShared(t)
	noProgram := filepath.Join(t.TempDir(), "executor")
	if err := os.WriteFile(noProgram, []byte("of another kind of machine"), 0o755); err != nil {
		t.Fatal(err)
	}
	image := kubernetesserver.Image{Name: "docker.io/local/foreign:1", User: "65532:65532",
		Folders: []string{"/elasticjob"}, Files: map[string]string{"/opt/elasticjob/executor": noProgram}}
	w.k.Nodes[0].Load(t, image)
	w.flags = append(w.flags, "--kubernetes-image", image.Name)
	w.serve()
	w.App("foreign", only("exit 0"), nil)
	w.App("init", only("exit 0"), system.Doc{"image": kubernetesserver.Box.Name,
		"podTemplate": system.Doc{"spec": system.Doc{"securityContext": system.Doc{"runAsUser": 1000}}}})
	for _, app := range []string{"foreign", "init"} {
		w.job(app, app, nil)
		cause := w.Run(app, "FAILED").Shards[0].FailureCause
		for _, want := range []string{"status 1", "/opt/elasticjob/executor: exec format error"} {
			if !strings.Contains(cause, want) {
				t.Errorf("%s: the cause is %q, want %q in it", app, cause, want)
			}
		}
	}
}

// TestOnKubernetesImageThatIsNotThere: a pod whose image cannot be pulled for 20 seconds is abandoned, and after the
// fifth time in a row the shard fails.
func TestOnKubernetesImageThatIsNotThere(t *testing.T) {
	w := onShared(t)
	w.serve()
	w.App("a", only("exit 0"), system.Doc{"image": "docker.io/local/none:1", "imagePullPolicy": "Never"})
	w.job("j", "a", nil)
	id := w.Trigger("j")
	for attempt := range 5 {
		w.Until("the pod is abandoned", func() string {
			if s := w.Execution(id).Shards[0]; s.Attempt <= attempt+1 && s.State != "FAILED" {
				return fmt.Sprintf("%+v", s)
			}
			return ""
		})
	}
	if e := w.Await(id, "FAILED"); !strings.Contains(e.Shards[0].FailureCause, "docker.io/local/none:1") {
		t.Errorf("the cause is %q", e.Shards[0].FailureCause)
	}
}

// TestOnKubernetesRefused: a shard whose pod an admission policy rejects fails with the message of the policy.
func TestOnKubernetesRefused(t *testing.T) {
	w := onShared(t)
	w.serve()
	w.App("a", only("exit 0"), nil)
	w.job("j", "a", nil)
	name := "refuses-" + w.namespace
	policies := "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
	w.k.OK(t, "POST", policies+"ies", w.json(system.Doc{"metadata": system.Doc{"name": name}, "spec": system.Doc{
		"matchConstraints": system.Doc{
			"namespaceSelector": system.Doc{"matchLabels": system.Doc{"kubernetes.io/metadata.name": w.namespace}},
			"resourceRules":     []any{system.Doc{"apiGroups": []string{""}, "apiVersions": []string{"v1"}, "operations": []string{"CREATE"}, "resources": []string{"pods"}}},
		},
		"validations": []any{system.Doc{"expression": "false", "message": "no pods on Mondays"}},
	}}), nil)
	w.k.OK(t, "POST", policies+"ybindings",
		w.json(system.Doc{"metadata": system.Doc{"name": name},
			"spec": system.Doc{"policyName": name, "validationActions": []string{"Deny"}}}), nil)
	w.Until("the policy is in force", func() string {
		a := w.k.Call(t, "POST", "/api/v1/namespaces/"+w.namespace+"/pods?dryRun=All",
			`{"metadata":{"name":"x"},"spec":{"containers":[{"name":"x","image":"x"}]}}`, kubernetesserver.JSON)
		if !strings.Contains(a.Body, "no pods on Mondays") {
			return a.Body
		}
		return ""
	})
	if e := w.Run("j", "FAILED"); !strings.Contains(e.Shards[0].FailureCause, "no pods on Mondays") {
		t.Errorf("the cause is %q", e.Shards[0].FailureCause)
	}
}

// TestOnKubernetesWaits checks that the explanation says what a shard waits for, and that the shard runs once that is
// available.
func TestOnKubernetesWaits(t *testing.T) {
	t.Run("room", func(t *testing.T) {
		w := onShared(t)
		w.serve()
		w.App("a", only("exit 0"), nil)
		w.job("j", "a", system.Doc{"cpuCount": 1000})
		id := w.Trigger("j")
		w.awaitExplanation("j", "CPU")
		w.Update("j", system.Doc{"cpuCount": 0.1})
		w.OK("POST", "/api/execution/"+id+"/kill", "")
		w.Run("j", "FINISHED")
	})
	t.Run("quota", func(t *testing.T) {
		w := onShared(t)
		w.serve()
		w.App("a", only("exit 0"), nil)
		w.job("j", "a", nil)
		quota := "/api/v1/namespaces/" + w.namespace + "/resourcequotas"
		for _, q := range []struct{ resource, limit, words string }{{"pods", "0", "exceeded quota"},
			{"limits.cpu", "8", "must specify limits.cpu"}} {
			w.k.OK(t, "POST", quota, fmt.Sprintf(`{"metadata":{"name":"some"},"spec":{"hard":{%q:%q}}}`, q.resource,
				q.limit), nil)
			w.Until("the quota is in force", func() string {
				var now struct {
					Status struct{ Hard map[string]string }
				}
				w.k.OK(t, "GET", quota+"/some", "", &now)
				if now.Status.Hard[q.resource] != q.limit {
					return "it is not"
				}
				return ""
			})
			id := w.Trigger("j")
			w.awaitExplanation("j", q.words)
			w.k.OK(t, "DELETE", quota+"/some", "", nil)
			w.Await(id, "FINISHED")
		}
	})
}

// cordoned: a shard waits while no node accepts pods.
func cordoned(t *testing.T, w *world) {
	w.App("a", only("exit 0"), nil)
	w.job("j", "a", nil)
	setCordoned := func(cordoned string) {
		t.Helper()
		if a := w.k.Call(t, "PATCH", "/api/v1/nodes/node1", `{"spec":{"unschedulable":`+cordoned+`}}`,
			"application/merge-patch+json"); a.Status != 200 {
			t.Fatalf("cordon: %d %s", a.Status, a.Body)
		}
	}
	setCordoned("true")
	id := w.Trigger("j")
	w.Until("a shard waits for the node", func() string {
		x := w.Explain("j")
		if len(x.Waiting) == 1 && strings.Contains(x.Waiting[0].Reason, "it is cordoned") {
			return ""
		}
		if w.Execution(id).State == "FINISHED" { // the server did not know about the cordon yet
			id = w.Trigger("j")
		}
		return fmt.Sprintf("%+v", x)
	})
	setCordoned("false")
	w.Await(id, "FINISHED")
}
