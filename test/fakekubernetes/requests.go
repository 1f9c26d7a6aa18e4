package fakekubernetes

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// target is the object of a request.
type target struct{ namespace, resource, name, sub string }

// targetOf parses a path: /api/v1/[namespaces/N/]resource[/name[/sub]], or below /apis/group/v1.
func targetOf(r *http.Request) (at target) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	skip := 2
	if parts[0] == "apis" {
		skip = 3
	}
	parts = append(parts, "", "", "", "", "")[skip:]
	if parts[0] == "namespaces" {
		at.namespace, parts = parts[1], parts[2:]
	}
	at.resource, at.name, at.sub = parts[0], parts[1], parts[2]
	return at
}

func (at target) key() string { return at.namespace + "/" + at.name }

// do executes a request that is answered at once.
func (s *Server) do(r *http.Request, at target, body runtime.Object, raw []byte) (int, any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch at.resource {
	case "leases":
		return s.lease(r, at.name, body)
	case "secrets":
		made, _ := body.(*corev1.Secret)
		s.Secrets[made.Name] = made
		return http.StatusCreated, made
	case "events":
		made, _ := body.(*corev1.Event)
		if made.Namespace != at.namespace {
			return http.StatusBadRequest, failure(400, metav1.StatusReasonBadRequest, "it is of another namespace")
		}
		s.Events = append(s.Events, made)
		return http.StatusCreated, made
	case "nodes":
		l := corev1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}}
		l.ResourceVersion = strconv.FormatInt(s.Version, 10)
		for _, n := range s.Nodes {
			l.Items = append(l.Items, *n)
		}
		return http.StatusOK, l
	}
	return s.podRequest(r, at, body, raw)
}

func (s *Server) lease(r *http.Request, name string, body runtime.Object) (int, any) {
	l, _ := body.(*coordinationv1.Lease)
	switch old := s.leases[name]; {
	case r.Method == http.MethodGet && old == nil:
		return http.StatusNotFound, failure(404, metav1.StatusReasonNotFound, "no such lease")
	case r.Method == http.MethodGet:
		return http.StatusOK, old
	case r.Method == http.MethodPost && s.leases[l.Name] != nil:
		return http.StatusConflict, failure(409, metav1.StatusReasonAlreadyExists, "it exists")
	case r.Method == http.MethodPut && (old == nil || old.ResourceVersion != l.ResourceVersion):
		return http.StatusConflict, failure(409, metav1.StatusReasonConflict, "it was changed")
	}
	s.Version++
	l = l.DeepCopy()
	l.TypeMeta = metav1.TypeMeta{Kind: "Lease", APIVersion: "coordination.k8s.io/v1"}
	l.UID, l.ResourceVersion = types.UID("lease-"+l.Name), strconv.FormatInt(s.Version, 10)
	stamp := metav1.Now()
	l.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "test", Time: &stamp}}
	s.leases[l.Name] = l
	return http.StatusOK, l
}

func (s *Server) podRequest(r *http.Request, at target, body runtime.Object, raw []byte) (int, any) {
	namespace, name, sub := at.namespace, at.name, at.sub
	p := s.Pods[at.key()]
	switch {
	case r.Method == http.MethodPost && sub == "" && name == "":
		made, _ := body.(*corev1.Pod)
		if s.Pods[namespace+"/"+made.Name] != nil {
			return http.StatusConflict, failure(409, metav1.StatusReasonAlreadyExists, "it exists")
		}
		made.UID, made.CreationTimestamp = types.UID(fmt.Sprintf("uid-%d", s.Version)), metav1.Now()
		if s.Mutate != nil {
			s.Mutate(made)
		}
		s.Pods[namespace+"/"+made.Name] = made
		s.changed("pods", "ADDED", made)
		return http.StatusCreated, made
	case name == "":
		l := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
		l.ResourceVersion = strconv.FormatInt(s.Version, 10)
		for key, one := range s.Pods {
			if namespace == "" || strings.HasPrefix(key, namespace+"/") {
				l.Items = append(l.Items, *one)
			}
		}
		return http.StatusOK, l
	case p == nil:
		return http.StatusNotFound, failure(404, metav1.StatusReasonNotFound, "no such pod "+name)
	case r.Method == http.MethodGet:
		return http.StatusOK, p
	}
	next := p.DeepCopy()
	switch r.Method {
	case http.MethodPost: // binding
		b, _ := body.(*corev1.Binding)
		if p.UID != b.UID || p.DeletionTimestamp != nil || p.Spec.NodeName != "" {
			return http.StatusConflict, failure(409, metav1.StatusReasonConflict, "pod "+name+" can't be bound")
		}
		next.Spec.NodeName = b.Target.Name
	case http.MethodDelete:
		o, _ := body.(*metav1.DeleteOptions)
		if c := o.Preconditions; c != nil &&
			(c.UID != nil && *c.UID != p.UID || c.ResourceVersion != nil && *c.ResourceVersion != p.ResourceVersion) {
			return http.StatusConflict, failure(409, metav1.StatusReasonConflict, "pod "+name+" is another one")
		}
		grace := int64(30)
		if o.GracePeriodSeconds != nil {
			grace = *o.GracePeriodSeconds
		}
		if old := next.DeletionGracePeriodSeconds; old != nil && *old <= grace {
			return http.StatusOK, p
		}
		until := metav1.NewTime(time.Now().Add(time.Duration(grace) * time.Second))
		next.DeletionTimestamp, next.DeletionGracePeriodSeconds = &until, &grace
	case http.MethodPatch:
		if !strings.Contains(string(raw), string(p.UID)) {
			return http.StatusConflict, failure(409, metav1.StatusReasonConflict, "pod "+name+" is another one")
		}
		if sub == "status" {
			var patch corev1.Pod
			if err := json.Unmarshal(raw, &patch); err != nil {
				return http.StatusBadRequest, failure(400, metav1.StatusReasonBadRequest, err.Error())
			}
			next.Status.Conditions = patch.Status.Conditions
			break
		}
		var patch struct {
			Metadata struct {
				ResourceVersion string            `json:"resourceVersion"`
				Annotations     map[string]string `json:"annotations"`
				Add             []string          `json:"finalizers"`
				Remove          []string          `json:"$deleteFromPrimitiveList/finalizers"`
			} `json:"metadata"`
		}
		_ = json.Unmarshal(raw, &patch)
		if version := patch.Metadata.ResourceVersion; version != "" && version != p.ResourceVersion {
			return http.StatusConflict, failure(409, metav1.StatusReasonConflict, "the object has been modified")
		}
		for _, one := range patch.Metadata.Add {
			if !slices.Contains(next.Finalizers, one) {
				next.Finalizers = append(next.Finalizers, one)
			}
		}
		maps.Copy(next.Annotations, patch.Metadata.Annotations)
		next.Finalizers = slices.DeleteFunc(next.Finalizers,
			func(one string) bool { return slices.Contains(patch.Metadata.Remove, one) })
	}
	s.Pods[at.key()] = next
	s.changed("pods", "MODIFIED", next)
	s.collect(next)
	return http.StatusOK, next
}
