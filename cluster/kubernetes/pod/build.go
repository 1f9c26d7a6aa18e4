package pod

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/trust"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Settings are the settings that all pods of an installation share.
type Settings struct {
	// Namespace is the namespace of the pods.
	Namespace string
	// Image is the project's task image, which contains the executor. HTTP jobs run in it, and so do the jobs of apps
	// that name no image.
	Image string
	// Template is the installation's pod template in the form that ReadTemplate returns; nil for none. Apps' templates
	// are merged onto it.
	Template []byte
	// AssignedUser is set if the platform assigns the user ids of pods, as OpenShift does. Pods then name no user id
	// unless a template does.
	AssignedUser bool
	// Authorities are the certificates that executors trust in addition to their image's, in PEM form.
	Authorities string
}

const (
	// executorPath is the executor's path in the project's image. copiedPath is the path of the copy that the init
	// container makes for a container with an app's image.
	executorPath = "/opt/elasticjob/executor"
	copiedPath   = workFolder + "/executor"
	// workFolder is the executor's working folder: a folder of the project's image, or the mount of workVolume.
	workFolder = "/elasticjob"
	workVolume = "elasticjob"
	// imageUser is the UID that the project's image runs as. The image has no user name for it.
	imageUser = 65532
	// graceMargin is added to the job's kill grace. The executor uses it to end the last processes and to report how
	// the job ended.
	graceMargin = 10 * time.Second
)

// Grace returns a pod's grace period in whole seconds. kill is the time that the job's processes get between SIGTERM
// and SIGKILL. The grace period is longer by a margin, because the executor must outlive the processes.
func Grace(kill time.Duration) int64 {
	return int64((max(kill, 0) + graceMargin + time.Second - 1) / time.Second)
}

// Drains reports whether a kill with this grace lets a daemon's shard complete its current run. It does if the grace is
// longer than the one in the pod's spec. Shards of other jobs are never drained.
func Drains(p *corev1.Pod, kill time.Duration) bool {
	own := p.Spec.TerminationGracePeriodSeconds
	return p.Labels[LabelDaemon] != "" && own != nil && kill > time.Duration(*own)*time.Second
}

// Build builds the unbound pod of a task. If the task's description is confidential or too long for a variable, Build
// also returns a Secret for the pod to mount; otherwise the Secret is nil. The caller must make the pod the Secret's
// owner, and must create the Secret before it binds the pod. The templates of the installation and of the app add to
// the pod but cannot change what the scheduler decides. If one of them is invalid, the error says what it violates.
func (s Settings) Build(l cluster.TaskLaunch, framework string) (*corev1.Pod, *corev1.Secret, error) {
	t := l.Task
	merged, err := s.merge(s.baseTemplate(t, l), l.Container)
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
	task := describeTask(t, description, p)
	if t.Daemon != nil {
		task = withDrainFile(task)
	}
	if s.Authorities != "" {
		task.variables = append(task.variables, corev1.EnvVar{Name: trust.Variable, Value: s.Authorities})
	}
	s.setControlled(&p.Spec, t, l, task)
	return p, task.secret, nil
}

// usesProjectImage reports whether a task runs in the project's image. HTTP jobs do, because the executor itself makes
// the requests.
func usesProjectImage(t wire.Task, l cluster.TaskLaunch) bool {
	return l.Container.Image == "" || t.HTTP != nil
}

