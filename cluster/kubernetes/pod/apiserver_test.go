package pod_test

import (
	"encoding/json"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/test/kubernetesserver"
)

// TestOnKubernetesTemplatesAreJudgedAsByTheAPIServer checks that the API server accepts the templates that Check
// accepts, and rejects those that Check rejects as malformed.
func TestOnKubernetesTemplatesAreJudgedAsByTheAPIServer(t *testing.T) {
	t.Parallel()
	k := kubernetesserver.Start(t, kubernetesserver.Options{})
	k.Namespace(t, "jobs", nil)
	k.OK(t, http.MethodPost, "/apis/scheduling.k8s.io/v1/priorityclasses", `{"metadata":{"name":"low"},"value":-1}`,
		nil)
	k.OK(t, http.MethodPost, "/apis/node.k8s.io/v1/runtimeclasses",
		`{"metadata":{"name":"gvisor"},"handler":"gvisor"}`, nil)
	judged := func(made any) kubernetesserver.Answer {
		text, err := json.Marshal(made)
		if err != nil {
			t.Fatal(err)
		}
		return k.Call(t, http.MethodPost, "/api/v1/namespaces/jobs/pods?dryRun=All&fieldValidation=Strict",
			string(text), kubernetesserver.JSON)
	}
	with := func(text string) func(*wire.Task, *cluster.TaskLaunch) {
		return func(_ *wire.Task, l *cluster.TaskLaunch) {
			l.Container = cluster.Container{Image: "registry.example/reports:7", Template: []byte(text)}
		}
	}
	for _, text := range acceptedTemplates {
		made, _ := build(t, settings(), with(text))
		if a := judged(made); a.Status != http.StatusCreated {
			t.Errorf("%s: accepted by Check but rejected by the API server: %s", text, a.Body)
		}
	}
	plain, _ := build(t, settings(), with(""))
	for text := range malformed {
		before, err := json.Marshal(plain)
		if err != nil {
			t.Fatal(err)
		}
		merged, err := strategicpatch.StrategicMergePatch(before, []byte(text), corev1.Pod{})
		if err != nil {
			continue // it cannot even be merged
		}
		if a := judged(json.RawMessage(merged)); a.Status < http.StatusBadRequest {
			t.Errorf("%s: rejected by Check but accepted by the API server: %d", text, a.Status)
		}
	}
}
