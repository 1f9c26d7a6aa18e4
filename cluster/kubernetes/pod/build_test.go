package pod_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

var update = flag.Bool("update", false, "write testdata as it is now")

const framework = "0b2e0e34-8a3f-4b6c-9d57-2f4f6a0a5a11"

func settings() pod.Settings {
	return pod.Settings{Namespace: "jobs", Image: "registry.example/elasticjob-task:1"}
}

// aTask returns the launch of a task; do may change both.
func aTask(t testing.TB, do func(*wire.Task, *cluster.TaskLaunch)) cluster.TaskLaunch {
	t.Helper()
	task := wire.Task{
		TaskID: "my_job@-@2@-@READY@-@node-1@-@5d9e7a7e", ExecutionID: "my_job@20260304T050607Z-b466acde",
		JobName: "my_job", Item: 2, Total: 4, ShardingParameter: "east",
		Source: "NORMAL_TRIGGER", FireTime: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), Attempt: 1, AppName: "my_app",
		Package: wire.Package{URL: "http://packages.example/my-app.tar.gz", Cache: true},
		Command: []string{"bin/start.sh"}, KillGraceMillis: 5500,
	}
	l := cluster.TaskLaunch{TaskID: task.TaskID, Resources: resources.New(0.1, 64)}
	if do != nil {
		do(&task, &l)
	}
	l.TaskID = task.TaskID
	l.Task = task
	return l
}

// TestCPULimits checks that every container of a shard has the job's CPU limit, as quotas on limits.cpu require. The
// limit is at least the container's CPU request; a job without a limit gets no limits.
func TestCPULimits(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int64]int64{0: 0, 100: 100, 1500: 1500, 50: 100} {
		for _, image := range []string{"", "app:1"} {
			p, _ := build(t, settings(), func(_ *wire.Task, l *cluster.TaskLaunch) {
				l.CPULimitMilli, l.Container.Image = limit, image
			})
			for _, c := range append(p.Spec.InitContainers, p.Spec.Containers...) {
				_, limited := c.Resources.Limits[corev1.ResourceCPU]
				if got := c.Resources.Limits.Cpu().MilliValue(); got != want || limited != (want > 0) {
					t.Errorf("limit %d, image %q, container %s: %d, want %d", limit, image, c.Name, got, want)
				}
			}
		}
	}
	u, err := settings().Unplaced(cluster.Unplaced{Job: "j", Resources: resources.New(0.1, 64), CPULimitMilli: 200},
		framework)
	if err != nil || u.Spec.Containers[0].Resources.Limits.Cpu().MilliValue() != 200 {
		t.Errorf("a placeholder: %v", err)
	}
}

// TestAssignedUsers checks that no container names a user id where the platform assigns them, except by a template.
func TestAssignedUsers(t *testing.T) {
	t.Parallel()
	s := settings()
	s.AssignedUser = true
	for name, do := range map[string]func(*wire.Task, *cluster.TaskLaunch){
		"the project's image": nil,
		"an app's image":      func(_ *wire.Task, l *cluster.TaskLaunch) { l.Container.Image = "app:1" },
		"an HTTP job":         func(t *wire.Task, l *cluster.TaskLaunch) { t.HTTP = &wire.HTTP{URL: "http://h", Method: "GET"} },
		"a daemon":            func(t *wire.Task, l *cluster.TaskLaunch) { t.Daemon = &wire.Daemon{Cron: "0 * * * * ?"} },
	} {
		p, _ := build(t, s, do)
		for _, c := range append(p.Spec.InitContainers, p.Spec.Containers...) {
			if c.SecurityContext.RunAsUser != nil || p.Spec.SecurityContext.RunAsUser != nil {
				t.Errorf("%s: container %s names the user %v", name, c.Name, c.SecurityContext.RunAsUser)
			}
			if c.SecurityContext.AllowPrivilegeEscalation == nil || *p.Spec.SecurityContext.RunAsNonRoot != true {
				t.Errorf("%s: container %s is not restricted", name, c.Name)
			}
		}
	}
	s.Template = []byte(`{"spec":{"securityContext":{"runAsUser":1000670001}}}`)
	if p, _ := build(t, s, nil); p.Spec.SecurityContext.RunAsUser == nil ||
		*p.Spec.SecurityContext.RunAsUser != 1000670001 {
		t.Error("the template's user is not set")
	}
}

