package pod_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// refused maps templates with one mistake to its message.
var refused = map[string]string{
	`{} {}`:                            "podTemplate: is not JSON: there is data after its end",
	`null`:                             "podTemplate: an object with metadata and spec is expected, found nothing",
	`[]`:                               "podTemplate: an object with metadata and spec is expected, found a list",
	`{"spec":null}`:                    "podTemplate.spec: can't be null: that would remove the scheduler's own part of the pod",
	`{"spec":{"containers":null}}`:     "podTemplate.spec.containers: can't be null",
	`{"spec":{"initContainers":null}}`: "podTemplate.spec.initContainers: can't be null",
	shardWith(``, `{"name":"a"}`, `{"name":"a"}`):                                     "podTemplate.spec.volumes[1].name: is also the name of an earlier volume",
	`{"spec":{"initContainers":[{"name":"a","image":"i"},{"name":"a","image":"i"}]}}`: "podTemplate.spec.initContainers[1].name: is also the name of an earlier container",
	shardWith(`"volumeMounts":[{"name":"a","mountPath":"/x"},{"name":"a","mountPath":"/x"}]`,
		`{"name":"a"}`): "podTemplate.spec.containers[0].volumeMounts[1].mountPath: is also the mount path of another volume",
	`{"spec":{"nodName":1}}`:  "podTemplate.spec.nodName: unknown field; did you mean nodeName?",
	`{"Spec":{}}`:             "podTemplate.Spec: unknown field; did you mean spec?",
	`{"spec":{"volumes":{}}}`: "podTemplate.spec.volumes: a list is expected, found an object",
	`{"spec":{"volumes":[{"name":"a","configMap":{"nam":"b"}}]}}`:                                           "podTemplate.spec.volumes[0].configMap.nam: unknown field; did you mean name?",
	`{"spec":{"volumes":[{"name":"a","emptyDir":{"sizeLimit":"lots"}}]}}`:                                   "podTemplate.spec.volumes[0].emptyDir.sizeLimit: is not a quantity, such as 100m or 64Mi",
	`{"spec":{"volumes":[null]}}`:                                                                           "podTemplate.spec.volumes[0]: an object is expected, found nothing",
	`{"spec":{"volumes":[{"name":"elasticjob","emptyDir":{}}]}}`:                                            "podTemplate.spec.volumes[0].name: is the name of a volume that the scheduler creates; choose another",
	`{"spec":{"hostNetwork":"yes"}}`:                                                                        "podTemplate.spec.hostNetwork: true or false is expected, found a string",
	`{"spec":{"activeDeadlineSeconds":1.5}}`:                                                                "podTemplate.spec.activeDeadlineSeconds: a whole number is expected, found a number",
	`{"spec":{"nodeSelector":{"a":1}}}`:                                                                     "podTemplate.spec.nodeSelector.a: a string is expected, found a number",
	`{"spec":{"nodeSelector":{"$patch":"replace"}}}`:                                                        "podTemplate.spec.nodeSelector.$patch: patch directives are not supported; null removes a value",
	`{"spec":{"containers":[{"name":"shard","$patch":"delete"}]}}`:                                          "podTemplate.spec.containers[0].$patch: unknown field; known are",
	`{"spec":{"nodeName":"n"}}`:                                                                             "podTemplate.spec.nodeName: can't be set: the scheduler places shards",
	`{"spec":{"schedulerName":"x"}}`:                                                                        "podTemplate.spec.schedulerName: can't be set",
	`{"spec":{"restartPolicy":"Always"}}`:                                                                   "podTemplate.spec.restartPolicy: can't be set",
	`{"spec":{"schedulingGates":[{"name":"a"}]}}`:                                                           "podTemplate.spec.schedulingGates: can't be set",
	`{"spec":{"terminationGracePeriodSeconds":5}}`:                                                          "podTemplate.spec.terminationGracePeriodSeconds: can't be set: it follows from the job's kill grace",
	`{"spec":{"resources":{"requests":{"cpu":1}}}}`:                                                         "podTemplate.spec.resources: can't be set",
	`{"spec":{"overhead":{"cpu":1}}}`:                                                                       "podTemplate.spec.overhead: can't be set",
	`{"spec":{"topologySpreadConstraints":[]}}`:                                                             "podTemplate.spec.topologySpreadConstraints: can't be set",
	`{"spec":{"affinity":{"podAffinity":{}}}}`:                                                              "podTemplate.spec.affinity.podAffinity: can't be set",
	`{"spec":{"affinity":{"podAntiAffinity":{}}}}`:                                                          "podTemplate.spec.affinity.podAntiAffinity: can't be set",
	`{"spec":{"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[]}}}}`:         "preferredDuringSchedulingIgnoredDuringExecution: can't be set",
	`{"metadata":{"name":"x"}}`:                                                                             "podTemplate.metadata.name: can't be set: an app's metadata has labels and annotations only",
	`{"metadata":{"finalizers":[]}}`:                                                                        "podTemplate.metadata.finalizers: can't be set",
	`{"metadata":{"labels":{"elasticjob/job":"x"}}}`:                                                        "podTemplate.metadata.labels.elasticjob/job: can't be set",
	`{"metadata":{"annotations":{"elasticjob/task-id":"x"}}}`:                                               "podTemplate.metadata.annotations.elasticjob/task-id: can't be set",
	`{"metadata":{"labels":{"a":"b c"}}}`:                                                                   "podTemplate.metadata.labels.a: a valid label must be",
	`{"metadata":{"labels":{"a b":"c"}}}`:                                                                   "podTemplate.metadata.labels.a b: is not a valid name in labels",
	`{"spec":{"containers":[{"image":"x"}]}}`:                                                               "podTemplate.spec.containers[0].name: must be shard",
	`{"spec":{"containers":[{"name":"log","image":"x"}]}}`:                                                  "podTemplate.spec.containers[0].name: must be shard, the container that the job runs in",
	`{"spec":{"containers":[{"name":"shard","image":"x"}]}}`:                                                "podTemplate.spec.containers[0].image: can't be set: it is a field of the app: image",
	`{"spec":{"containers":[{"name":"shard","command":["x"]}]}}`:                                            "podTemplate.spec.containers[0].command: can't be set",
	`{"spec":{"containers":[{"name":"shard","args":["x"]}]}}`:                                               "podTemplate.spec.containers[0].args: can't be set",
	`{"spec":{"containers":[{"name":"shard","resources":{}}]}}`:                                             "podTemplate.spec.containers[0].resources: can't be set: the job sets a shard's resources",
	`{"spec":{"containers":[{"name":"shard","tty":true}]}}`:                                                 "podTemplate.spec.containers[0].tty: can't be set",
	`{"spec":{"initContainers":[{"name":"fetch","image":"x"}]}}`:                                            "podTemplate.spec.initContainers[0].image: can't be set",
	`{"spec":{"initContainers":[{"image":"x"}]}}`:                                                           "podTemplate.spec.initContainers[0].name: is missing",
	`{"spec":{"containers":[{"name":"shard","env":[{"name":"ELASTICJOB_TASK","value":"x"}]}]}}`:             "podTemplate.spec.containers[0].env[0].name: can't be set",
	`{"spec":{"containers":[{"name":"shard","env":[{"name":"DB_PASSWORD","value":"hunter2"}]}]}}`:           "podTemplate.spec.containers[0].env[0].value: has the name of a secret",
	`{"spec":{"initContainers":[{"name":"a","image":"i","env":[{"name":"API_TOKEN","value":"hunter2"}]}]}}`: "podTemplate.spec.initContainers[0].env[0].value: has the name of a secret",
	`{"spec":{"containers":[{"name":"shard","env":[{"name":"DB","value":"mysql://me:hunter2@h/x"}]}]}}`:     "podTemplate.spec.containers[0].env[0].value: contains credentials",
	`{"metadata":{"annotations":{"a":"https://h/x?token=hunter2"}}}`:                                        "podTemplate.metadata.annotations.a: contains credentials",
	shardWith(`"volumeMounts":[{"name":"a","mountPath":"/elasticjob/x"}]`,
		`{"name":"a"}`): "podTemplate.spec.containers[0].volumeMounts[0].mountPath: is, or hides, one of the executor's folders",
	shardWith(`"volumeMounts":[{"name":"a","mountPath":"/opt"}]`,
		`{"name":"a"}`): "podTemplate.spec.containers[0].volumeMounts[0].mountPath: is, or hides",
	shardWith(`"volumeMounts":[{"name":"a","mountPath":"/x/../elasticjob"}]`,
		`{"name":"a"}`): "podTemplate.spec.containers[0].volumeMounts[0].mountPath: is, or hides",
	`{"spec":{"containers":[{"name":"shard","volumeMounts":[{"name":"elasticjob","mountPath":"/x"}]}]}}`:                  "podTemplate.spec.containers[0].volumeMounts[0].name: is the executor's own volume",
	`{"spec":{"initContainers":[{"name":"a","image":"i","volumeMounts":[{"name":"elasticjob-task","mountPath":"/x"}]}]}}`: "podTemplate.spec.initContainers[0].volumeMounts[0].name: is the executor's own volume",
	`{"spec":{"initContainers":[{"name":"a","image":"i","resources":{"requests":{"cpu":"1"}}}]}}`:                         "podTemplate.spec.initContainers[0].resources.requests.cpu: must be 0",
	`{"spec":{"initContainers":[{"name":"a","image":"i","resources":{"limits":{"memory":"1Mi"}}}]}}`:                      "podTemplate.spec.initContainers[0].resources.limits.memory: also counts as a request",
	`{"spec":{"tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists"}]}}`:                               "podTemplate.spec.tolerations[0].key: can't be set",
	`{"spec":{"tolerations":[{"key":"a","operator":"Like"}]}}`:                                                            "podTemplate.spec.tolerations[0].operator: must be Equal or Exists",
	`{"spec":{"tolerations":[{"value":"a"}]}}`:                                                                            "podTemplate.spec.tolerations[0].operator: must be Exists if there is no key",
	`{"spec":{"tolerations":[{"key":"a","operator":"Exists","value":"b"}]}}`:                                              "podTemplate.spec.tolerations[0].value: is only for the operator Equal",
	`{"spec":{"tolerations":[{"key":"a","effect":"Never"}]}}`:                                                             "podTemplate.spec.tolerations[0].effect: must be NoSchedule, PreferNoSchedule or NoExecute",
	affinity(`{"matchFields":[{"key":"metadata.name","operator":"In","values":["n"]}]}`):                                  "nodeSelectorTerms[0].matchFields: can't be set: choose nodes by their labels",
	affinity(`{"matchExpressions":[{"key":"a","operator":"Is"}]}`):                                                        "nodeSelectorTerms[0].matchExpressions[0].operator: must be In, NotIn, Exists, DoesNotExist, Gt or Lt",
	affinity(`{"matchExpressions":[{"key":"a","operator":"In"}]}`):                                                        "nodeSelectorTerms[0].matchExpressions[0].values: must have one or more",
	affinity(`{"matchExpressions":[{"key":"a","operator":"Gt","values":["b"]}]}`):                                         "nodeSelectorTerms[0].matchExpressions[0].values: must be one whole number",
}