// baseTemplate returns the pod onto which the templates are merged. It holds the defaults that an app may override.
func (s Settings) baseTemplate(t wire.Task, l cluster.TaskLaunch) *corev1.PodTemplateSpec {
	yes, no := true, false
	withProjectUser := func(name string) corev1.Container {
		c := confined(name)
		if uid := int64(imageUser); !s.AssignedUser {
			c.SecurityContext.RunAsUser = &uid
		}
		return c
	}
	spec := corev1.PodSpec{
		AutomountServiceAccountToken: &no,
		EnableServiceLinks:           &no,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: &yes, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
	if usesProjectImage(t, l) {
		spec.Containers = []corev1.Container{withProjectUser(Container)}
	} else {
		spec.InitContainers = []corev1.Container{withProjectUser(Prepare)}
		spec.Containers = []corev1.Container{confined(Container)}
	}
	return &corev1.PodTemplateSpec{Spec: spec}
}

// confined returns a container with the settings that restricted pod security requires.
func confined(name string) corev1.Container {
	no := false
	return corev1.Container{Name: name, SecurityContext: &corev1.SecurityContext{
		AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}}
}

// setControlled sets the fields that the scheduler controls, regardless of templates.
func (s Settings) setControlled(spec *corev1.PodSpec, t wire.Task, l cluster.TaskLaunch, task description) {
	grace := Grace(time.Duration(t.KillGraceMillis) * time.Millisecond)
	spec.NodeName, spec.SchedulerName, spec.SchedulingGates = "", Scheduler, nil
	spec.RestartPolicy, spec.TerminationGracePeriodSeconds = corev1.RestartPolicyNever, &grace
	spec.Tolerations = append(without(spec.Tolerations, toleratesUnready), unreadyTolerations()...)
	for _, name := range l.Container.PullSecrets {
		spec.ImagePullSecrets = append(without(spec.ImagePullSecrets,
			func(r corev1.LocalObjectReference) bool { return r.Name == name }),
			corev1.LocalObjectReference{Name: name})
	}
	spec.Volumes = without(spec.Volumes, func(v corev1.Volume) bool { return isOurVolume(v.Name) })

	projectImage := usesProjectImage(t, l)
	if projectImage && len(task.volumes) == 0 && needsNoVolume(spec) {
		task.variables = append(task.variables, corev1.EnvVar{Name: begunVariable, Value: begunFile})
	} else {
		spec.Volumes = append(spec.Volumes,
			corev1.Volume{Name: workVolume,
				VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
		spec.Volumes = append(spec.Volumes, task.volumes...)
		task.mounts = append([]corev1.VolumeMount{{Name: workVolume, MountPath: workFolder}}, task.mounts...)
	}
	if projectImage {
		// A template may configure the container Prepare for all apps, but a pod in the project's image needs no such
		// container.
		spec.InitContainers = without(spec.InitContainers, func(c corev1.Container) bool { return c.Name == Prepare })
	}
	for i := range spec.InitContainers {
		if c := &spec.InitContainers[i]; c.Name == Prepare {
			setControlledContainer(c, s.Image, []string{executorPath, "pod", "--prepare"}, requirements(l), task)
		}
	}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		switch {
		case c.Name != Container:
		case projectImage:
			setControlledContainer(c, s.Image, []string{executorPath, "pod"}, requirements(l), task)
		default:
			setControlledContainer(c, l.Container.Image, []string{copiedPath, "pod"}, requirements(l), task)
		}
		// An HTTP job runs in the project's image even if its app names an image. The app's pull policy is for the
		// app's image, and does not apply to such a job.
		replacesAppImage := projectImage && l.Container.Image != ""
		if c.Name == Container && !replacesAppImage {
			c.ImagePullPolicy = corev1.PullPolicy(l.Container.PullPolicy)
		}
	}
}

// setControlledContainer sets the fields that the scheduler controls in a container that runs the executor. It resets
// the pull policy to the default of Kubernetes; the caller may set another one after that.
func setControlledContainer(
	c *corev1.Container, image string, command []string, resources corev1.ResourceRequirements, task description,
) {
	c.Image, c.Command, c.Args, c.ImagePullPolicy = image, command, nil, ""
	c.Resources = resources
	c.RestartPolicy, c.RestartPolicyRules = nil, nil
	// The executor writes the message. If the executor could not be executed, only the container's output says why.
	c.TerminationMessagePath, c.TerminationMessagePolicy = corev1.TerminationMessagePathDefault,
		corev1.TerminationMessageFallbackToLogsOnError
	c.TTY, c.Stdin, c.StdinOnce = false, false, false
	c.Env = append(without(c.Env, func(v corev1.EnvVar) bool { return isOurVariable(v.Name) }), task.variables...)
	c.VolumeMounts = append(without(c.VolumeMounts,
		func(m corev1.VolumeMount) bool { return isOurPath(m.MountPath) || isOurVolume(m.Name) }), task.mounts...)
}

// needsNoVolume reports whether a pod in the project's image can do without a volume and use the container's own file
// system instead. This starts shards faster: the kubelet checks only every 0.3 s whether a pod's volumes are ready
// (podAttachAndMountRetryInterval), and all other steps until a shard's first line of output take less time together.
func needsNoVolume(spec *corev1.PodSpec) bool {
	return len(spec.Volumes) == 0 && !spec.HostIPC && !slices.ContainsFunc(spec.Containers,
		func(c corev1.Container) bool {
			return c.Name == Container && c.SecurityContext != nil &&
				c.SecurityContext.ReadOnlyRootFilesystem != nil && *c.SecurityContext.ReadOnlyRootFilesystem
		})
}

// requirements returns a container's requests and limits. The memory request is also the limit. CPU has a limit only if
// the job sets one, and the limit is never below the request. Without a limit, the request only guarantees the shard's
// part of the CPU when other containers compete for it.
func requirements(l cluster.TaskLaunch) corev1.ResourceRequirements {
	need := l.Resources
	cpu := *resource.NewMilliQuantity(need.CPUMilli, resource.DecimalSI)
	memory := *resource.NewQuantity((need.MemMilli*(1<<20)+999)/1000, resource.BinarySI)
	limits := corev1.ResourceList{corev1.ResourceMemory: memory}
	if l.CPULimitMilli > 0 {
		limits[corev1.ResourceCPU] = *resource.NewMilliQuantity(max(l.CPULimitMilli, need.CPUMilli), resource.DecimalSI)
	}
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory}, Limits: limits,
	}
}

// unreadyTolerations returns the tolerations for nodes that do not respond. The scheduler decides what happens to a
// task there (rule E4); without the tolerations the taint manager would delete its pod.
func unreadyTolerations() (all []corev1.Toleration) {
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		all = append(all, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists,
			Effect: corev1.TaintEffectNoExecute})
	}
	return all
}

func toleratesUnready(t corev1.Toleration) bool {
	return t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable
}

// without returns a copy of the list without the elements that match.
func without[T any](list []T, match func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), match)
}
