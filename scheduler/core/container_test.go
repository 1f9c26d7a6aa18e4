package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// podStage returns a stage on a cluster that runs each task in its own container. Apps whose template contains "ssd"
// fit only agents with the label disk=ssd.
func podStage(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.opt.TaskExecutors = true
	s.opt.Unfit = func(app cluster.Container) func(*cluster.Attributes) string {
		needsSSD := strings.Contains(string(app.Template), "ssd")
		return func(on *cluster.Attributes) string {
			if needsSSD && on.Labels["disk"] != "ssd" {
				return "it lacks the label disk=ssd, which the app asks for"
			}
			return ""
		}
	}
	s.restart()
	return s
}

// offerWith offers 8 CPUs and 4 GB of an agent with labels.
func (s *stage) offerWith(agent string, labels map[string]string) {
	s.t.Helper()
	s.offerCount++
	s.step(s.clusterEvent(cluster.Offers{Offers: []cluster.Offer{{
		ID: fmt.Sprintf("O%d", s.offerCount), AgentID: agent, Hostname: agent,
		Resources: resources.New(8, 4096), Total: resources.New(8, 4096),
		Attributes: &cluster.Attributes{Labels: labels},
	}}}))
}

// inContainer makes an app run in containers, on agents with the label disk=ssd.
func inContainer(a *app.Config) {
	a.AppURL, a.Image, a.ImagePullPolicy, a.ImagePullSecrets = "", "registry.example/a:1", "Always",
		document.ListOf("mirror")
	a.PodTemplate = `{"spec":{"nodeSelector":{"disk":"ssd"}}}`
}

// TestLaunchesHaveTheContainerSettingsOfTheirApp checks that launches carry the container settings of their app, that
// these settings decide which agents fit, and that explain names the reason why another agent does not fit.
func TestLaunchesHaveTheContainerSettingsOfTheirApp(t *testing.T) {
	t.Parallel()
	s := podStage(t)
	s.app(inContainer)
	s.job()
	s.trigger()
	s.offerWith("node-1", map[string]string{"disk": "hdd"})
	if text := fmt.Sprint(s.explain("my_job")); len(s.accepts) > 0 ||
		!strings.Contains(text, "it lacks the label disk=ssd, which the app asks for") {
		t.Fatalf("with an agent that does not fit: launched %+v, explain %s", s.accepts, text)
	}
	s.offerWith("node-2", map[string]string{"disk": "ssd"})
	launches := s.answerAccepts()
	want := cluster.Container{Image: "registry.example/a:1", PullPolicy: "Always", PullSecrets: []string{"mirror"},
		Template: []byte(`{"spec":{"nodeSelector":{"disk":"ssd"}}}`)}
	if len(launches) != 3 {
		t.Fatalf("launched %+v, want 3 tasks", launches)
	}
	for _, l := range launches {
		if diff := cmp.Diff(want, l.Container); diff != "" {
			t.Error(diff)
		}
	}
}

// TestX1ContainerSettingsChangeTheExecutorKey checks that an app without container settings has the same key as in
// earlier releases, so that its executors are kept (X1), and that each container setting changes the key.
func TestX1ContainerSettingsChangeTheExecutorKey(t *testing.T) {
	t.Parallel()
	a := app.Default()
	a.AppName, a.AppURL, a.BootstrapScript = "my_app", "http://h/a.tar.gz", "bin/start.sh"
	keys := []string{executors.Key(a)}
	if keys[0] != "my_app@93e4e1cfe0949dd8" {
		t.Errorf("the key of an app has changed: all executors would be replaced: %s", keys[0])
	}
	for _, change := range []func(*app.Config){
		func(a *app.Config) { a.Image = "a" }, func(a *app.Config) { a.Image = "b" },
		func(a *app.Config) { a.ImagePullPolicy = "Never" },
		func(a *app.Config) { a.ImagePullSecrets = document.ListOf("a") },
		func(a *app.Config) { a.PodTemplate = `{"spec":{"hostNetwork":true}}` },
	} {
		other := a
		change(&other)
		keys = append(keys, executors.Key(other))
	}
	if slices.Sort(keys); len(slices.Compact(keys)) != 6 {
		t.Errorf("the keys of different settings are the same: %v", keys)
	}
}

// TestContainersAreStored checks that an app with an image is stored in either format of documents, and that its
// changes are audited. A cluster without containers does not use the app.
func TestContainersAreStored(t *testing.T) {
	t.Parallel()
	for _, format := range []step.DocumentFormat{step.JSONDocuments, step.YAMLDocuments} {
		s := podStage(t)
		s.opt.Documents = format
		s.restart()
		s.app(inContainer)
		s.apply(s.core.planUpdateApp("my_app", func(a app.Config) (app.Config, error) {
			a.PodTemplate, a.Image = `{"metadata":{"labels":{"team":"a"}}}`, "registry.example/a:2"
			return a, nil
		}))
		s.step()
		row := s.core.views.Audits(search.Audits{Action: "app.update", Limit: 1})[0]
		if row.Before != `{"image":"registry.example/a:1","podTemplate":{"spec":{"nodeSelector":{"disk":"ssd"}}}}` ||
			row.After != `{"image":"registry.example/a:2","podTemplate":{"metadata":{"labels":{"team":"a"}}}}` {
			t.Errorf("the audit row is %+v", row)
		}
		want := *s.core.config.App("my_app").Config()
		s.restart()
		if got := s.core.config.App("my_app"); got == nil || *got.Config() != want {
			t.Fatalf("the next leader reads %+v, want %+v", got, want)
		}
		s.opt.TaskExecutors, s.opt.Unfit = false, nil
		s.restart()
		if a := s.core.config.App("my_app"); a != nil && a.Config().Image != "" {
			t.Errorf("an app with an image is used on a cluster without containers: %+v", a)
		}
	}
}
