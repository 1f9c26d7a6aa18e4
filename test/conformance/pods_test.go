package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// TestPodsAreRestricted: the pods in the testdata of cluster/kubernetes/pod conform to the restricted standard, by
// the rules that API servers use. The rules detect deviations that an app's template causes.
func TestPodsAreRestricted(t *testing.T) {
	t.Parallel()
	rules, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	check := func(name string, p *corev1.Pod, allowed bool) {
		result := policy.AggregateCheckResults(rules.EvaluatePod(restricted, &p.ObjectMeta, &p.Spec))
		if result.Allowed != allowed {
			t.Errorf("%s: allowed is %v, want %v: %s", name, result.Allowed, allowed, result.ForbiddenDetail())
		}
	}
	shown, err := filepath.Glob(filepath.Join(repository, "cluster/kubernetes/pod/testdata/*.yaml"))
	if err != nil || len(shown) < 8 {
		t.Fatalf("there are %d pods: %v", len(shown), err)
	}
	for _, name := range shown {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(strings.TrimPrefix(string(text), "---\n"), "\n---\n")
		var p corev1.Pod
		if err := yaml.UnmarshalStrict([]byte(first), &p); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		check(name, &p, true)
	}
	s := pod.Settings{Namespace: "jobs", Image: "registry.example/elasticjob-task:1"}
	task := wire.Task{TaskID: "j@-@0@-@READY@-@node-1@-@5d9e7a7e", JobName: "j", Command: []string{"bin/start.sh"}}
	for _, spec := range []string{
		"hostNetwork: true", "securityContext: {runAsNonRoot: false}", "securityContext: null",
	} {
		template, err := pod.ReadTemplate([]byte("spec: {" + spec + "}"))
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := s.Build(cluster.TaskLaunch{TaskID: task.TaskID, Task: task, Resources: resources.New(0.1, 64),
			Container: cluster.Container{Template: template}}, "framework")
		if err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		check(spec, p, false)
	}
}
