package deploy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/eventually"
	"github.com/elasticjob-go/elasticjob/test/internal/child"
	"github.com/elasticjob-go/elasticjob/test/kubernetesserver"
	"github.com/elasticjob-go/elasticjob/test/mariadb"
)

// overlay is deploy/kubernetes/base for a Kubernetes whose pods have no network: there is one server, which uses the
// machine's network, in a namespace that permits it. The jobs' namespace is unchanged, a restricted one.
const overlay = `
resources: [%[4]s/base]
components: [%[4]s/autoscaler, %[4]s/openshift]
patches:
  - patch: |
      apiVersion: v1
      kind: Namespace
      metadata: {name: elasticjob, labels: {pod-security.kubernetes.io/enforce: privileged}}
  - patch: |
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: elasticjob, namespace: elasticjob}
      spec:
        replicas: 1
        template:
          spec:
            hostNetwork: true
            containers:
              - name: scheduler
                env:
                  - {name: ELASTICJOB_LISTEN, value: "127.0.0.1:%[1]d"}
                  - {name: ELASTICJOB_ADVERTISE, value: "127.0.0.1:%[1]d"}
                  - {name: ELASTICJOB_LEASE_LISTEN, value: "127.0.0.1:%[5]d"}
                  - {name: KUBERNETES_SERVICE_HOST, value: "127.0.0.1"}
                  - {name: KUBERNETES_SERVICE_PORT, value: "%[2]s"}
                ports:
                  - {name: http, containerPort: %[1]d}
                  - {name: lease, containerPort: %[5]d}
                  - {$patch: delete, containerPort: 8899}
                  - {$patch: delete, containerPort: 18899}
images: [{name: elasticjob, newName: docker.io/local/server, newTag: "1"}]
configMapGenerator:
  - name: elasticjob
    namespace: elasticjob
    literals: [ELASTICJOB_KUBERNETES_IMAGE=docker.io/local/task:1, "ELASTICJOB_KUBERNETES_SHOW_UNPLACED=true"]
secretGenerator:
  - name: elasticjob-database
    namespace: elasticjob
    literals: ["ELASTICJOB_REGISTRY=%[3]s"]
`

// otherUser is a pod that meets the restricted standard and the quota, but names a user outside of the platform's
// range.
const otherUser = `
apiVersion: v1
kind: Pod
metadata: {name: other, namespace: elasticjob-jobs}
spec:
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers:
    - name: one
      image: docker.io/local/task:1
      resources: {limits: {cpu: 100m, memory: 32Mi}}
      securityContext: {runAsUser: 1000, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
`

