package kubernetes_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
	"github.com/elasticjob-go/elasticjob/test/kubernetesserver"
)

// verdict is the answer of a webhook about a pod.
type verdict struct {
	refusal string // why the pod is rejected; "" if it is allowed
	patch   []any  // a JSON patch
}

// webhook is a webhook that the API server calls for each new pod of a namespace.
type webhook struct {
	w     *world
	path  string // of its configuration
	asked atomic.Int64
	quiet chan struct{} // while it is open, the webhook does not answer; nil if it always answers
}

// webhook makes the API server call a webhook for pods of the world's namespace, and waits until it does. judge returns
// the webhook's answer about the pod of a name. The caller must remove the webhook.
func (w *world) webhook(kind string, quiet chan struct{}, judge func(name string) verdict) *webhook {
	w.Helper()
	h := &webhook{w: w, quiet: quiet}
	server := httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter,
		r *http.Request) {
		h.answer(out, r, judge)
	}))
	w.Cleanup(server.Close)
	name := "hook-" + w.namespace
	h.path = "/apis/admissionregistration.k8s.io/v1/" + kind + "webhookconfigurations/" + name
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	w.k.OK(w.TB, "POST", strings.TrimSuffix(h.path, "/"+name),
		w.json(system.Doc{"metadata": system.Doc{"name": name}, "webhooks": []any{system.Doc{
			"name": "pods.example.com", "failurePolicy": "Fail", "sideEffects": "None", "timeoutSeconds": 1, "admissionReviewVersions": []string{"v1"},
			"clientConfig":      system.Doc{"url": server.URL, "caBundle": base64.StdEncoding.EncodeToString(authority)},
			"namespaceSelector": system.Doc{"matchLabels": system.Doc{"kubernetes.io/metadata.name": w.namespace}},
			"rules":             []any{system.Doc{"apiGroups": []string{""}, "apiVersions": []string{"v1"}, "operations": []string{"CREATE"}, "resources": []string{"pods"}}},
		}}}), nil)
	w.Until("the API server asks the webhook", func() string {
		if h.probe(); h.asked.Load() == 0 {
			return "it does not"
		}
		return ""
	})
	return h
}

// probe sends a dry run of a pod to the API server.
func (h *webhook) probe() kubernetesserver.Answer {
	h.w.Helper()
	return h.w.k.Call(h.w.TB, "POST", "/api/v1/namespaces/"+h.w.namespace+"/pods?dryRun=All",
		`{"metadata":{"name":"probe"},"spec":{"containers":[{"name":"shard","image":"x"}]}}`, kubernetesserver.JSON)
}