// TestAuthorities checks that the executors of all containers get the certificates to trust.
func TestAuthorities(t *testing.T) {
	t.Parallel()
	s := settings()
	s.Authorities = "-----BEGIN CERTIFICATE-----"
	p, _ := build(t, s, func(_ *wire.Task, l *cluster.TaskLaunch) { l.Container.Image = "app:1" })
	all := append(p.Spec.InitContainers, p.Spec.Containers...)
	for _, c := range all {
		if !slices.Contains(c.Env, corev1.EnvVar{Name: "ELASTICJOB_CA_CERTIFICATES", Value: s.Authorities}) {
			t.Errorf("container %s has %v", c.Name, c.Env)
		}
	}
	if len(all) != 2 {
		t.Errorf("%d containers", len(all))
	}
}

func build(t testing.TB, s pod.Settings, do func(*wire.Task, *cluster.TaskLaunch)) (*corev1.Pod, *corev1.Secret) {
	t.Helper()
	l := aTask(t, do)
	p, secret, err := s.Build(l, framework)
	if err != nil {
		t.Fatal(err)
	}
	return p, secret
}

func template(t testing.TB, text string) []byte {
	t.Helper()
	got, err := pod.ReadTemplate([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

const rich = `
metadata:
  labels: {team: billing}
  annotations: {note: "a: b"}
spec:
  serviceAccountName: reports
  nodeSelector: {disk: ssd}
  tolerations:
  - {key: gpu, operator: Exists, effect: NoSchedule}
  volumes:
  - {name: data, persistentVolumeClaim: {claimName: data}}
  initContainers:
  - name: proxy
    image: registry.example/proxy:1
    restartPolicy: Always
    resources: {requests: {memory: 0}, limits: {memory: 32Mi}}
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
  - name: fetch
    env: [{name: HTTPS_PROXY, value: "http://proxy:3128"}]
  containers:
  - name: shard
    env: [{name: TZ, value: Asia/Shanghai}]
    envFrom: [{secretRef: {name: reports}}]
    volumeMounts: [{name: data, mountPath: /data}]
    securityContext: {runAsUser: 1000}
`

// TestBuild compares complete pods with testdata; with -update it writes them.
func TestBuild(t *testing.T) {
	t.Parallel()
	defaults := settings()
	defaults.Template = template(t, "metadata:\n  labels: {env: production}\nspec:\n  imagePullSecrets: [{name: mirror}]\n  nodeSelector: {pool: batch}\n")
	image := func(_ *wire.Task, l *cluster.TaskLaunch) {
		l.Container = cluster.Container{Image: "registry.example/reports:7", PullPolicy: "Always",
			PullSecrets: []string{"ours", "mirror"}}
	}
	for name, c := range map[string]struct {
		settings pod.Settings
		do       func(*wire.Task, *cluster.TaskLaunch)
	}{
		"package":  {settings(), nil},
		"image":    {settings(), image},
		"template": {defaults, func(w *wire.Task, l *cluster.TaskLaunch) { image(w, l); l.Container.Template = template(t, rich) }},
		"own image with template": {settings(), func(_ *wire.Task, l *cluster.TaskLaunch) {
			l.Container.Template = template(t, rich)
		}},
		"secret": {settings(), func(w *wire.Task, _ *cluster.TaskLaunch) { w.Env = map[string]string{"DB_PASSWORD": "hunter2"} }},
		"request": {settings(), func(w *wire.Task, l *cluster.TaskLaunch) {
			image(w, l)
			w.Package, w.Command, w.HTTP = wire.Package{}, nil, &wire.HTTP{URL: "http://h/x", Method: "GET"}
		}},
		"daemon": {settings(), func(w *wire.Task, l *cluster.TaskLaunch) {
			image(w, l)
			w.Daemon = &wire.Daemon{Cron: "0 0 * * * ?", TimeZone: "UTC"}
		}},
		"long names": {settings(), func(w *wire.Task, _ *cluster.TaskLaunch) {
			w.JobName, w.Item = "A_job.whose-name_is."+strings.Repeat("long_", 15)+"...", 9999
			w.TaskID = w.JobName + "@-@9999@-@FAILOVER@-@node-1@-@5d9e7a7e"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, secret := build(t, c.settings, c.do)
			var got bytes.Buffer
			for _, object := range []any{p, secret} {
				if object == any((*corev1.Secret)(nil)) {
					continue
				}
				text, err := yaml.Marshal(object)
				if err != nil {
					t.Fatal(err)
				}
				got.WriteString("---\n")
				got.Write(bytes.ReplaceAll(text, []byte("status: {}\n"), nil))
			}
			file := filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+".yaml")
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if diff := cmp.Diff(string(want), got.String()); err != nil || diff != "" {
				t.Errorf("%v; - wanted, + got\n%s", err, diff)
			}
		})
	}
}

func shardOf(t testing.TB, p *corev1.Pod) corev1.Container {
	t.Helper()
	for _, c := range p.Spec.Containers {
		if c.Name == pod.Container {
			return c
		}
	}
	t.Fatal("no container shard")
	return corev1.Container{}
}

// No field that readers of pods can see contains a secret, and no description is too long for a variable.
func TestSecretsAreNotInPods(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(*wire.Task, *cluster.TaskLaunch){
		"a name": func(w *wire.Task, _ *cluster.TaskLaunch) { w.Env = map[string]string{"API_TOKEN": "hunter2"} },
		"a mark": func(w *wire.Task, _ *cluster.TaskLaunch) {
			w.Env, w.Secrets = map[string]string{"A": "hunter2"}, []string{"A"}
		},
		"a property":  func(w *wire.Task, _ *cluster.TaskLaunch) { w.Props = map[string]string{"password": "hunter2"} },
		"the package": func(w *wire.Task, _ *cluster.TaskLaunch) { w.Package.URL = "https://h/a?token=hunter2" },
		"the command": func(w *wire.Task, _ *cluster.TaskLaunch) { w.Command = []string{"a", "https://me:hunter2@h"} },
		"the request": func(w *wire.Task, _ *cluster.TaskLaunch) { w.HTTP = &wire.HTTP{URL: "https://h/a?token=hunter2"} },
		"a parameter": func(w *wire.Task, _ *cluster.TaskLaunch) { w.JobParameter = "mysql://me:hunter2@h/x" },
		"length":      func(w *wire.Task, _ *cluster.TaskLaunch) { w.JobParameter = strings.Repeat("hunter2", 10_000) },
	} {
		p, secret := build(t, settings(), do)
		text, err := json.Marshal(p)
		if err != nil || strings.Contains(string(text), "hunter2") || secret == nil {
			t.Errorf("%s: %v, %v, %.300s", name, err, secret, text)
			continue
		}
		if !strings.Contains(string(secret.Data["task.json"]), "hunter2") || secret.Name != p.Name ||
			secret.Namespace != p.Namespace {
			t.Errorf("%s: %+v", name, secret)
		}
	}
}

// The kubelet replaces $(NAME) in variables; a task must arrive unchanged.
func TestVariablesAreNotExpanded(t *testing.T) {
	t.Parallel()
	l := aTask(t, func(w *wire.Task, _ *cluster.TaskLaunch) { w.JobParameter = "$(PATH) $$(PATH) $x $" })
	p, _, err := settings().Build(l, framework)
	if err != nil {
		t.Fatal(err)
	}
	value := shardOf(t, p).Env[0].Value
	described, err := l.Description()
	if got := strings.ReplaceAll(value, "$$", "$"); err != nil || got != string(described) ||
		strings.Contains(strings.ReplaceAll(value, "$$", ""), "$") {
		t.Errorf("%s\n%s %v", value, described, err)
	}
}

// For all names of jobs and tasks, the names and labels of their pods are valid and distinct.
func TestNamesAndLabelsAreValid(t *testing.T) {
	t.Parallel()
	name := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,99}`)
	rapid.Check(t, func(r *rapid.T) {
		l := aTask(t, func(w *wire.Task, _ *cluster.TaskLaunch) {
			w.JobName, w.ExecutionID, w.Item = name.Draw(r, "job"), rapid.String().Draw(r, "execution"),
				rapid.IntRange(0, 9999).Draw(r, "item")
			w.TaskID = w.JobName + "@-@1@-@READY@-@" + name.Draw(r, "agent") + "@-@x"
		})
		p, _, err := settings().Build(l, rapid.String().Draw(r, "framework"))
		if err != nil {
			r.Fatal(err)
		}
		if wrong := validation.IsDNS1123Label(p.Name); len(wrong) > 0 {
			r.Errorf("%s: %v", p.Name, wrong)
		}
		for key, value := range p.Labels {
			if wrong := append(validation.IsValidLabelValue(value),
				validation.IsQualifiedName(key)...); len(wrong) > 0 {
				r.Errorf("%s=%s: %v", key, value, wrong)
			}
		}
		if name := l.Task.JobName; len(name) < 63 && strings.Trim(name, "-._") == name &&
			p.Labels[pod.LabelJob] != name {
			r.Errorf("%s became %s", name, p.Labels[pod.LabelJob])
		}
	})
}

func TestGrace(t *testing.T) {
	t.Parallel()
	for kill, want := range map[time.Duration]int64{0: 10, -1: 10, time.Millisecond: 11, 5 * time.Second: 15,
		5500 * time.Millisecond: 16} {
		if got := pod.Grace(kill); got != want {
			t.Errorf("%v: %d, want %d", kill, got, want)
		}
	}
}