func affinity(terms ...string) string {
	return `{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[` + strings.Join(terms, ",") + `]}}}}}`
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	all := maps.Clone(refused)
	maps.Copy(all, malformed)
	for template, want := range all {
		bad := pod.Check([]byte(template))
		if len(bad) != 1 || !strings.Contains(bad.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", template, bad, want)
		}
		if text := fmt.Sprint(bad); strings.Contains(text, "hunter2") {
			t.Errorf("%s: the violation shows the secret: %s", template, text)
		}
	}
}

// One answer contains all violations.
func TestCheckSaysAllAtOnce(t *testing.T) {
	t.Parallel()
	var fields []string
	for _, v := range pod.Check([]byte(`{"metadata":{"name":"a"},"spec":{"nodeName":"n","hostNetwork":1,"containers":[{"name":"shard","image":"i","workdir":"/"}],"tolerations":[{"efect":"x"}],"initContainers":[{"nam":"a"},{"name":"b"}],"volumes":[{"name":"c"},{"name":"c"}]}}`)) {
		fields = append(fields, v.Field)
	}
	want := []string{"podTemplate.metadata.name", "podTemplate.spec.containers[0].image",
		"podTemplate.spec.containers[0].workdir", "podTemplate.spec.hostNetwork",
		"podTemplate.spec.initContainers[0].nam", "podTemplate.spec.initContainers[1].image",
		"podTemplate.spec.nodeName", "podTemplate.spec.tolerations[0].efect",
		"podTemplate.spec.volumes[1].name"}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Error(diff)
	}
}

