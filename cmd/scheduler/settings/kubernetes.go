package settings

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/keep"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
	"github.com/elasticjob-go/elasticjob/internal/release"
)

// Kubernetes are the settings of jobs on Kubernetes.
type Kubernetes struct {
	// On is set if jobs run on Kubernetes.
	On bool
	// Kubeconfig is the file that describes how to reach the API server, or "".
	Kubeconfig string
	// Namespace is the namespace of the pods. Image is the default image, which contains the executor.
	Namespace, Image string
	// ShowUnplaced is set if shards that fit on no node are shown to the cluster's autoscaler.
	ShowUnplaced bool
	// AssignedUser is set if the platform assigns the user ids of pods.
	AssignedUser bool
	// Rules determine which ended pods are kept.
	Rules keep.Rules
	// Template is the PodTemplateSpec on which the pods of all apps are based; nil if there is none.
	Template []byte

	podTemplate, keepPods string
}

func (k *Kubernetes) flags(f *pflag.FlagSet) {
	f.StringVar(&k.Kubeconfig, "kubeconfig", "",
		"with --kubernetes: file that says how to reach the API server (default: as kubectl finds it, in a pod its service account)")
	f.StringVar(&k.Namespace, "kubernetes-namespace", "",
		"with --kubernetes: the namespace of the jobs' pods (default: the one of the kubeconfig or of the service account)")
	f.StringVar(&k.Image, "kubernetes-image", "",
		"with --kubernetes: the image with the executor, which runs the shards of apps without an image of their own (default: elasticjob-task: and this release's version)")
	f.StringVar(&k.podTemplate, "kubernetes-pod-template", "",
		"with --kubernetes: YAML or JSON file of a PodTemplateSpec on which the pods of all apps are made; an app's own podTemplate counts before it")
	f.BoolVar(&k.ShowUnplaced, "kubernetes-show-unplaced", false,
		"with --kubernetes: shards that no node has room for are shown to the cluster's autoscaler, as pods that never run")
	f.BoolVar(&k.AssignedUser, "kubernetes-assigned-user", false,
		"with --kubernetes: the platform assigns the user ids of pods, as OpenShift does: pods of the executor's image don't name one")
	f.StringVar(&k.keepPods, "keep-pods", keep.Default,
		"with --kubernetes: which pods of ended runs are kept so that their output can be read: finished and failed runs of each job, pods in total, and the maximum age")
}

// kubernetesOnly are the flags that have no effect without --kubernetes. notKubernetes are the flags that have no
// effect with --kubernetes.
var (
	kubernetesOnly = []string{"kubeconfig", "kubernetes-namespace", "kubernetes-image", "kubernetes-pod-template",
		"kubernetes-show-unplaced", "kubernetes-assigned-user", "keep-pods"}
	notKubernetes = []string{"executor-dir", "executor-idle", "executor-limit", "run-as"}
)

var namespaceName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// check checks the settings of --kubernetes and reads the pod template. It does not connect to the cluster. local and
// mesos say whether the settings have another cluster.
func (k *Kubernetes) check(r *report, local, mesos bool) {
	r.require(k.On, "--kubernetes", kubernetesOnly...)
	var err error
	k.Rules, err = keep.Parse(k.keepPods)
	r.About(r.source("keep-pods"), err)
	if !k.On {
		return
	}
	for _, flag := range notKubernetes {
		r.Unless(!r.given(flag),
			"%s has no effect with --kubernetes: pods have executors of their own, from %s", r.source(flag),
			r.source("kubernetes-image"))
	}
	r.Unless(!local, "%s and %s contradict each other: --local has its own cluster",
		r.source("local"), r.source("kubernetes"))
	r.Unless(!mesos, "%s and %s contradict each other: jobs run on one cluster", r.source("mesos"),
		r.source("kubernetes"))
	if k.podTemplate != "" {
		text, err := os.ReadFile(k.podTemplate)
		if err == nil {
			k.Template, err = pod.ReadTemplate(text)
		}
		r.About(r.source("kubernetes-pod-template"), err)
	}
	k.Image = cmp.Or(k.Image, "elasticjob-task:"+release.Version())
	r.About(fmt.Sprintf("%s %q", r.source("kubernetes-image"), k.Image), app.CheckImage(k.Image))
	_, defaultNamespace, err := kubernetes.Connect(k.Kubeconfig)
	r.About(r.source("kubernetes"), err)
	k.Namespace = cmp.Or(k.Namespace, defaultNamespace)
	if k.Kubeconfig == "" && k.Namespace != "" && k.Namespace == accountNamespace(accountNamespaceFile) {
		r.note("jobs run in this server's own namespace, %s: users who may publish an app can use every Secret and service account there, this server's too, through its podTemplate; "+
			"give jobs a namespace of their own with --kubernetes-namespace", k.Namespace)
	}
	r.Unless(err != nil || namespaceName.MatchString(k.Namespace),
		"%s %q: must be the name of a namespace: lower-case letters, digits and hyphens, 63 at most",
		r.source("kubernetes-namespace"), k.Namespace)
}

// accountNamespaceFile is the file in which Kubernetes tells a pod the namespace of its service account.
const accountNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// accountNamespace returns the content of this file, or "" if this server is not in a pod or has no service account.
func accountNamespace(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
