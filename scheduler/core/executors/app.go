package executors

import (
	"encoding/json"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Key names the executors that can run an app's tasks: the app's name and a fingerprint of its package, script, size
// and container. If one of these changes, a new generation of executors is started (rule X1, [D14]).
func Key(a app.Config) string {
	of := []any{a.AppURL, a.AppSHA256, a.BootstrapScript, a.Resources(), a.AppCacheEnable}
	if c := Container(&a); !c.IsZero() {
		of = append(of, c) // keys of apps without a container are the same as in earlier releases
	}
	text, _ := json.Marshal(of)
	return a.AppName + "@" + store.Fingerprint(string(text))
}

// Container is the part of an app's document that describes the containers of its tasks; zero if it has none.
func Container(a *app.Config) cluster.Container {
	c := cluster.Container{Image: a.Image, PullPolicy: a.ImagePullPolicy, PullSecrets: a.ImagePullSecrets.Texts()}
	if a.PodTemplate != "" {
		c.Template = json.RawMessage(a.PodTemplate)
	}
	return c
}