// acceptedTemplates are valid templates.
var acceptedTemplates = []string{
	`{}`, `{"metadata":null}`, `{"spec":{"securityContext":null,"nodeName":null}}`,
	`{"spec":{"containers":[{"name":"shard","livenessProbe":{"httpGet":{"path":"/","port":"web"},"periodSeconds":5}}]}}`,
	`{"spec":{"volumes":[{"name":"a","projected":{"sources":[{"serviceAccountToken":{"path":"t","expirationSeconds":600}}]}}]}}`,
	`{"spec":{"containers":[{"name":"shard","env":[{"name":"DB_PASSWORD","valueFrom":{"secretKeyRef":{"name":"db","key":"p"}}}]}]}}`,
	`{"spec":{"runtimeClassName":"gvisor","priorityClassName":"low","dnsPolicy":"None","dnsConfig":{"nameservers":["10.0.0.1"]},"hostAliases":[{"ip":"10.0.0.2","hostnames":["h"]}]}}`,
	affinity(`{"matchExpressions":[{"key":"disk","operator":"In","values":["ssd"]}]}`),
	shardWith(`"volumeMounts":[{"name":"a","mountPath":"/x"},{"name":"a","mountPath":"/y","subPath":"b"}],"ports":[{"containerPort":80},{"containerPort":81}]`, `{"name":"a"}`),
	shardWith(`"env":[{"name":"A.b c","value":""},{"name":"B","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],"envFrom":[{"prefix":"P_","secretRef":{"name":"s"}}]`),
	shardWith(`"securityContext":{"privileged":true,"allowPrivilegeEscalation":true}`,
		`{"name":"a","hostPath":{"path":"/a","type":""}}`,
		`{"name":"b","projected":{"sources":[{"configMap":{"name":"c"}}]}}`),
	`{"spec":{"initContainers":[{"name":"log","image":"i","restartPolicy":"Always","livenessProbe":{"exec":{"command":["a"]}}},{"name":"once","image":"i","imagePullPolicy":"Never"}]}}`,
	`{"spec":{"tolerations":[{"operator":"Exists"},{"key":"a.b/c","value":"d","effect":"NoExecute","tolerationSeconds":5}],"nodeSelector":{"a.b/c":""}}}`,
}

