package kubernetes

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
)

const (
	// pingAfter and pingTimeout detect a connection whose other end is frozen or gone. The client sends an HTTP/2 ping
	// after pingAfter without traffic, and closes the connection if no answer arrives within pingTimeout.
	pingAfter, pingTimeout = 4 * time.Second, 4 * time.Second
	// callTimeout limits each request except for watches. The caller's context may end earlier.
	callTimeout = 8 * time.Second
	// retries is how often a request is repeated if the API server names a time to retry (429, or 5xx with
	// Retry-After).
	retries = 3
)

// API holds REST clients of an API server, one for each API group that is used here. They have no client-side rate
// limits.
type API struct {
	Core, Coordination rest.Interface
	params             runtime.ParameterCodec
	transport          *http.Transport
	// throttled counts answers with status 429.
	throttled *atomic.Int64
}

// NewAPI creates the clients. It opens no connection.
func NewAPI(config *rest.Config) (*API, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, coordinationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register the types of the API: %w", err)
		}
	}
	a := &API{params: runtime.NewParameterCodec(scheme), throttled: &atomic.Int64{}}
	client, err := a.httpClient(config)
	if err != nil {
		return nil, fmt.Errorf("create a client of %s: %w; check the credentials that its kubeconfig names",
			config.Host, err)
	}
	group := func(version schema.GroupVersion, path string) (rest.Interface, error) {
		own := rest.CopyConfig(config)
		own.GroupVersion, own.APIPath = &version, path
		own.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
		own.ContentType, own.AcceptContentTypes = runtime.ContentTypeProtobuf,
			runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
		own.QPS = -1
		return rest.RESTClientForConfigAndClient(own, client)
	}
	if a.Core, err = group(corev1.SchemeGroupVersion, "/api"); err != nil {
		return nil, fmt.Errorf("create a client of %s: %w", config.Host, err)
	}
	if a.Coordination, err = group(coordinationv1.SchemeGroupVersion, "/apis"); err != nil {
		return nil, fmt.Errorf("create a client of %s: %w", config.Host, err)
	}
	return a, nil
}

// httpClient returns a client with the credentials of config. Its transport replaces the library's, which needs 45 s
// to detect a dead connection.
func (a *API) httpClient(config *rest.Config) (*http.Client, error) {
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	proxy := http.ProxyFromEnvironment
	if config.Proxy != nil {
		proxy = config.Proxy
	}
	dial := (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	if config.Dial != nil {
		dial = config.Dial
	}
	a.transport = &http.Transport{
		Proxy: proxy, DialContext: dial, TLSClientConfig: tls, TLSHandshakeTimeout: 5 * time.Second,
		ForceAttemptHTTP2: true, HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second,
	}
	wrapped, err := rest.HTTPWrappersForConfig(config, &throttledTransport{a.transport, a.throttled})
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: wrapped}, nil
}

// Throttled returns how many requests the API server has deferred so far (429), including those that were then
// repeated.
func (a *API) Throttled() int64 { return a.throttled.Load() }

// Close closes idle connections.
func (a *API) Close() { a.transport.CloseIdleConnections() }

// do sends a request and decodes the answer into into, if that is not nil.
func do(ctx context.Context, r *rest.Request, into runtime.Object) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	result := r.MaxRetries(retries).Do(ctx)
	if into == nil {
		return result.Error()
	}
	return result.Into(into)
}

func (a *API) createPod(ctx context.Context, p *corev1.Pod) (*corev1.Pod, error) {
	created := &corev1.Pod{}
	return created, do(ctx, a.Core.Post().Namespace(p.Namespace).Resource("pods").Body(p), created)
}

func (a *API) getPod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	found := &corev1.Pod{}
	return found, do(ctx, a.Core.Get().Namespace(namespace).Resource("pods").Name(name), found)
}

func (a *API) createSecret(ctx context.Context, s *corev1.Secret) error {
	return do(ctx, a.Core.Post().Namespace(s.Namespace).Resource("secrets").Body(s), nil)
}

// bind binds a pod to a node. The request fails if the pod has another UID by now.
func (a *API) bind(ctx context.Context, p *corev1.Pod, node string) error {
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: p.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}
	return do(ctx, a.Core.Post().Namespace(p.Namespace).Resource("pods").Name(p.Name).SubResource("binding").
		Body(binding), nil)
}

