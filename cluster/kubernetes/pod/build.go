package pod

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Settings are what all pods of an installation have in common.
type Settings struct {
	// Namespace is where they are.
	Namespace string
	// Image is the project's task image: it has the executor, and runs the tasks of apps that name no image.
	Image string
	// Template is the installation's own pod template, as ReadTemplate gives it; apps' templates are merged onto it.
	// nil for none.
	Template []byte
}

const (
	// installed is the executor in the project's image; copied is where it copies itself for an app's image.
	installed = "/opt/elasticjob/executor"
	copied    = workFolder + "/executor"
	// workFolder is where the executor works, a folder of the project's image, or the volume workVolume.
	workFolder = "/elasticjob"
	workVolume = "elasticjob"
	// user is who the project's image runs as: it has no name for it.
	user = 65532
	// margin is what an executor gets beside the kill grace of its job, to end the last of its processes and to say
	// how it ended.
	margin = 10 * time.Second
)

// Grace is the grace period of a pod whose job's processes get so long between SIGTERM and SIGKILL: whole seconds, and
// a margin for the executor, which has to be there when they have ended.
func Grace(kill time.Duration) int64 {
	return int64((max(kill, 0) + margin + time.Second - 1) / time.Second)
}

// Drains reports whether a kill with such a grace lets a daemon's shard end with its run under way: it is longer than
// its pod was made with.
func Drains(p *corev1.Pod, kill time.Duration) bool {
	own := p.Spec.TerminationGracePeriodSeconds
	return p.Labels[LabelDaemon] != "" && own != nil && kill > time.Duration(*own)*time.Second
}

// Build makes the pod of a task, unbound, and the Secret that it mounts if its description is not for everybody's eyes
// or too long for a variable; the Secret is to be owned by the pod and to be there before the pod is bound. The
// templates of the installation and of the app add to the pod; what the scheduler decides they can't change. The error
// says what a template breaks.
func (s Settings) Build(l cluster.TaskLaunch, framework string) (*corev1.Pod, *corev1.Secret, error) {
	t := l.Task
	merged, err := s.merge(basis(t, l), l.Container)
	if err != nil {
		return nil, nil, fmt.Errorf("make the pod of task %s: %w", l.TaskID, err)
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: Name(l.TaskID), Namespace: s.Namespace, Labels: merged.Labels, Annotations: merged.Annotations,
			Finalizers: []string{Finalizer},
		},
		Spec: merged.Spec,
	}
	p.Labels, p.Annotations = with(p.Labels, labelsOf(t, framework)), with(p.Annotations,
		map[string]string{AnnotationTask: l.TaskID, AnnotationJob: t.JobName})
	description, err := l.Description()
	if err != nil {
		return nil, nil, err
	}
	task := describe(t, description, p)
	if t.Daemon != nil {
		task = drainable(task)
	}
	s.decide(&p.Spec, t, l, task)
	return p, task.secret, nil
}

// ownImage reports whether a task runs in the project's image: the executor itself makes the requests of HTTP jobs.
func ownImage(t wire.Task, l cluster.TaskLaunch) bool {
	return l.Container.Image == "" || t.HTTP != nil
}

