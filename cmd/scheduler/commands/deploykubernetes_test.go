package commands

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// TestKubernetesServers: deploy/kubernetes starts the servers with existing flags. Kubernetes restarts a server that
// hangs, but not one that waits for its database. Each rollout places the servers on different nodes, regardless of
// where the previous ones ran.
func TestKubernetesServers(t *testing.T) {
	t.Parallel()
	var servers appsv1.Deployment
	for part := range strings.SplitSeq(text(t, "deploy/kubernetes/base/servers.yaml"), "\n---\n") {
		if strings.Contains(part, "kind: Deployment") {
			if err := yaml.UnmarshalStrict([]byte(part), &servers); err != nil {
				t.Fatal(err)
			}
		}
	}
	spec := servers.Spec.Template.Spec
	server := spec.Containers[0]
	environment := map[string]string{}
	for _, v := range server.Env {
		environment[v.Name] = strings.ReplaceAll(v.Value, "$(POD_IP)", "10.0.0.1")
	}
	knownFlags(t, "base/servers.yaml", environment, nil)
	openshift := text(t, "deploy/kubernetes/openshift/kustomization.yaml")
	for _, named := range []string{"runAsUser", "runAsGroup", "fsGroup"} {
		if !strings.Contains(openshift, "{op: remove, path: /spec/template/spec/securityContext/"+named+"}") {
			t.Errorf("openshift/kustomization.yaml keeps %s", named)
		}
	}
	environment["ELASTICJOB_KUBERNETES_ASSIGNED_USER"] = "true"
	if !strings.Contains(openshift, "{name: ELASTICJOB_KUBERNETES_ASSIGNED_USER, value: \"true\"}") {
		t.Error("openshift/kustomization.yaml sets no --kubernetes-assigned-user")
	}
	knownFlags(t, "openshift/kustomization.yaml", environment, nil)
	for name, c := range map[string]struct {
		probe *corev1.Probe
		alive bool
	}{"readiness": {server.ReadinessProbe, false}, "liveness": {server.LivenessProbe, true},
		"startup": {server.StartupProbe, true}} {
		if c.probe == nil || c.probe.Exec == nil || c.probe.TimeoutSeconds <= int32(readyTimeout.Seconds()) {
			t.Errorf("there is no %s probe that waits for its command's %s", name, readyTimeout)
			continue
		}
		cmd, args, err := New().Find(c.probe.Exec.Command[1:])
		if err != nil || cmd.Name() != "ready" || slices.Contains(args, "--alive") != c.alive {
			t.Errorf("the %s probe is %q: %v", name, c.probe.Exec.Command, err)
		}
	}
	if len(spec.TopologySpreadConstraints) != 1 || spec.Affinity != nil {
		t.Fatalf("the servers are spread by %+v and %+v", spec.TopologySpreadConstraints, spec.Affinity)
	}
	s := spec.TopologySpreadConstraints[0]
	if s.TopologyKey != corev1.LabelHostname || s.MaxSkew != 1 || s.WhenUnsatisfiable != corev1.ScheduleAnyway ||
		!slices.Equal(s.MatchLabelKeys, []string{"pod-template-hash"}) ||
		s.LabelSelector.String() != servers.Spec.Selector.String() {
		t.Errorf("the servers are spread by %+v", s)
	}
}