// deletePod deletes the pod if it still has this UID and, unless version is empty, this resource version. A nil grace
// means the pod's own grace period.
func (a *API) deletePod(ctx context.Context, namespace, name string, uid types.UID, version string,
	grace *int64) error {
	options := &metav1.DeleteOptions{GracePeriodSeconds: grace, Preconditions: &metav1.Preconditions{UID: &uid}}
	if version != "" {
		options.Preconditions.ResourceVersion = &version
	}
	return do(ctx, a.Core.Delete().Namespace(namespace).Resource("pods").Name(name).Body(options), nil)
}

// setCondition writes a condition into a pod's status. The request fails if the pod has another UID by now.
func (a *API) setCondition(ctx context.Context, namespace, name string, uid types.UID, c corev1.PodCondition) error {
	return a.patchPod(ctx, namespace, name, map[string]any{"metadata": map[string]any{"uid": uid},
		"status": map[string]any{"conditions": []corev1.PodCondition{c}}}, nil, "status")
}

// drainPod asks the executor in a daemon's pod to drain. The request fails if the pod has another UID by now.
func (a *API) drainPod(ctx context.Context, namespace, name string, uid types.UID, why string) error {
	reason := cmp.Or(strings.TrimSpace(why), "requested")
	return a.patchPod(ctx, namespace, name, map[string]any{"metadata": map[string]any{
		"uid": uid, "annotations": map[string]string{pod.AnnotationDrain: reason},
	}}, nil)
}

// removeFinalizer removes the scheduler's finalizer from a pod. The request fails if the pod has another UID by now.
func (a *API) removeFinalizer(ctx context.Context, namespace, name string, uid types.UID) error {
	return a.patchPod(ctx, namespace, name, map[string]any{"metadata": map[string]any{
		"uid": uid, "$deleteFromPrimitiveList/finalizers": []string{pod.Finalizer},
	}}, nil)
}

// giveUpPod records on a pod why the scheduler gave it up and sets the finalizer again, so that the pod stays until
// its end is committed. The request fails if the pod has changed since it was read. It returns the patched pod.
func (a *API) giveUpPod(ctx context.Context, p *corev1.Pod, why string) (*corev1.Pod, error) {
	marked := &corev1.Pod{}
	return marked, a.patchPod(ctx, p.Namespace, p.Name, map[string]any{"metadata": map[string]any{
		"uid": p.UID, "resourceVersion": p.ResourceVersion,
		"annotations": map[string]string{pod.AnnotationGivenUp: why}, "finalizers": []string{pod.Finalizer},
	}}, marked)
}

// patchPod changes fields of a pod, or of its subresource, and reads the patched pod into into, if that is not nil.
func (a *API) patchPod(
	ctx context.Context, namespace, name string, patch map[string]any, into runtime.Object, subresource ...string,
) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encode a patch: %w", err)
	}
	return do(ctx, a.Core.Patch(types.StrategicMergePatchType).Namespace(namespace).Resource("pods").Name(name).
		SubResource(subresource...).Body(body), into)
}

// discard deletes a pod that is not bound. It looks the pod up by name if the UID is unknown. If the pod turns out to
// be bound, discard leaves it alone and returns true. discard is the second half of the fence: afterwards either the
// pod is gone permanently, so that no delayed binding can start it, or it counts as launched.
func (a *API) discard(ctx context.Context, p *corev1.Pod) (bound bool, err error) {
	if p.UID == "" {
		switch p, err = a.getPod(ctx, p.Namespace, p.Name); {
		case apierrors.IsNotFound(err):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("look for an unbound pod: %w", err)
		}
	}
	for range discardTries {
		switch {
		case p.Spec.NodeName != "":
			return true, nil
		case p.DeletionTimestamp == nil:
			err = a.deletePod(ctx, p.Namespace, p.Name, p.UID, p.ResourceVersion, nil)
		default:
			err = nil
		}
		switch {
		case err == nil:
			// A pod that is being deleted cannot be bound any more; only the finalizer still keeps it.
			if err = a.removeFinalizer(ctx, p.Namespace, p.Name, p.UID); err == nil || apierrors.IsNotFound(err) {
				return false, nil
			}
		case apierrors.IsNotFound(err):
			return false, nil
		}
		if !apierrors.IsConflict(err) {
			return false, fmt.Errorf("delete the unbound pod %s: %w", p.Name, err)
		}
		current, err := a.getPod(ctx, p.Namespace, p.Name)
		switch {
		case apierrors.IsNotFound(err), err == nil && current.UID != p.UID:
			return false, nil
		case err != nil:
			return false, fmt.Errorf("look at the unbound pod %s: %w", p.Name, err)
		}
		p = current
	}
	return false, fmt.Errorf("delete the unbound pod %s: other clients keep changing it", p.Name)
}

// discardTries is how often discard tries to delete a pod that other clients modify at the same time.
const discardTries = 5
