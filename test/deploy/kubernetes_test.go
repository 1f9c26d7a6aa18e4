package deploy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/eventually"
	"github.com/elasticjob-go/elasticjob/test/kubernetesserver"
)

// kubectlDir is the folder of kubectl, once a test needs it. TestMain removes it.
var kubectlDir string

// builtKubectl builds kubectl once for all tests.
var builtKubectl = sync.OnceValues(func() (k kubernetesserver.Kubectl, err error) {
	if kubectlDir, err = os.MkdirTemp("", "elasticjob-kubectl-*"); err != nil {
		return k, err
	}
	return kubernetesserver.BuildKubectl(kubectlDir)
})

// manifests is the folder that readers of docs/kubernetes.md apply.
const manifests = "../../deploy/kubernetes"

// TestOnKubernetes applies deploy/kubernetes with kubectl, unchanged, removes it, and then runs what it installs.
func TestOnKubernetes(t *testing.T) {
	t.Parallel()
	kubernetesserver.Require(t)
	kubectl, err := builtKubectl()
	if err != nil {
		t.Fatal(err)
	}
	server := kubernetesserver.Server(bin.Dir)
	named := server
	named.Name = "docker.io/library/elasticjob:dev" // so that no node tries to pull it
	c := kubernetesserver.Start(t, kubernetesserver.Options{
		Images: []kubernetesserver.Image{named, server, kubernetesserver.Task(bin.Dir)},
	})
	t.Run("as it is", func(t *testing.T) { asItIs(t, c, kubectl) })
	kubectl.Run(t, c, "delete", "-k", manifests)
	t.Run("installed", func(t *testing.T) { installed(t, c, kubectl) })
}

// asItIs applies the files, and asks the API for the results.
func asItIs(t *testing.T, c *kubernetesserver.Cluster, kubectl kubernetesserver.Kubectl) {
	if out := kubectl.Run(t, c, "apply", "-k", manifests); strings.Contains(out, "Warning") {
		t.Errorf("the API warns:\n%s", out)
	}

	t.Run("permissions of the servers", func(t *testing.T) { mayDo(t, c) })
	t.Run("two servers", func(t *testing.T) {
		// The namespace rejects pods that do not conform to the restricted standard.
		eventually.Works(t, "make two pods", func() error {
			if names := kubectl.Run(t, c, "get", "pods", "-n", "elasticjob", "-l", "app.kubernetes.io/name=elasticjob",
				"-o", "name"); strings.Count(names, "pod/") != 2 {
				return fmt.Errorf("there are %q: %s", names, kubectl.Run(t, c, "get", "events", "-n", "elasticjob"))
			}
			return nil
		})
	})
	t.Run("other manifests", func(t *testing.T) {
		for _, args := range [][]string{{"-k", manifests + "/trial"},
			{"-f", manifests + "/network-policy/policies.yaml"}, {"-f", manifests + "/autoscaler/role.yaml"}} {
			if out := kubectl.Run(t, c, append([]string{"apply", "--dry-run=server"},
				args...)...); strings.Contains(out, "Warning") {
				t.Errorf("%q: the API warns:\n%s", args, out)
			}
		}
	})
	t.Run("parts that are commented out", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "kubernetes")
		err := os.CopyFS(dir, os.DirFS(manifests))
		commented := regexp.MustCompile(`(?m)^( *)# ((?: *- |components:|patches:|  +\S+: |  +\S+:$).*)$`)
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, "pod-template.yaml"),
			[]byte("spec: {nodeSelector: {pool: batch}}"), 0o600),
			os.WriteFile(filepath.Join(dir, "kustomization.yaml"),
				commented.ReplaceAll([]byte(read(t, manifests+"/kustomization.yaml")), []byte("$1$2")), 0o600))
		if err != nil {
			t.Fatal(err)
		}
		out := kubectl.Run(t, c, "apply", "--dry-run=server", "-o", "yaml", "-k", dir)
		for _, want := range []string{"kind: NetworkPolicy", "pool: batch",
			"ELASTICJOB_KUBERNETES_POD_TEMPLATE: /etc/elasticjob/pod-template.yaml", "mountPath: /etc/elasticjob\n",
			"name: ELASTICJOB_KUBERNETES_ASSIGNED_USER\n"} {
			if !strings.Contains(out, want) {
				t.Errorf("there is no %q in:\n%s", want, out)
			}
		}
		for _, named := range []string{"runAsUser:", "runAsGroup:", "fsGroup:"} {
			if strings.Contains(out, named) {
				t.Errorf("with the component openshift, there is %s in:\n%s", named, out)
			}
		}
	})
	t.Run("objects left by another password", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "kubernetes")
		err := errors.Join(os.CopyFS(dir, os.DirFS(manifests)),
			os.WriteFile(filepath.Join(dir, "database.env"), []byte("ELASTICJOB_REGISTRY=another"), 0o600))
		if err != nil {
			t.Fatal(err)
		}
		generated := func() []string {
			return strings.Fields(kubectl.Run(t, c, "get", "secrets,configmaps", "-n", "elasticjob", "-o", "name",
				"-l", "app.kubernetes.io/part-of=elasticjob"))
		}
		before := generated()
		kubectl.Run(t, c, "apply", "-k", dir)
		if both := generated(); len(before) != 2 || len(both) != 3 {
			t.Fatalf("before there are %q, and then %q", before, both)
		}
		generation := func() string {
			return kubectl.Run(t, c, "get", "deployment", "elasticjob", "-n", "elasticjob", "-o",
				"jsonpath={.metadata.generation}")
		}
		generationBefore := generation()
		pruned := kubectl.Run(t, c, "apply", "-k", dir, "--prune", "-l", "app.kubernetes.io/part-of=elasticjob",
			"--prune-allowlist", "core/v1/ConfigMap", "--prune-allowlist", "core/v1/Secret")
		if left := generated(); len(left) != 2 || strings.Count(pruned, "pruned") != 1 ||
			generation() != generationBefore {
			t.Errorf("%q are left, and the deployment is of generation %s, not %s:\n%s", left, generation(),
				generationBefore, pruned)
		}
		kubectl.Run(t, c, "apply", "-k", manifests)
	})
	t.Run("unrestricted pods", func(t *testing.T) {
		for _, namespace := range []string{"elasticjob", "elasticjob-jobs"} {
			out, err := kubectl.Try(t, c, "run", "root", "-n", namespace, "--image="+kubernetesserver.Box.Name)
			if err == nil || !strings.Contains(out, "violates PodSecurity") {
				t.Errorf("%s does not reject an unrestricted pod: %v\n%s", namespace, err, out)
			}
		}
	})
	t.Run("no objects of the servers in the namespace of jobs", func(t *testing.T) {
		// Users who may publish an app could name such objects in its podTemplate.
		for resource, want := range map[string]string{"secrets": "", "serviceaccounts": "serviceaccount/default",
			"persistentvolumeclaims": ""} {
			if names := strings.TrimSpace(kubectl.Run(t, c, "get", resource, "-n", "elasticjob-jobs", "-o",
				"name")); names != want && names != "" {
				t.Errorf("%s of the jobs' namespace are %q", resource, names)
			}
		}
	})
}

