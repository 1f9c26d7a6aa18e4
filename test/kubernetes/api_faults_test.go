package kubernetes_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// asAccount gives the server a service account of its own, so that API priority and fairness can distinguish it from
// others. It returns the user name of the account and the flag with its kubeconfig.
func (w *world) asAccount() (user, flag string) {
	w.Helper()
	ca, err := os.ReadFile(w.k.CA())
	if err != nil {
		w.Fatal(err)
	}
	w.k.OK(w.TB, "POST", "/api/v1/namespaces/"+w.namespace+"/serviceaccounts", `{"metadata":{"name":"server"}}`, nil)
	w.k.OK(w.TB, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
		w.json(system.Doc{"metadata": system.Doc{"name": "server-" + w.namespace},
			"roleRef":  system.Doc{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
			"subjects": []any{system.Doc{"kind": "ServiceAccount", "namespace": w.namespace, "name": "server"}},
		}), nil)
	token := w.k.Token(w.TB, w.namespace, "server")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "https://%s", certificate-authority-data: %s}}]
users: [{name: server, user: {token: %s}}]
contexts: [{name: test, context: {cluster: test, user: server}}]
current-context: test
`, w.k.Address(), base64.StdEncoding.EncodeToString(ca), token)
	path := filepath.Join(w.Dir, "kubeconfig")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
	return "system:serviceaccount:" + w.namespace + ":server", "--kubeconfig=" + path
}

// throttle makes the API server accept only a few concurrent requests of a user, and reject others with 429.
func (w *world) throttle(user string) {
	w.Helper()
	const group = "/apis/flowcontrol.apiserver.k8s.io/v1/"
	name := "few-" + w.namespace
	w.k.OK(w.TB, "POST", group+"prioritylevelconfigurations",
		w.json(system.Doc{"metadata": system.Doc{"name": name}, "spec": system.Doc{"type": "Limited",
			"limited": system.Doc{"nominalConcurrencyShares": 1, "lendablePercent": 0, "borrowingLimitPercent": 0,
				"limitResponse": system.Doc{"type": "Reject"}}}}), nil)
	w.k.OK(w.TB, "POST", group+"flowschemas",
		w.json(system.Doc{"metadata": system.Doc{"name": name}, "spec": system.Doc{
			"matchingPrecedence": 2, "priorityLevelConfiguration": system.Doc{"name": name},
			"rules": []any{system.Doc{
				"subjects": []any{system.Doc{"kind": "User", "user": system.Doc{"name": user}}},
				"resourceRules": []any{system.Doc{"apiGroups": []string{"*"}, "resources": []string{"*"}, "verbs": []string{"*"},
					"namespaces": []string{"*"}, "clusterScope": true}},
			}},
		}}), nil)
}

// TestOnKubernetesThrottled: if the API server rejects requests with 429, runs are delayed, nothing is lost, and the
// rejections are counted.
func TestOnKubernetesThrottled(t *testing.T) {
	w := onShared(t)
	user, kubeconfig := w.asAccount()
	w.throttle(user)
	w.serve(kubeconfig)
	w.App("a", system.Files{"bin/start.sh": system.Ledger}, nil)
	var ids []string
	for n := range 2 {
		w.job(fmt.Sprint("j", n), "a", system.Doc{"shardingTotalCount": 10, "cpuCount": 0.01, "memoryMB": 32})
	}
	for n := range 2 {
		ids = append(ids, w.Trigger(fmt.Sprint("j", n)))
	}
	for _, id := range ids {
		w.Await(id, "FINISHED")
	}
	if w.Metric("elasticjob_kubernetes_requests_throttled_total") == "0" {
		t.Error("no request was throttled")
	}
	w.OnceEach()
}
