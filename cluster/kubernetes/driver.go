package kubernetes

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"golang.org/x/sync/errgroup"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
)

// Options configure the driver.
type Options struct {
	// Config holds the address and credentials of the API server (see Connect).
	Config *rest.Config
	// Pods holds the settings that all pods share, including their namespace.
	Pods pod.Settings
	// Follower, Keeper and Recorder are required.
	Follower Follower
	Keeper   Keeper
	Recorder Recorder
	// ShowUnplaced makes each session a cluster.Demander that creates placeholder pods, which never run, for shards
	// that fit on no node.
	ShowUnplaced bool
	// Logger discards everything if it is nil.
	Logger *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Driver opens subscriptions to a Kubernetes cluster.
type Driver struct {
	api            *API
	settings       pod.Settings
	namespace      string
	follower       Follower
	keeper         Keeper
	recorder       Recorder
	log            *slog.Logger
	now            func() time.Time
	namespacedOnce sync.Once // for the warning that pods of other namespaces are not visible
	showUnplaced   bool
}

var _ cluster.Driver = (*Driver)(nil)

// New checks the options. It opens no connection.
func New(o Options) (*Driver, error) {
	switch {
	case o.Config == nil:
		return nil, errors.New("create the Kubernetes driver: no API server is given")
	case o.Pods.Namespace == "":
		return nil, errors.New("create the Kubernetes driver: no namespace for the jobs' pods is given; name it with --kubernetes-namespace")
	}
	api, err := NewAPI(o.Config)
	if err != nil {
		return nil, err
	}
	d := &Driver{
		api: api, settings: o.Pods, namespace: o.Pods.Namespace,
		follower: o.Follower, keeper: o.Keeper, recorder: o.Recorder,
		log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), now: o.Now, showUnplaced: o.ShowUnplaced,
	}
	if d.now == nil {
		d.now = time.Now
	}
	return d, nil
}

// API returns the driver's API client.
func (d *Driver) API() *API { return d.api }

// Close closes idle connections. Close all sessions first.
func (d *Driver) Close() error {
	d.api.Close()
	return nil
}

// SubscribeWithin returns the timeout for Subscribe. It is long enough to list the pods of a large cluster and to
// delete many unbound pods. Each request has its own, shorter timeout.
func (d *Driver) SubscribeWithin() time.Duration { return 2 * time.Minute }

// Subscribe takes over the framework's Lease, lists nodes and pods, and deletes the framework's pods that were never
// bound, so that no earlier session can bind them. Every pod launched under this framework id is then known.
func (d *Driver) Subscribe(ctx context.Context, f cluster.Framework) (cluster.Session, error) {
	l := &lease{api: d.api, namespace: d.namespace, name: leaseName(f.ID), holder: uuid.NewString(), now: d.now}
	if err := l.takeOver(ctx); err != nil {
		return nil, d.explain("take over the Lease "+l.name, err)
	}
	s := d.newSession(ctx, l, f.ID)
	watchers, err := s.list(ctx)
	if err == nil {
		err = s.discardUnbound(ctx)
	}
	if err != nil {
		s.cancel(err)
		return nil, err
	}
	s.start(watchers)
	if d.showUnplaced {
		return demander{s}, nil
	}
	return s, nil
}

// list reads all nodes and pods, and returns the watchers that follow their changes. If the permissions allow only the
// scheduler's own namespace, it reads only the pods there. The resources that other pods use are then unknown, and
// nodes reject pods that do not fit.
func (s *session) list(ctx context.Context) ([]*watcher, error) {
	nodes := &watcher{api: s.api, resource: "nodes", empty: nodeList, store: nodeStore{s}, log: s.log,
		listAfter: listAfter}
	if err := nodes.list(ctx); err != nil {
		return nil, s.explain("list the nodes", err)
	}
	pods := &watcher{api: s.api, resource: "pods", empty: podList, store: podStore{s}, log: s.log,
		listAfter: listAfter}
	err := pods.list(ctx)
	if apierrors.IsForbidden(err) {
		s.namespacedOnce.Do(func() {
			s.log.Warn("pods of other namespaces not visible: the resources that they use are unknown, and nodes may refuse pods; a ClusterRole that may list and watch pods changes that",
				"error", err)
		})
		pods.namespace = s.namespace
		err = pods.list(ctx)
	}
	if err != nil {
		return nil, s.explain("list the pods", err)
	}
	return []*watcher{nodes, pods}, nil
}

// discardUnbound deletes the pods that an earlier session created but did not bind. If the earlier session has bound a
// pod in the meantime, discardUnbound reads that pod again.
func (s *session) discardUnbound(ctx context.Context) error {
	var unbound []*corev1.Pod
	for _, r := range s.pods {
		if r.pod != nil && r.node == "" {
			unbound = append(unbound, r.pod)
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for _, p := range unbound {
		group.Go(func() error {
			bound, err := s.api.discard(ctx, p)
			if err != nil || !bound {
				return err
			}
			current, err := s.api.getPod(ctx, p.Namespace, p.Name)
			if err == nil {
				podStore{s}.put(current)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return s.explain("delete pods that an earlier session left unbound", err)
	}
	return nil
}

// connectionHint returns a hint for an error which means that there is no trusted connection to an API server; "" for
// any other error.
func connectionHint(err error) string {
	var untrusted x509.UnknownAuthorityError
	var otherName x509.HostnameError
	var noHost *net.DNSError
	switch {
	case errors.As(err, &untrusted), errors.As(err, &otherName):
		return "; check the certificate-authority of the kubeconfig, and the name by which it addresses the API server"
	case errors.As(err, &noHost), errors.Is(err, syscall.ECONNREFUSED):
		return "; does an API server run at that address? If not, check the kubeconfig"
	}
	return ""
}

// explain adds to an error what the driver was doing, and a hint for the operator. It turns a permanent rejection into
// a *cluster.Refused.
func (d *Driver) explain(doing string, err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return fmt.Errorf("%s: %w%s", doing, err, connectionHint(err))
	}
	answer, hint := status.Status(), ""
	switch {
	case apierrors.IsUnauthorized(err):
		hint = "; the API server does not accept the credentials: check the kubeconfig or the service account"
	case apierrors.IsForbidden(err):
		hint = "; grant this account what the Role and the ClusterRole of deploy/kubernetes have"
	case apierrors.IsNotFound(err):
		hint = "; is there a namespace " + d.namespace + "? Create it, or name another with --kubernetes-namespace"
	}
	text := doing + ": " + answer.Message + hint
	if answer.Code >= 400 && answer.Code < 500 && !apierrors.IsTooManyRequests(err) && !apierrors.IsConflict(err) {
		return &cluster.Refused{Status: int(answer.Code), Message: text}
	}
	return fmt.Errorf("%s: %w", text, err)
}
