package pod_test

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/cluster"
)

func TestUnfit(t *testing.T) {
	t.Parallel()
	gpu := cluster.Taint{Key: "gpu", Value: "true", Effect: "NoSchedule"}
	node := func(taints ...cluster.Taint) *cluster.Attributes {
		return &cluster.Attributes{Labels: map[string]string{"disk": "ssd", "zone": "a", "cores": "16"},
			Taints: taints}
	}
	for _, c := range []struct {
		name, template string
		on             *cluster.Attributes
		want           string
	}{
		{"nothing is asked", ``, node(), ""},
		{"a taint", ``, node(gpu), "it has the taint gpu=true:NoSchedule, which the app does not tolerate"},
		{"a taint without a value", ``, node(cluster.Taint{Key: "db", Effect: "NoExecute"}), "it has the taint db:NoExecute, which the app does not tolerate"},
		{"a taint to be avoided", ``, node(cluster.Taint{Key: "gpu", Effect: "PreferNoSchedule"}), ""},
		{"tolerated by value", `{"spec":{"tolerations":[{"key":"gpu","value":"true","effect":"NoSchedule"}]}}`, node(gpu), ""},
		{"tolerated by another value", `{"spec":{"tolerations":[{"key":"gpu","value":"no"}]}}`, node(gpu), "it has the taint gpu=true:NoSchedule, which the app does not tolerate"},
		{"tolerated whatever the value", `{"spec":{"tolerations":[{"key":"gpu","operator":"Exists"}]}}`, node(gpu), ""},
		{"tolerated with another effect", `{"spec":{"tolerations":[{"key":"gpu","operator":"Exists","effect":"NoExecute"}]}}`, node(gpu), "it has the taint gpu=true:NoSchedule, which the app does not tolerate"},
		{"all tolerated", `{"spec":{"tolerations":[{"operator":"Exists"}]}}`, node(gpu, cluster.Taint{Key: "x", Effect: "NoExecute"}), ""},
		{"one of two tolerated", `{"spec":{"tolerations":[{"key":"gpu","operator":"Exists"}]}}`, node(gpu, cluster.Taint{Key: "x", Effect: "NoExecute"}), "it has the taint x:NoExecute, which the app does not tolerate"},
		{"a label", `{"spec":{"nodeSelector":{"disk":"ssd"}}}`, node(), ""},
		{"another label", `{"spec":{"nodeSelector":{"disk":"hdd"}}}`, node(), "it lacks the label disk=hdd, which the app asks for"},
		{"a label that is not there", `{"spec":{"nodeSelector":{"rack":""}}}`, node(), "it lacks the label rack=, which the app asks for"},
		{"one of some", affinity(`{"matchExpressions":[{"key":"zone","operator":"In","values":["a","b"]}]}`), node(), ""},
		{"none of some", affinity(`{"matchExpressions":[{"key":"zone","operator":"In","values":["b","c"]}]}`), node(), "it does not meet the app's node affinity: its label zone is none of b, c"},
		{"one of one", affinity(`{"matchExpressions":[{"key":"rack","operator":"In","values":["b"]}]}`), node(), "it does not meet the app's node affinity: it lacks the label rack=b"},
		{"not in", affinity(`{"matchExpressions":[{"key":"zone","operator":"NotIn","values":["a"]}]}`), node(), "it does not meet the app's node affinity: its label zone is one of a"},
		{"not in, without it", affinity(`{"matchExpressions":[{"key":"rack","operator":"NotIn","values":["a"]}]}`), node(), ""},
		{"exists", affinity(`{"matchExpressions":[{"key":"rack","operator":"Exists"}]}`), node(), "it does not meet the app's node affinity: it lacks the label rack"},
		{"does not exist", affinity(`{"matchExpressions":[{"key":"disk","operator":"DoesNotExist"}]}`), node(), "it does not meet the app's node affinity: it has the label disk"},
		{"above", affinity(`{"matchExpressions":[{"key":"cores","operator":"Gt","values":["8"]}]}`), node(), ""},
		{"not above", affinity(`{"matchExpressions":[{"key":"cores","operator":"Gt","values":["16"]}]}`), node(), "it does not meet the app's node affinity: its label cores is not above 16"},
		{"below what is no number", affinity(`{"matchExpressions":[{"key":"zone","operator":"Lt","values":["16"]}]}`), node(), "it does not meet the app's node affinity: its label zone is not below 16"},
		{"all of a term", affinity(`{"matchExpressions":[{"key":"disk","operator":"Exists"},{"key":"rack","operator":"Exists"}]}`), node(), "it does not meet the app's node affinity: it lacks the label rack"},
		{"one of two terms", affinity(`{"matchExpressions":[{"key":"rack","operator":"Exists"}]}`, `{"matchExpressions":[{"key":"disk","operator":"Exists"}]}`), node(), ""},
		{"none of two terms", affinity(`{"matchExpressions":[{"key":"rack","operator":"Exists"}]}`,
			`{"matchExpressions":[{"key":"row","operator":"Exists"}]}`), node(),
			"it does not meet the app's node affinity: it lacks the label rack, or it lacks the label row"},
		{"an empty term", affinity(`{}`), node(), "the app's node affinity has no term that a node could meet"},
		{"a template that Check rejects", `{"spec":{"nodeName":"n"}}`, node(), "the app's podTemplate can't be used: podTemplate.spec.nodeName: can't be set: the scheduler places shards; choose nodes with nodeSelector"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := settings().Unfit(cluster.Container{Template: []byte(c.template)})(c.on); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// The installation's template applies to every app; an app's own template adds to it or removes from it.
func TestUnfitByTheInstallationsTemplate(t *testing.T) {
	t.Parallel()
	s := settings()
	s.Template = template(t, "spec:\n  nodeSelector: {pool: batch}\n  tolerations: [{key: pool, operator: Exists}]\n")
	batch := &cluster.Attributes{Labels: map[string]string{"pool": "batch"},
		Taints: []cluster.Taint{{Key: "pool", Value: "batch", Effect: "NoSchedule"}}}
	web := &cluster.Attributes{Labels: map[string]string{"pool": "web"}}
	for template, want := range map[string][2]string{
		``: {"", "it lacks the label pool=batch, which the app asks for"},
		`{"spec":{"nodeSelector":{"pool":"web"}}}`: {"it lacks the label pool=web, which the app asks for", ""},
		`{"spec":{"nodeSelector":null}}`:           {"", ""},
		`{"spec":{"tolerations":null}}`:            {"it has the taint pool=batch:NoSchedule, which the app does not tolerate", "it lacks the label pool=batch, which the app asks for"},
	} {
		why := s.Unfit(cluster.Container{Template: []byte(template)})
		if got := [2]string{why(batch), why(web)}; got != want {
			t.Errorf("%s: %q", template, got)
		}
	}
}

func BenchmarkUnfit(b *testing.B) {
	app := cluster.Container{Template: []byte(
		affinity(`{"matchExpressions":[{"key":"zone","operator":"In","values":["a","b"]}]}`))}
	on := &cluster.Attributes{Labels: map[string]string{"zone": "c"}}
	b.Run("app", func(b *testing.B) {
		for b.Loop() {
			settings().Unfit(app)
		}
	})
	b.Run("node", func(b *testing.B) {
		for why := settings().Unfit(app); b.Loop(); {
			why(on)
		}
	})
}

func BenchmarkBuild(b *testing.B) {
	for name, text := range map[string]string{"plain": "{}", "template": rich} {
		b.Run(name, func(b *testing.B) {
			l := aTask(b, nil)
			l.Container.Template = template(b, text)
			for b.Loop() {
				if _, _, err := settings().Build(l, framework); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
