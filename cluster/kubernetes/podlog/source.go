package podlog

import (
	"context"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
)

// podRef identifies one pod.
type podRef struct{ namespace, name, uid string }

// parsePath parses a path, which is a task's Dir followed by the name of a stream.
func parsePath(path string) (ref podRef, stream string, err error) {
	parts := strings.Split(path, "/")
	if len(parts) != 4 {
		return podRef{}, "", fmt.Errorf("%w: %q is not the output of a pod", cluster.ErrGone, path)
	}
	return podRef{parts[0], parts[1], parts[2]}, parts[3], nil
}

// source requests the output of pods from the API server.
type source struct{ core rest.Interface }

// pod returns the pod, or a *cluster.FilesGone if the pod no longer exists.
func (s source) pod(ctx context.Context, ref podRef) (*corev1.Pod, error) {
	found := &corev1.Pod{}
	err := s.core.Get().Namespace(ref.namespace).Resource("pods").Name(ref.name).Do(ctx).Into(found)
	switch {
	case apierrors.IsNotFound(err):
		return nil, deleted(ref)
	case err != nil:
		return nil, fmt.Errorf("look at pod %s: %w", ref.name, err)
	case string(found.UID) != ref.uid:
		return nil, deleted(ref)
	}
	return found, nil
}

// deleted returns an error that says why a pod's output no longer exists and which setting controls that.
func deleted(ref podRef) error {
	return &cluster.FilesGone{Why: "its pod " + ref.name + " in namespace " + ref.namespace +
		" was deleted, and the output with it. The servers' --keep-pods says which ended pods stay; " +
		"killing a shard also deletes its pod"}
}

// followPod follows the output of a pod from its beginning. The API server finds output by the pod's name only, so
// followPod compares the pod's UID before and after the request. A UID is never reused, so the output is the pod's own.
func (s source) followPod(ctx context.Context, ref podRef) (io.ReadCloser, error) {
	found, err := s.pod(ctx, ref)
	if err != nil {
		return nil, err
	}
	container, _ := outputContainer(found)
	if container == "" {
		return nil, &cluster.FilesGone{Why: "its pod " + ref.name + " has not begun"}
	}
	stream, err := s.follow(ctx, ref, container, 0)
	if err != nil {
		return nil, err
	}
	if _, err := s.pod(ctx, ref); err != nil {
		_ = stream.Close()
		return nil, err
	}
	return stream, nil
}

// follow returns a container's output as a stream that ends with the container. The stream begins with the oldest
// output that the node still has, or, if seconds is not 0, with the output of the last seconds by the node's clock.
func (s source) follow(ctx context.Context, ref podRef, container string, seconds int64) (io.ReadCloser, error) {
	request := s.core.Get().Namespace(ref.namespace).Resource("pods").Name(ref.name).SubResource("log").
		Param("container", container).Param("follow", "true")
	if seconds > 0 {
		request = request.Param("sinceSeconds", fmt.Sprint(seconds))
	}
	stream, err := request.Stream(ctx)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsBadRequest(err): // BadRequest: not begun, or removed
		return nil, fmt.Errorf("%w: %w", cluster.ErrGone, err)
	case err != nil:
		return nil, fmt.Errorf("follow the output of pod %s: %w", ref.name, err)
	}
	return stream, nil
}

// outputContainer returns the container whose output is the task's, and whether that container has ended. It is the
// shard's container once that has begun, or the init container if that failed to fetch the package. Otherwise
// outputContainer returns "".
func outputContainer(p *corev1.Pod) (container string, ended bool) {
	for _, s := range p.Status.ContainerStatuses {
		if s.Name == pod.Container && (s.State.Running != nil || s.State.Terminated != nil) {
			return s.Name, s.State.Terminated != nil
		}
	}
	for _, s := range p.Status.InitContainerStatuses {
		if s.Name == pod.Prepare && s.State.Terminated != nil && s.State.Terminated.ExitCode != 0 {
			return s.Name, true
		}
	}
	return "", false
}
