package kubernetes_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
)

// If the API server cannot be reached, the error says what to check.
func TestConnectionHint(t *testing.T) {
	t.Parallel()
	untrusted := httptest.NewTLSServer(nil)
	defer untrusted.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	for host, want := range map[string]string{
		gone.URL:      "does an API server run at that address? If not, check the kubeconfig",
		untrusted.URL: "check the certificate-authority of the kubeconfig",
	} {
		d, err := kubernetes.New(kubernetes.Options{Config: &rest.Config{Host: host},
			Pods: pod.Settings{Namespace: "jobs", Image: "task:1"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Subscribe(t.Context(), cluster.Framework{ID: "f"}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", host, err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