func TestCheckAccepts(t *testing.T) {
	t.Parallel()
	for _, good := range acceptedTemplates {
		if bad := pod.Check([]byte(good)); len(bad) > 0 {
			t.Errorf("%s: %v", good, bad)
		}
	}
	if bad := pod.Check(template(t, rich)); len(bad) > 0 {
		t.Error(bad)
	}
	if _, err := pod.ReadTemplate([]byte("spec:\n  nodeName: a\n  nodeName: b\n")); err == nil {
		t.Error("a template with the same key twice is read without an error")
	}
	if bad := pod.Check([]byte(`{"metadata":{"annotations":{"a":"` + strings.Repeat("x",
		65<<10) + `"}}}`)); len(bad) != 1 || !strings.Contains(bad.Error(), "longer than 64 KiB") {
		t.Error(bad)
	}
}

// decisions returns the parts of a pod that the scheduler controls.
func decisions(p *corev1.Pod) (found []any) {
	found = append(found, p.Name, p.Namespace, p.Finalizers, p.Spec.NodeName, p.Spec.SchedulerName,
		p.Spec.RestartPolicy, *p.Spec.TerminationGracePeriodSeconds, p.Spec.SchedulingGates)
	for _, entries := range []map[string]string{p.Labels, p.Annotations} {
		for key, value := range entries {
			if strings.HasPrefix(key, "elasticjob/") {
				found = append(found, key+"="+value)
			}
		}
	}
	slices.SortFunc(found[8:], func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	for _, t := range p.Spec.Tolerations {
		if t.Effect == corev1.TaintEffectNoExecute && strings.HasPrefix(t.Key, "node.kubernetes.io/") {
			found = append(found, t)
		}
	}
	for _, c := range append(slices.Clone(p.Spec.InitContainers), p.Spec.Containers...) {
		if c.Name != pod.Container && c.Name != pod.Prepare {
			continue
		}
		found = append(found, c.Name, c.Image, c.Command, c.Args, c.Resources, c.ImagePullPolicy,
			c.TerminationMessagePath, c.TerminationMessagePolicy, c.RestartPolicy, c.TTY)
		for _, e := range c.Env {
			if strings.HasPrefix(e.Name, "ELASTICJOB_") {
				found = append(found, e)
			}
		}
		for _, m := range c.VolumeMounts {
			if strings.HasPrefix(m.MountPath, "/elasticjob") {
				found = append(found, m)
			}
		}
	}
	for _, v := range p.Spec.Volumes {
		if strings.HasPrefix(v.Name, "elasticjob") {
			found = append(found, v)
		}
	}
	return found
}

// No template changes what the scheduler controls; a template that would is rejected.
func TestTemplatesNeverChangeWhatTheSchedulerDecides(t *testing.T) {
	t.Parallel()
	pieces := []string{rich}
	for text := range refused {
		pieces = append(pieces, text)
	}
	slices.Sort(pieces)
	built := 0
	rapid.Check(t, func(r *rapid.T) {
		tree := map[string]any{}
		for range rapid.IntRange(1, 4).Draw(r, "pieces") {
			var piece any
			if text := rapid.SampledFrom(pieces).Draw(r, "piece"); text == rich {
				_ = json.Unmarshal(template(t, rich), &piece)
			} else if json.Unmarshal([]byte(text), &piece) != nil {
				continue
			}
			if object, ok := piece.(map[string]any); ok {
				graft(r, tree, object)
			}
		}
		text, err := json.Marshal(tree)
		if err != nil {
			r.Fatal(err)
		}
		image := rapid.SampledFrom([]string{"", "registry.example/reports:7"}).Draw(r, "image")
		launch := func(template []byte) (*corev1.Pod, error) {
			l := aTask(t, func(w *wire.Task, l *cluster.TaskLaunch) {
				l.Container = cluster.Container{Image: image, PullPolicy: "Always", Template: template}
			})
			p, _, err := settings().Build(l, framework)
			return p, err
		}
		plain, err := launch(nil)
		if err != nil {
			r.Fatal(err)
		}
		made, err := launch(text)
		if (err != nil) != (len(pod.Check(text)) > 0) {
			r.Fatalf("%s: checked: %v, made: %v", text, pod.Check(text), err)
		}
		if err != nil {
			return
		}
		built++
		if slices.ContainsFunc(made.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "elasticjob" }) {
			// A pod with any volume, or with a read-only file system, also has the executor's volume.
			if plain, err = launch([]byte(`{"spec":{"volumes":[{"name":"any","emptyDir":{}}]}}`)); err != nil {
				r.Fatal(err)
			}
		} else if len(made.Spec.Volumes) > 0 {
			r.Fatalf("%s: the volumes are %v, and none is the executor's", text, made.Spec.Volumes)
		}
		if diff := cmp.Diff(decisions(plain), decisions(made)); diff != "" {
			r.Fatalf("%s\n%s", text, diff)
		}
	})
	if built == 0 {
		t.Error("no template was good")
	}
}

