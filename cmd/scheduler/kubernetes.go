package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/keep"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/podevent"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/podlog"
	"github.com/elasticjob-go/elasticjob/internal/release"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// kubernetesFlags say how jobs run on Kubernetes.
type kubernetesFlags struct {
	on                           bool
	kubeconfig, namespace, image string
	podTemplate, keepPods        string
	showUnplaced                 bool
	rules                        keep.Rules // what keepPods says
	template                     []byte     // the content of podTemplate
}

func (k *kubernetesFlags) flags(f *pflag.FlagSet) {
	f.StringVar(&k.kubeconfig, "kubeconfig", "",
		"with --kubernetes: file that says how to reach the API server (default: as kubectl finds it, in a pod its service account)")
	f.StringVar(&k.namespace, "kubernetes-namespace", "",
		"with --kubernetes: the namespace of the jobs' pods (default: the one of the kubeconfig or of the service account)")
	f.StringVar(&k.image, "kubernetes-image", "",
		"with --kubernetes: the image with the executor, which runs the shards of apps without an image of their own (default: elasticjob-task: and this release's version)")
	f.StringVar(&k.podTemplate, "kubernetes-pod-template", "",
		"with --kubernetes: YAML or JSON file of a PodTemplateSpec on which the pods of all apps are made; an app's own podTemplate counts before it")
	f.BoolVar(&k.showUnplaced, "kubernetes-show-unplaced", false,
		"with --kubernetes: shards that no node has room for are shown to the cluster's autoscaler, as pods that never run")
	f.StringVar(&k.keepPods, "keep-pods", keep.Default,
		"with --kubernetes: how many ended runs of each job are kept with the pods of their shards, for their output, how many pods of all jobs at most, and for how long")
}

// kubernetesOnly are flags that mean something only with --kubernetes, notKubernetes those that mean nothing with it.
var (
	kubernetesOnly = []string{"kubeconfig", "kubernetes-namespace", "kubernetes-image", "kubernetes-pod-template",
		"kubernetes-show-unplaced", "keep-pods"}
	notKubernetes = []string{"executor-dir", "executor-idle", "executor-limit", "run-as"}
)

var isNamespace = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// checkKubernetes reads what --kubernetes takes. Nothing is connected to.
func (s *settings) checkKubernetes(bad *complaints) {
	k := &s.config.kubernetes
	for _, flag := range kubernetesOnly {
		bad.unless(k.on || s.sources[flag] == "", "%s has no effect without --kubernetes", s.said(flag))
	}
	var err error
	k.rules, err = keep.Parse(k.keepPods)
	bad.about(s.said("keep-pods"), err)
	if !k.on {
		return
	}
	for _, flag := range notKubernetes {
		bad.unless(s.sources[flag] == "",
			"%s has no effect with --kubernetes: pods have executors of their own, from %s", s.said(flag),
			s.said("kubernetes-image"))
	}
	bad.unless(!s.config.local, "%s and %s contradict each other: --local brings a cluster of its own",
		s.said("local"), s.said("kubernetes"))
	bad.unless(s.config.mesos == "", "%s and %s contradict each other: jobs run on one cluster", s.said("mesos"),
		s.said("kubernetes"))
	if k.podTemplate != "" {
		text, err := os.ReadFile(k.podTemplate)
		if err == nil {
			k.template, err = pod.ReadTemplate(text)
		}
		bad.about(s.said("kubernetes-pod-template"), err)
	}
	k.image = cmp.Or(k.image, "elasticjob-task:"+release.Version())
	bad.about(fmt.Sprintf("%s %q", s.said("kubernetes-image"), k.image), app.CheckImage(k.image))
	_, found, err := kubernetes.Connect(k.kubeconfig)
	bad.about(s.said("kubernetes"), err)
	k.namespace = cmp.Or(k.namespace, found)
	if k.kubeconfig == "" && k.namespace != "" && k.namespace == accountNamespace(accountNamespaceFile) {
		s.note("jobs run in this server's own namespace, %s: whoever may publish an app can use every Secret and service account there, this server's too, by its podTemplate; "+
			"give jobs a namespace of their own with --kubernetes-namespace", k.namespace)
	}
	bad.unless(err != nil || isNamespace.MatchString(k.namespace),
		"%s %q: want the name of a namespace: lower-case letters, digits and hyphens, 63 at most",
		s.said("kubernetes-namespace"), k.namespace)
}

// accountNamespaceFile is where Kubernetes tells a pod which namespace its service account is in.
const accountNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// accountNamespace is what that file says, "" without one: this server is in no pod then, or has no account there.
func accountNamespace(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// clusterKind is what the state in the registry says of where its tasks run.
const clusterKind = "Kubernetes"

// core sets what the core is to know of Kubernetes.
func (k *kubernetesFlags) core(o *step.Options) {
	o.ClusterKind, o.TaskExecutors, o.Unfit = clusterKind, true, k.pods().Unfit
}

// pods are what all pods have in common.
func (k *kubernetesFlags) pods() pod.Settings {
	return pod.Settings{Namespace: k.namespace, Image: k.image, Template: k.template}
}

// openKubernetes makes what reaches the API server; nothing is connected to yet. Outputs have connections of their
// own: many that last.
func openKubernetes(c config, address string, log *slog.Logger) (platform, error) {
	k := c.kubernetes
	config, _, err := kubernetes.Connect(k.kubeconfig)
	if err != nil {
		return platform{}, err
	}
	outputs, err := kubernetes.NewAPI(config)
	if err != nil {
		return platform{}, err
	}
	files, err := podlog.NewFiles(podlog.Options{Core: outputs.Core, Folder: filepath.Join(c.dataDir, "output")})
	if err != nil {
		return platform{}, err
	}
	follower := podlog.NewFollower(podlog.FollowerOptions{Core: outputs.Core, Logger: log})
	keeper := keep.New(keep.Options{Rules: k.rules, Core: outputs.Core, Logger: log})
	recorder := podevent.New(outputs.Core, log)
	closeAll := func() error {
		keeper.Close()
		recorder.Close()
		err := files.Close()
		follower.Wait()
		outputs.Close()
		return err
	}
	driver, err := kubernetes.New(kubernetes.Options{Config: config, Pods: k.pods(), Follower: follower,
		Keeper: keeper, Recorder: recorder, ShowUnplaced: k.showUnplaced, Logger: log})
	if err != nil {
		return platform{}, errors.Join(err, closeAll())
	}
	return platform{
		driver: driver, output: files, framework: framework(c, address), podTemplate: k.pods().Check, image: k.image,
		throttled: func() int64 { return driver.API().Throttled() + outputs.Throttled() },
		close:     func() error { return errors.Join(driver.Close(), closeAll()) },
	}, nil
}
