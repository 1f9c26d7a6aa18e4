package commands

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
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

// TestKubernetesLeases: by the name in --lease-urls, jobs' pods find the port for leases of every server, even of one
// that is not ready. With the network policy, jobs' pods reach no other port of the servers, and other clients do not
// reach the port for leases.
func TestKubernetesLeases(t *testing.T) {
	t.Parallel()
	objects := func(path, kind string, handle func(content []byte)) {
		for part := range strings.SplitSeq(text(t, path), "\n---\n") {
			if strings.Contains(part, "\nkind: "+kind+"\n") {
				handle([]byte(part))
			}
		}
	}
	parse := func(content []byte, into any) {
		if err := yaml.UnmarshalStrict(content, into); err != nil {
			t.Fatal(err)
		}
	}
	var servers appsv1.Deployment
	objects("deploy/kubernetes/base/servers.yaml", "Deployment", func(content []byte) { parse(content, &servers) })
	services := map[string]corev1.Service{}
	objects("deploy/kubernetes/base/servers.yaml", "Service", func(content []byte) {
		var s corev1.Service
		parse(content, &s)
		services[s.Name] = s
	})
	server, environment := servers.Spec.Template.Spec.Containers[0], map[string]string{}
	for _, v := range server.Env {
		environment[v.Name] = v.Value
	}
	leases, found := services["elasticjob-leases"]
	if !found || leases.Spec.ClusterIP != corev1.ClusterIPNone || !leases.Spec.PublishNotReadyAddresses ||
		!maps.Equal(leases.Spec.Selector, servers.Spec.Selector.MatchLabels) {
		t.Fatalf("the Service is %+v", leases.Spec)
	}
	port := leases.Spec.Ports[0]
	suffix := fmt.Sprintf(":%d", port.Port)
	if want := "http://" + leases.Name + "." + leases.Namespace + ".svc" + suffix; environment["ELASTICJOB_LEASE_URLS"] != want {
		t.Errorf("pods ask %s, not %s", environment["ELASTICJOB_LEASE_URLS"], want)
	}
	if listen := environment["ELASTICJOB_LEASE_LISTEN"]; listen != "0.0.0.0"+suffix {
		t.Errorf("servers listen on %s", listen)
	}
	if !slices.ContainsFunc(server.Ports, func(p corev1.ContainerPort) bool {
		return p.Name == port.TargetPort.StrVal && p.ContainerPort == port.Port
	}) {
		t.Errorf("the server has the ports %+v", server.Ports)
	}
	if trial := text(t, "deploy/kubernetes/trial/servers.yaml"); strings.Contains(trial, "LEASE") {
		t.Error("the trial overrides the settings of leases")
	}

	reached := map[string]int{}
	objects("deploy/kubernetes/network-policy/policies.yaml", "NetworkPolicy", func(content []byte) {
		var policy networkingv1.NetworkPolicy
		parse(content, &policy)
		for _, rule := range policy.Spec.Ingress {
			for _, from := range rule.From {
				who := "others"
				if n, p := from.NamespaceSelector, from.PodSelector; n != nil &&
					n.MatchLabels[corev1.LabelMetadataName] == environment["ELASTICJOB_KUBERNETES_NAMESPACE"] &&
					p != nil && p.MatchExpressions[0].Key == pod.LabelJob {
					who = "jobs"
				}
				for _, p := range rule.Ports {
					reached[who+" reach "+p.Port.StrVal]++
				}
			}
		}
	})
	if want := map[string]int{"jobs reach lease": 1, "others reach http": 2}; !maps.Equal(reached, want) {
		t.Errorf("the network policy lets %v", reached)
	}
}