// mayDo checks the permissions of the servers, with a token of their account.
func mayDo(t *testing.T, c *kubernetesserver.Cluster) {
	token := c.Token(t, "elasticjob", "elasticjob")
	const own, servers, other, everywhere = "elasticjob-jobs", "elasticjob", "default", ""
	for _, r := range []struct {
		namespace, resource, verbs string
		may                        bool
	}{
		{own, "pods", "create get list watch patch delete", true},
		{own, "pods", "update deletecollection", false},
		{own, "pods/binding", "create", true},
		{own, "pods/log", "get", true},
		{own, "pods/exec", "create get", false},
		{own, "pods/portforward", "create get", false},
		{own, "pods/ephemeralcontainers", "patch update", false},
		{own, "pods/eviction", "create", false},
		{own, "pods/status", "patch update", false},
		{own, "events", "create", true},
		{own, "events", "patch delete list", false},
		{own, "leases.coordination.k8s.io", "get create update", true},
		{own, "leases.coordination.k8s.io", "delete list patch", false},
		{own, "secrets", "create", true},
		{own, "secrets", "get list watch update patch delete deletecollection", false},
		{own, "serviceaccounts/token", "create", false},
		{own, "configmaps", "get list create", false},
		{own, "deployments.apps", "get patch", false},
		{own, "rolebindings.rbac.authorization.k8s.io", "create get", false},
		{servers, "pods", "create get delete patch", false},
		{servers, "pods/log", "get", false},
		{servers, "secrets", "create get list delete", false},
		{servers, "leases.coordination.k8s.io", "get create update", false},
		{servers, "serviceaccounts/token", "create", false},
		{other, "pods", "list watch", true},
		{other, "pods", "create get delete patch", false},
		{other, "pods/log", "get", false},
		{other, "pods/binding", "create", false},
		{other, "secrets", "create delete get", false},
		{other, "leases.coordination.k8s.io", "get create update", false},
		{"kube-system", "secrets", "get list", false},
		{everywhere, "nodes", "list watch", true},
		{everywhere, "nodes", "get patch update delete", false},
		{everywhere, "nodes/proxy", "get create", false},
		{everywhere, "namespaces", "get list create", false},
		{everywhere, "clusterroles.rbac.authorization.k8s.io", "get create", false},
	} {
		for verb := range strings.FieldsSeq(r.verbs) {
			if may := allowed(t, c, token, r.namespace, r.resource, verb); may != r.may {
				t.Errorf("%s %s in %q: allowed: %t, want %t", verb, r.resource, r.namespace, may, r.may)
			}
		}
	}
	// The table may omit something, so no rule may allow all verbs or resources.
	a := c.CallAs(t, token, "POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
		`{"spec":{"namespace":"elasticjob-jobs"}}`)
	var said struct {
		Status struct {
			ResourceRules []struct{ Verbs, Resources []string }
		}
	}
	if err := json.Unmarshal([]byte(a.Body), &said); err != nil || len(said.Status.ResourceRules) == 0 {
		t.Fatalf("the rules: %v %d %s", err, a.Status, a.Body)
	}
	for _, rule := range said.Status.ResourceRules {
		if slices.Contains(rule.Verbs, "*") || slices.Contains(rule.Resources, "*") {
			t.Errorf("the rule %+v allows everything", rule)
		}
	}
}

// allowed asks the API whether the token's owner has a permission.
func allowed(t *testing.T, c *kubernetesserver.Cluster, token, namespace, resource, verb string) bool {
	t.Helper()
	resource, group, _ := strings.Cut(resource, ".")
	resource, sub, _ := strings.Cut(resource, "/")
	text, err := json.Marshal(map[string]any{"spec": map[string]any{"resourceAttributes": map[string]string{
		"namespace": namespace, "verb": verb, "group": group, "resource": resource, "subresource": sub,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	a := c.CallAs(t, token, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", string(text))
	var said struct{ Status *struct{ Allowed bool } }
	if err := json.Unmarshal([]byte(a.Body), &said); err != nil || said.Status == nil {
		t.Fatalf("ask whether %s %s is allowed: %v %d %s", verb, resource, err, a.Status, a.Body)
	}
	return said.Status.Allowed
}
