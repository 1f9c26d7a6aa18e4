package pod_test

import (
	"testing"

	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Pods are such as the restricted standard takes, by the rules that API servers themselves ask; what a template does
// otherwise they see.
func TestPodsAreRestricted(t *testing.T) {
	t.Parallel()
	rules, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		image, template string
		secret, forbid  bool
	}{
		"a package":           {},
		"an image":            {image: "registry.example/reports:7"},
		"a secret":            {secret: true},
		"a template":          {image: "registry.example/reports:7", template: rich},
		"the host's network":  {template: "spec: {hostNetwork: true}", forbid: true},
		"root":                {template: "spec: {securityContext: {runAsNonRoot: false}}", forbid: true},
		"no security context": {template: "spec: {securityContext: null}", forbid: true},
	} {
		p, _ := build(t, settings(), func(w *wire.Task, l *cluster.TaskLaunch) {
			l.Container = cluster.Container{Image: c.image}
			if c.template != "" {
				l.Container.Template = template(t, c.template)
			}
			if c.secret {
				w.Env = map[string]string{"DB_PASSWORD": "hunter2"}
			}
		})
		result := policy.AggregateCheckResults(rules.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted,
			Version: api.LatestVersion()}, &p.ObjectMeta, &p.Spec))
		if result.Allowed == c.forbid {
			t.Errorf("%s: %s", name, result.ForbiddenDetail())
		}
	}
}