// basis is what templates are merged onto: all that an app may see fit to have otherwise.
func basis(t wire.Task, l cluster.TaskLaunch) *corev1.PodTemplateSpec {
	yes, no := true, false
	own := func(name string) corev1.Container {
		uid := int64(user)
		c := confined(name)
		c.SecurityContext.RunAsUser = &uid
		return c
	}
	spec := corev1.PodSpec{
		AutomountServiceAccountToken: &no,
		EnableServiceLinks:           &no,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: &yes, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
	if ownImage(t, l) {
		spec.Containers = []corev1.Container{own(Container)}
	} else {
		spec.InitContainers, spec.Containers = []corev1.Container{own(Prepare)},
			[]corev1.Container{confined(Container)}
	}
	return &corev1.PodTemplateSpec{Spec: spec}
}

// confined is a container with what restricted pod security asks for.
func confined(name string) corev1.Container {
	no := false
	return corev1.Container{Name: name, SecurityContext: &corev1.SecurityContext{
		AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}}
}

// decide sets what the scheduler decides itself, whatever templates say.
func (s Settings) decide(spec *corev1.PodSpec, t wire.Task, l cluster.TaskLaunch, task description) {
	grace := Grace(time.Duration(t.KillGraceMillis) * time.Millisecond)
	spec.NodeName, spec.SchedulerName, spec.SchedulingGates = "", Scheduler, nil
	spec.RestartPolicy, spec.TerminationGracePeriodSeconds = corev1.RestartPolicyNever, &grace
	spec.Tolerations = append(without(spec.Tolerations, toleratesUnready), unready()...)
	for _, name := range l.Container.PullSecrets {
		spec.ImagePullSecrets = append(without(spec.ImagePullSecrets,
			func(r corev1.LocalObjectReference) bool { return r.Name == name }),
			corev1.LocalObjectReference{Name: name})
	}
	spec.Volumes = without(spec.Volumes, func(v corev1.Volume) bool { return isOurVolume(v.Name) })

	own := ownImage(t, l)
	if own && len(task.volumes) == 0 && withoutVolumes(spec) {
		task.variables = append(task.variables, corev1.EnvVar{Name: begunVariable, Value: begunFile})
	} else {
		spec.Volumes = append(spec.Volumes,
			corev1.Volume{Name: workVolume,
				VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
		spec.Volumes = append(spec.Volumes, task.volumes...)
		task.mounts = append([]corev1.VolumeMount{{Name: workVolume, MountPath: workFolder}}, task.mounts...)
	}
	if own {
		// A template may speak of the init container whether the app has an image or not; this pod has none.
		spec.InitContainers = without(spec.InitContainers, func(c corev1.Container) bool { return c.Name == Prepare })
	}
	for i := range spec.InitContainers {
		if c := &spec.InitContainers[i]; c.Name == Prepare {
			decideContainer(c, s.Image, []string{installed, "pod", "--prepare"}, l.Resources, task)
		}
	}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		switch {
		case c.Name != Container:
		case own:
			decideContainer(c, s.Image, []string{installed, "pod"}, l.Resources, task)
		default:
			decideContainer(c, l.Container.Image, []string{copied, "pod"}, l.Resources, task)
		}
		if c.Name == Container && (!own || l.Container.Image == "") {
			c.ImagePullPolicy = corev1.PullPolicy(l.Container.PullPolicy)
		}
	}
}

func decideContainer(c *corev1.Container, image string, command []string, need resources.Amount, task description) {
	c.Image, c.Command, c.Args, c.ImagePullPolicy = image, command, nil, ""
	c.Resources = requirements(need)
	c.RestartPolicy, c.RestartPolicyRules = nil, nil
	// The executor leaves the message. If it could not be executed, only the container's output says why.
	c.TerminationMessagePath, c.TerminationMessagePolicy = corev1.TerminationMessagePathDefault,
		corev1.TerminationMessageFallbackToLogsOnError
	c.TTY, c.Stdin, c.StdinOnce = false, false, false
	c.Env = append(without(c.Env, func(v corev1.EnvVar) bool { return isOurVariable(v.Name) }), task.variables...)
	c.VolumeMounts = append(without(c.VolumeMounts,
		func(m corev1.VolumeMount) bool { return isOurPath(m.MountPath) || isOurVolume(m.Name) }), task.mounts...)
}

// withoutVolumes reports whether a pod in the project's image may work in the container's own file system. For a pod
// with any volume the kubelet looks only every 0.3 s whether it is there (podAttachAndMountRetryInterval), which is
// more than all else takes until a shard's first line.
func withoutVolumes(spec *corev1.PodSpec) bool {
	return len(spec.Volumes) == 0 && !spec.HostIPC && !slices.ContainsFunc(spec.Containers,
		func(c corev1.Container) bool {
			return c.Name == Container && c.SecurityContext != nil &&
				c.SecurityContext.ReadOnlyRootFilesystem != nil && *c.SecurityContext.ReadOnlyRootFilesystem
		})
}

// requirements are what a container takes. The memory of a shard is its limit, too; its CPU is what it gets when
// others want theirs.
func requirements(need resources.Amount) corev1.ResourceRequirements {
	cpu := *resource.NewMilliQuantity(need.CPUMilli, resource.DecimalSI)
	memory := *resource.NewQuantity((need.MemMilli*(1<<20)+999)/1000, resource.BinarySI)
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: memory},
	}
}

// unready are the tolerations for nodes that don't answer: what becomes of a task there is the scheduler's decision
// (rule E4), and not the taint manager's, which would have it deleted.
func unready() (all []corev1.Toleration) {
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		all = append(all, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists,
			Effect: corev1.TaintEffectNoExecute})
	}
	return all
}

func toleratesUnready(t corev1.Toleration) bool {
	return t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable
}

// without is a list less those that match; the list given is not changed.
func without[T any](list []T, match func(T) bool) (rest []T) {
	for _, one := range list {
		if !match(one) {
			rest = append(rest, one)
		}
	}
	return rest
}