func (h *webhook) answer(out http.ResponseWriter, r *http.Request, judge func(name string) verdict) {
	h.asked.Add(1)
	if h.quiet != nil {
		select {
		case <-h.quiet:
		case <-r.Context().Done():
		}
		return
	}
	var review struct {
		Request struct {
			UID    string
			Object struct{ Metadata struct{ Name string } }
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	said := judge(review.Request.Object.Metadata.Name)
	answer := system.Doc{"uid": review.Request.UID, "allowed": said.refusal == ""}
	if said.refusal != "" {
		answer["status"] = system.Doc{"message": said.refusal, "code": http.StatusForbidden}
	}
	if len(said.patch) > 0 {
		patch, err := json.Marshal(said.patch)
		if err != nil {
			http.Error(out, err.Error(), http.StatusInternalServerError)
			return
		}
		answer["patchType"], answer["patch"] = "JSONPatch", patch
	}
	out.Header().Set("Content-Type", kubernetesserver.JSON)
	_ = json.NewEncoder(out).Encode(system.Doc{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"response": answer}) // the caller may have closed the connection
}

// remove deletes the configuration, and waits until the API server no longer calls the webhook.
func (h *webhook) remove() {
	h.w.Helper()
	a := h.w.k.Call(h.w.TB, "DELETE", h.path, "", "")
	if a.Status == http.StatusNotFound {
		return
	}
	h.w.Until("the API server does not ask the webhook any more", func() string {
		before := h.asked.Load()
		if h.probe(); h.asked.Load() != before {
			return "it does"
		}
		return ""
	})
}

// TestOnKubernetesWebhookRefuses: a shard whose pod a webhook rejects fails with the webhook's message. The job runs
// once the webhook is removed.
func TestOnKubernetesWebhookRefuses(t *testing.T) {
	w := onShared(t)
	w.serve()
	w.App("a", only("exit 0"), nil)
	w.job("j", "a", nil)
	const why = "no pods on Tuesdays"
	h := w.webhook("validating", nil, func(string) verdict { return verdict{refusal: why} })
	defer h.remove()
	if e := w.Run("j", "FAILED"); !strings.Contains(e.Shards[0].FailureCause, why) {
		t.Errorf("the cause is %q", e.Shards[0].FailureCause)
	}
	w.awaitExplanation("j", why)
	h.remove()
	w.Run("j", "FINISHED")
}

// TestOnKubernetesWebhookQuiet: the explanation says that a shard waits for a webhook that does not answer. The shard
// runs once the webhook is removed.
func TestOnKubernetesWebhookQuiet(t *testing.T) {
	w := onShared(t)
	w.serve()
	w.App("a", system.Files{"bin/start.sh": system.Ledger}, nil)
	w.job("j", "a", system.Doc{"shardingTotalCount": 3})
	quiet := make(chan struct{})
	defer close(quiet)
	h := w.webhook("validating", quiet, nil)
	defer h.remove()
	id := w.Trigger("j")
	w.awaitExplanation("j", "failed calling webhook")
	w.awaitExplanation("j", "pods.example.com")
	h.remove()
	w.Await(id, "FINISHED")
	w.OnceEach()
}

// TestOnKubernetesWebhookChanges: a webhook may add labels and containers, and change the image; changes that are not
// allowed are reported. A container that a webhook adds does not prevent the task from running or ending, even if the
// container cannot be started.
func TestOnKubernetesWebhookChanges(t *testing.T) {
	w := onShared(t)
	w.serve()
	w.App("a", system.Files{"bin/start.sh": system.Ledger}, nil)
	mirror, err := kubernetesserver.Task(bin.Dir).With("flock")
	if err != nil {
		t.Fatal(err)
	}
	mirror.Name = "docker.io/local/mirror:1"
	w.k.Nodes[0].Load(t, mirror)
	add := func(path string, value any) any { return system.Doc{"op": "add", "path": path, "value": value} }
	sidecar := func(user int) []any {
		return []any{add("/metadata/labels/team", "blue"), add("/spec/containers/0/image", mirror.Name),
			add("/spec/containers/-", system.Doc{
				"name": "sidecar", "image": kubernetesserver.Box.Name, "securityContext": system.Doc{"runAsUser": user},
				"command": []string{"/bin/sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.1; done"}})}
	}
	patches := map[string][]any{
		"runs": sidecar(1000), "broken": sidecar(0), // restricted pods run nothing as root
		"unbindable": {add("/spec/schedulerName", "others")},
	}
	h := w.webhook("mutating", nil, func(name string) verdict {
		job, _, _ := strings.Cut(name, "-")
		return verdict{patch: patches[job]}
	})
	defer h.remove()
	path, release := w.Hold()
	for job := range patches {
		w.job(job, "a", system.Doc{"env": map[string]string{"HOLD": path}})
	}
	if e := w.Run("unbindable", "FAILED"); !strings.Contains(e.Shards[0].FailureCause,
		"changed spec.schedulerName of its pod") {
		t.Errorf("the cause is %q", e.Shards[0].FailureCause)
	}
	ids := []string{w.Trigger("runs"), w.Trigger("broken")}
	w.AwaitStarts(ids[0], 1)
	w.AwaitStarts(ids[1], 1)
	w.Until("the kubelet can't start the sidecar of one", func() string {
		text := w.json(w.pods("broken"))
		if !strings.Contains(text, "CreateContainerConfigError") {
			return text
		}
		return ""
	})
	for _, job := range []string{"runs", "broken"} {
		p := w.pods(job)[0]
		if p.Metadata.Labels["team"] != "blue" || len(p.Spec.Containers) != 2 ||
			p.Spec.Containers[0].Image != mirror.Name || p.Metadata.DeletionTimestamp != nil {
			t.Errorf("the pod of %s is %+v", job, p)
		}
	}
	release()
	// The sidecar of the first run must not keep the second one from running.
	for _, id := range append(ids, w.Trigger("runs")) {
		w.Await(id, "FINISHED")
	}
	w.Until("no sidecar runs", func() string {
		for _, p := range append(w.pods("runs"), w.pods("broken")...) {
			if p.Metadata.DeletionTimestamp == nil && (p.Status.Phase == "Running" || p.Status.Phase == "Pending") {
				return p.Metadata.Name + " is " + p.Status.Phase
			}
		}
		return ""
	})
	w.OnceEach()
}