// installed runs what deploy/kubernetes installs, with only the permissions that it grants. A job runs in a restricted
// namespace, which has a quota on CPU limits and whose user ids the platform assigns. Its output can be read, and
// autoscalers see its shards when no node has room. Then the first user is added as in docs/kubernetes.md, after which
// the API requires a login.
func installed(t *testing.T, c *kubernetesserver.Cluster, kubectl kubernetesserver.Kubectl) {
	database := mariadb.Start(t)
	ports, err := child.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	_, api, _ := strings.Cut(c.Address(), ":")
	dir := t.TempDir()
	files, err := filepath.Abs(manifests)
	if err == nil {
		files, err = filepath.Rel(dir, files)
	}
	err = errors.Join(err, os.WriteFile(filepath.Join(dir, "kustomization.yaml"),
		fmt.Appendf(nil, overlay, ports[0], api, database.Database(t), files, ports[1]), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	kubectl.Run(t, c, "apply", "-k", dir)
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := kubectl.Try(t, c, "describe", "pods", "-n", "elasticjob")
			logs, _ := kubectl.Try(t, c, "logs", "-n", "elasticjob", "deployment/elasticjob")
			t.Logf("the server's pod:\n%s\nits log:\n%s", out, logs)
		}
	})
	kubectl.Run(t, c, "rollout", "status", "-n", "elasticjob", "deployment/elasticjob", "--timeout=120s")

	kubectl.Run(t, c, "apply", "-f", "testdata/uid-range.yaml", "-f", "testdata/quota.yaml")
	eventually.Works(t, "refuse pods that name another user", func() error {
		other := kubectl
		other.Input = otherUser
		if out, err := other.Try(t, c, "apply", "--dry-run=server", "-f", "-"); err == nil ||
			!strings.Contains(out, "runAsUser must be in the range") {
			return fmt.Errorf("%v %s", err, out)
		}
		return nil
	})

	url := fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	try := func(method, path, body string) (string, error) {
		req, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
		if err != nil {
			return "", err
		}
		req.Close = true
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return "", err
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s %s: %s %s", method, path, resp.Status, text)
		}
		return string(text), err
	}
	request := func(method, path, body string) string { // which must succeed
		t.Helper()
		text, err := try(method, path, body)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	request("POST", "/api/app", `{"appName":"my_app","image":"docker.io/local/task:1","bootstrapScript":"/bin/echo I am","cpuCount":0.1,"memoryMB":64}`)
	request("POST", "/api/job/register", `{"jobName":"my_job","appName":"my_app","jobExecutionType":"TRANSIENT","shardingTotalCount":2,"cpuCount":0.1,"cpuLimit":0.5,"memoryMB":64,"env":{"SECRET":{"value":"hidden","secret":true}}}`)
	id := strings.Split(request("POST", "/api/job/my_job/trigger", ""), `"`)[3]
	eventually.Works(t, "finish a run", func() error {
		var run struct{ State string } // of all shards together
		text, err := try("GET", "/api/execution/"+id, "")
		if err == nil {
			err = json.Unmarshal([]byte(text), &run)
		}
		if err == nil && run.State != "FINISHED" {
			err = errors.New(text)
		}
		return err
	})
	_, task, _ := strings.Cut(request("GET", "/api/execution/"+id, ""), `"taskId":"`)
	task, _, _ = strings.Cut(task, `"`)
	if text := request("GET", "/api/task/"+task+"/logs", ""); text != "I am\n" {
		t.Errorf("the output of %s is %q", task, text)
	}
	if names := kubectl.Run(t, c, "get", "pods", "-n", "elasticjob-jobs", "-l", "elasticjob/job=my_job", "-o",
		"name"); strings.Count(names, "pod/") != 2 {
		t.Errorf("the pods of the job are %q", names)
	}
	eventually.Works(t, "say in events on its pods what was decided", func() error {
		events := kubectl.Run(t, c, "get", "events", "-n", "elasticjob-jobs")
		if strings.Contains(events, "forbidden") {
			t.Fatalf("events: %s", events)
		}
		if strings.Count(events, "of job my_job, triggered by a request, placed on node") != 2 {
			return errors.New(events)
		}
		return nil
	})

	kubectl.Run(t, c, "delete", "-f", "testdata/quota.yaml")
	request("PUT", "/api/job/update", `{"jobName":"my_job","cpuCount":1000,"cpuLimit":1000}`)
	id = strings.Split(request("POST", "/api/job/my_job/trigger", ""), `"`)[3]
	unplaced := func() string {
		return kubectl.Run(t, c, "get", "pods", "-n", "elasticjob-jobs", "--field-selector=status.phase=Pending", "-o",
			`jsonpath={range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="PodScheduled")].reason}{"\n"}{end}`)
	}
	eventually.Works(t, "show the autoscaler what fits no node", func() error {
		if pods := unplaced(); strings.Count(pods, " Unschedulable") != 2 {
			return errors.New(pods)
		}
		return nil
	})
	request("POST", "/api/execution/"+id+"/kill", "")
	eventually.Works(t, "show the autoscaler nothing after the kill", func() error {
		if pods := unplaced(); pods != "" {
			return errors.New(pods)
		}
		return nil
	})
	if logs := kubectl.Run(t, c, "logs", "-n", "elasticjob", "deployment/elasticjob"); strings.Contains(logs,
		"forbidden") || strings.Contains(logs, "setting warning") || strings.Contains(logs, `"level":"ERROR"`) {
		t.Errorf("the server's log: %s", logs)
	}

	kubectl.Input = "correct horse battery\n"
	kubectl.Run(t, c, "exec", "-i", "-n", "elasticjob", "deployment/elasticjob", "--", "/opt/elasticjob/scheduler",
		"user", "add", "ann", "--role", "admin")
	eventually.Works(t, "close the API", func() error {
		if text, err := try("GET", "/api/app/list", ""); err == nil || !strings.Contains(err.Error(), "401") {
			return fmt.Errorf("the API answers without a login: %s, %v", text, err)
		}
		return nil
	})
}
