package kubernetes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/eventually"
	"github.com/elasticjob-go/elasticjob/test/internal/system"
	"github.com/elasticjob-go/elasticjob/test/kubernetesserver"
)

// uptime returns the uptime of this machine, a clock that processes in pods can read, too.
func uptime(t testing.TB) time.Duration {
	t.Helper()
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		t.Fatal(err)
	}
	return seconds(t, string(text))
}

// seconds returns the uptime in the text of /proc/uptime.
func seconds(t testing.TB, text string) time.Duration {
	t.Helper()
	first, _, _ := strings.Cut(text, " ")
	n, err := strconv.ParseFloat(strings.TrimSpace(first), 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(n * float64(time.Second))
}

// onBench returns a world in a Kubernetes of its own.
func onBench(b *testing.B) *world {
	b.Helper()
	kubernetesserver.Require(b)
	o, err := options(1)
	if err != nil {
		b.Fatal(err)
	}
	return newWorld(b, kubernetesserver.Start(b, o), singleServer)
}

// BenchmarkFirstLine measures the time from a trigger to the first line of the only shard, on an otherwise idle node
// that has the image. It measures the default pod of apps without a podTemplate, and a pod with a volume, which takes
// the kubelet longer. The package is fetched each time.
func BenchmarkFirstLine(b *testing.B) {
	w := onBench(b)
	template := filepath.Join(b.TempDir(), "template.json")
	if err := os.WriteFile(template, []byte(`{"spec":{"hostNetwork":true}}`), 0o600); err != nil {
		b.Fatal(err)
	}
	w.serve("--kubernetes-pod-template", template)
	for name, fields := range map[string]system.Doc{
		"plain":  nil,
		"volume": {"podTemplate": system.Doc{"spec": system.Doc{"volumes": []any{system.Doc{"name": "v", "emptyDir": system.Doc{}}}}}},
	} {
		b.Run(name, func(b *testing.B) {
			app := "app-" + name
			w.App(app, only("cat /proc/uptime"), fields)
			w.job(name, app, nil)
			var took []time.Duration
			for b.Loop() {
				triggered := uptime(b)
				id := w.Trigger(name)
				w.Await(id, "FINISHED")
				_, task, _ := strings.Cut(w.OK("GET", "/api/execution/"+id, ""), `"taskId":"`)
				task, _, _ = strings.Cut(task, `"`)
				took = append(took, seconds(b, w.OK("GET", "/api/task/"+task+"/logs", ""))-triggered)
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)/2].Seconds()*1000, "ms-p50")
			b.ReportMetric(took[len(took)*9/10].Seconds()*1000, "ms-p90")
		})
	}
}

// BenchmarkShards measures how many shards a second one kubelet runs, in executions of 50 that start together, and
// checks that each ran once.
func BenchmarkShards(b *testing.B) {
	w := onBench(b)
	w.serve()
	w.App("app", system.Files{"bin/start.sh": system.Ledger}, nil)
	const jobs, shards = 4, 50
	for i := range jobs {
		w.job(fmt.Sprint("job", i), "app", system.Doc{"shardingTotalCount": shards, "cpuCount": 0.005, "memoryMB": 32})
	}
	ran := 0
	for b.Loop() {
		var ids []string
		for i := range jobs {
			ids = append(ids, w.Trigger(fmt.Sprint("job", i)))
		}
		for _, id := range ids {
			w.Await(id, "FINISHED")
		}
		ran += jobs * shards
	}
	b.ReportMetric(float64(ran)/b.Elapsed().Seconds(), "shards/s")
	if starts, _ := w.Ran(); len(starts) != ran {
		b.Errorf("%d of %d shards have run", len(starts), ran)
	}
	w.OnceEach()
}

// BenchmarkBarePods measures the limit of the machine: how many pods that do nothing one kubelet runs per second. All
// pods are created one after the other and already bound to the node, without a scheduler, a package or an executor.
func BenchmarkBarePods(b *testing.B) {
	kubernetesserver.Require(b)
	c := kubernetesserver.Start(b, kubernetesserver.Options{})
	const pods = 200
	round := 0
	for b.Loop() {
		round++
		namespace := fmt.Sprint("bare-", round)
		c.Namespace(b, namespace, nil)
		for i := range pods {
			c.OK(b, "POST", "/api/v1/namespaces/"+namespace+"/pods",
				fmt.Sprintf(`{"metadata":{"name":"pod-%d"},"spec":{"nodeName":"node1","hostNetwork":true,
				"restartPolicy":"Never","terminationGracePeriodSeconds":0,"containers":[{"name":"main","image":%q,"command":["true"]}]}}`, i, kubernetesserver.Box.Name), nil)
		}
		eventually.Works(b, "run all pods", func() error {
			var ended struct{ Items []struct{} }
			c.OK(b, "GET", "/api/v1/namespaces/"+namespace+"/pods?fieldSelector=status.phase%3DSucceeded", "", &ended)
			if len(ended.Items) < pods {
				return fmt.Errorf("%d have ended", len(ended.Items))
			}
			return nil
		})
	}
	b.ReportMetric(float64(round*pods)/b.Elapsed().Seconds(), "pods/s")
}