// graft adds some of an object's fields to a tree.
func graft(r *rapid.T, tree, object map[string]any) {
	for _, name := range slices.Sorted(mapsKeys(object)) {
		if !rapid.Bool().Draw(r, name) {
			continue
		}
		inner, isObject := object[name].(map[string]any)
		below, there := tree[name].(map[string]any)
		if isObject && there {
			graft(r, below, inner)
		} else if isObject {
			fresh := map[string]any{}
			graft(r, fresh, inner)
			tree[name] = fresh
		} else {
			tree[name] = object[name]
		}
	}
}

func mapsKeys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range m {
			if !yield(name) {
				return
			}
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(`{}`)
	for template := range refused {
		f.Add(template)
	}
	f.Fuzz(func(t *testing.T, template string) {
		bad := pod.Check([]byte(template))
		if len(bad) > 50 {
			t.Errorf("%d violations", len(bad))
		}
		for _, v := range bad {
			if !strings.HasPrefix(v.Field, "podTemplate") {
				t.Errorf("%+v", v)
			}
		}
		l := aTask(t, func(_ *wire.Task, l *cluster.TaskLaunch) { l.Container.Template = []byte(template) })
		p, _, err := settings().Build(l, framework)
		if template != "" && (err == nil) != (len(bad) == 0) {
			t.Errorf("checked: %v, made: %v", bad, err)
		}
		if err == nil && !reflect.DeepEqual(shardOf(t, p).Command, []string{"/opt/elasticjob/executor", "pod"}) {
			t.Errorf("%+v", p.Spec)
		}
	})
}
