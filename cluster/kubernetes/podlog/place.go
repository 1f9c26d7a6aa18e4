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

// parsePath parses a path of a task's Dir and a stream.
func parsePath(path string) (at podRef, stream string, err error) {
	parts := strings.Split(path, "/")
	if len(parts) != 4 {
		return podRef{}, "", fmt.Errorf("%w: %q is not the output of a pod", cluster.ErrGone, path)
	}
	return podRef{parts[0], parts[1], parts[2]}, parts[3], nil
}

// source requests the output of pods from the API server.
type source struct{ core rest.Interface }

// pod returns the pod of a place, if it still exists.
func (s source) pod(ctx context.Context, at podRef) (*corev1.Pod, error) {
	found := &corev1.Pod{}
	err := s.core.Get().Namespace(at.namespace).Resource("pods").Name(at.name).Do(ctx).Into(found)
	switch {
	case apierrors.IsNotFound(err):
		return nil, deleted(at)
	case err != nil:
		return nil, fmt.Errorf("look at pod %s: %w", at.name, err)
	case string(found.UID) != at.uid:
		return nil, deleted(at)
	}
	return found, nil
}

// deleted returns an error that says why a pod's output no longer exists and which setting controls that.
func deleted(at podRef) error {
	return &cluster.FilesGone{Why: "its pod " + at.name + " in namespace " + at.namespace +
		" was deleted, and the output with it. The servers' --keep-pods says which ended pods stay; " +
		"to kill a shard deletes its pod"}
}

// followPod follows the output of a pod from its beginning. The API server finds output by the pod's name only, so
// open checks the pod before and after. UIDs are never reused, so the output belongs to the right pod.
func (s source) followPod(ctx context.Context, at podRef) (io.ReadCloser, error) {
	found, err := s.pod(ctx, at)
	if err != nil {
		return nil, err
	}
	container, _ := outputContainer(found)
	if container == "" {
		return nil, &cluster.FilesGone{Why: "its pod " + at.name + " has not begun"}
	}
	stream, err := s.follow(ctx, at, container, 0)
	if err != nil {
		return nil, err
	}
	if _, err := s.pod(ctx, at); err != nil {
		_ = stream.Close()
		return nil, err
	}
	return stream, nil
}

// follow reads a container's output until the container ends: everything that its node still has, or, if seconds is
// not 0, what it wrote in the last seconds by the node's clock.
func (s source) follow(ctx context.Context, at podRef, container string, seconds int64) (io.ReadCloser, error) {
	request := s.core.Get().Namespace(at.namespace).Resource("pods").Name(at.name).SubResource("log").Param("container", container).Param("follow", "true")
	if seconds > 0 {
		request = request.Param("sinceSeconds", fmt.Sprint(seconds))
	}
	stream, err := request.Stream(ctx)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsBadRequest(err): // BadRequest: not begun, or removed
		return nil, fmt.Errorf("%w: %w", cluster.ErrGone, err)
	case err != nil:
		return nil, fmt.Errorf("follow the output of pod %s: %w", at.name, err)
	}
	return stream, nil
}

// outputContainer returns the container whose output is the task's, and whether it has ended; "" if none has begun. It
// is the init container that fetches the package if the pod got no further.
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
