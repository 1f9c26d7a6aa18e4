package executors

import (
	"encoding/json"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Key names the executors that can run an app's tasks: a changed
// package, script, size or container makes another kind, and so another generation
// (rule X1, [D14]).
func Key(a app.Config) string {
	of := []any{a.AppURL, a.AppSHA256, a.BootstrapScript, a.Resources(), a.AppCacheEnable}
	if c := Container(&a); !c.IsZero() {
		of = append(of, c) // keys of apps without one are those of earlier releases
	}
	text, _ := json.Marshal(of)
	return a.AppName + "@" + store.Fingerprint(string(text))
}

// Container is what an app says of its tasks' containers.
func Container(a *app.Config) cluster.Container {
	c := cluster.Container{Image: a.Image, PullPolicy: a.ImagePullPolicy, PullSecrets: a.ImagePullSecrets.Texts()}
	if a.PodTemplate != "" {
		c.Template = json.RawMessage(a.PodTemplate)
	}
	return c
}
