package pod

import (
	"maps"
	pathpkg "path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/elasticjob-go/elasticjob/internal/secrets"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// The executor in a pod gets its task in a variable, or in a file that another variable names.
const (
	taskVariable = "ELASTICJOB_TASK"
	fileVariable = "ELASTICJOB_TASK_FILE"
	taskFolder   = "/elasticjob-task"
	taskVolume   = "elasticjob-task"
	taskFile     = "task.json"
	// maxVariable is the longest task that is passed in a variable. Linux cannot start a process with a variable of
	// 128 KiB.
	maxVariable = 64 << 10
	// drainFile tells the executor to drain, and drainVariable holds its path. The volume is the whole drainFolder,
	// because the kubelet does not update a file that is mounted individually.
	drainVariable = "ELASTICJOB_DRAIN_FILE"
	drainFolder   = "/elasticjob-drain"
	drainVolume   = "elasticjob-drain"
	drainFile     = "drain"
	// The executor creates begunFile before it runs its task, so that a container that is started twice does not run
	// the task twice. begunVariable holds the file's path. Only pods without workVolume have this variable; in other
	// pods, such a file is in that volume. All containers of a pod share /dev/shm, and the kubelet keeps it as long as
	// the pod exists: a pod that is never restarted and has had a container gets no second sandbox.
	begunVariable = "ELASTICJOB_BEGUN_FILE"
	begunFile     = "/dev/shm/elasticjob-begun"
)

// description is how a pod receives its task.
type description struct {
	variables []corev1.EnvVar
	volumes   []corev1.Volume
	mounts    []corev1.VolumeMount
	secret    *corev1.Secret
}

// describeTask passes a task, encoded as data, to its pod p in a variable. Everyone with read access to pods can see
// variables, and their length is limited. A task that contains secrets or is too long is therefore passed in a Secret.
func describeTask(t wire.Task, data []byte, p *corev1.Pod) description {
	if len(data) <= maxVariable && !holdsSecrets(t) {
		// The kubelet replaces $(NAME) in values of variables, and $$ by $.
		return description{variables: []corev1.EnvVar{{Name: taskVariable,
			Value: strings.ReplaceAll(string(data), "$", "$$")}}}
	}
	immutable := true
	return description{
		variables: []corev1.EnvVar{{Name: fileVariable, Value: taskFolder + "/" + taskFile}},
		volumes: []corev1.Volume{{Name: taskVolume,
			VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: p.Name}}}},
		mounts: []corev1.VolumeMount{{Name: taskVolume, MountPath: taskFolder, ReadOnly: true}},
		secret: &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, Labels: maps.Clone(p.Labels),
				Annotations: maps.Clone(p.Annotations)},
			Type: corev1.SecretTypeOpaque, Immutable: &immutable,
			Data: map[string][]byte{taskFile: slices.Clone(data)},
		},
	}
}

// withDrainFile adds the drain file to the description of a daemon's task. The file is empty until the pod has the
// annotation AnnotationDrain.
func withDrainFile(d description) description {
	d.variables = append(d.variables, corev1.EnvVar{Name: drainVariable, Value: drainFolder + "/" + drainFile})
	d.volumes = append(d.volumes, corev1.Volume{Name: drainVolume,
		VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{
			Items: []corev1.DownwardAPIVolumeFile{{Path: drainFile,
				FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['" + AnnotationDrain + "']"}}},
		}}})
	d.mounts = append(d.mounts, corev1.VolumeMount{Name: drainVolume, MountPath: drainFolder, ReadOnly: true})
	return d
}

// holdsSecrets reports whether a task contains values that are marked as secrets, values whose names indicate secrets,
// or URLs with credentials.
func holdsSecrets(t wire.Task) bool {
	isSecret := func(name, text string) bool {
		return len(secrets.Of(name, text, slices.Contains(t.Secrets, name))) > 0
	}
	for _, texts := range []map[string]string{t.Env, t.Props} {
		for name, text := range texts {
			if isSecret(name, text) {
				return true
			}
		}
	}
	texts := append([]string{t.Package.URL, t.JobParameter, t.ShardingParameter}, t.Command...)
	if t.HTTP != nil {
		texts = append(texts, t.HTTP.URL, t.HTTP.Data, t.HTTP.Proxy)
		for _, h := range t.HTTP.Headers {
			if h.Secret && h.Value != "" {
				return true
			}
		}
	}
	return slices.ContainsFunc(texts, func(text string) bool { return isSecret("", text) })
}

func isOurVariable(name string) bool { return strings.HasPrefix(name, "ELASTICJOB_") }

func isOurVolume(name string) bool {
	return name == workVolume || name == taskVolume || name == drainVolume
}

// isOurPath reports whether a path is one of the executor's folders, or is inside or above one.
func isOurPath(path string) bool {
	path = strings.TrimRight(pathpkg.Clean("/"+path), "/") + "/"
	for _, ours := range []string{workFolder + "/", taskFolder + "/", drainFolder + "/", "/opt/elasticjob/",
		corev1.TerminationMessagePathDefault + "/"} {
		if strings.HasPrefix(path, ours) || strings.HasPrefix(ours, path) {
			return true
		}
	}
	return false
}
