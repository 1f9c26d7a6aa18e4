package kubernetes_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	var body runtime.Object
	if len(raw) > 0 && !strings.Contains(r.Header.Get("Content-Type"), "patch") {
		decoded, _, err := f.decoder.Decode(raw, nil, nil)
		if err != nil {
			refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
			return
		}
		body = decoded
	}
	f.mu.Lock()
	fault, after := f.fault, f.after
	f.counts[r.Method]++
	f.mu.Unlock()
	if fault != nil && fault(w, r, body) {
		return
	}
	if r.URL.Query().Get("watch") != "" {
		f.watch(w, r)
		return
	}
	status, answer := f.do(r, body, raw)
	if after != nil && after(r) {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	said := failure(code, reason, message)
	if strings.Contains(message, "is being terminated") { // of a namespace, which the API server says so, too
		said.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}}
	}
	_ = json.NewEncoder(w).Encode(said)
}

func failure(code int, reason metav1.StatusReason, message string) *metav1.Status {
	return &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reason, Message: message}
}

// do does a request that is no watch.
func (f *fakeAPI) do(r *http.Request, body runtime.Object, raw []byte) (int, any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // api/v1/[namespaces/N/]resource[/name[/sub]]
	at := 2
	if parts[0] == "apis" {
		at = 3
	}
	namespace := ""
	if parts[at] == "namespaces" {
		namespace, at = parts[at+1], at+2
	}
	resource, rest := parts[at], append(parts[at+1:], "", "")
	name, sub := rest[0], rest[1]
	switch resource {
	case "leases":
		return f.lease(r, name, body)
	case "secrets":
		s, _ := body.(*corev1.Secret)
		f.secrets[s.Name] = s
		return http.StatusCreated, s
	case "nodes":
		l := corev1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}}
		l.ResourceVersion = strconv.FormatInt(f.version, 10)
		for _, n := range f.nodes {
			l.Items = append(l.Items, *n)
		}
		return http.StatusOK, l
	}
	return f.podRequest(r, namespace, name, sub, body, raw)
}

func (f *fakeAPI) lease(r *http.Request, name string, body runtime.Object) (int, any) {
	l, _ := body.(*coordinationv1.Lease)
	switch old := f.leases[name]; {
	case r.Method == http.MethodGet && old == nil:
		return http.StatusNotFound, failure(404, metav1.StatusReasonNotFound, "no such lease")
	case r.Method == http.MethodGet:
		return http.StatusOK, old
	case r.Method == http.MethodPost && f.leases[l.Name] != nil:
		return http.StatusConflict, failure(409, metav1.StatusReasonAlreadyExists, "it exists")
	case r.Method == http.MethodPut && (old == nil || old.ResourceVersion != l.ResourceVersion):
		return http.StatusConflict, failure(409, metav1.StatusReasonConflict, "it was changed")
	}
	f.version++
	l = l.DeepCopy()
	l.TypeMeta = metav1.TypeMeta{Kind: "Lease", APIVersion: "coordination.k8s.io/v1"}
	l.UID, l.ResourceVersion = types.UID("lease-"+l.Name), strconv.FormatInt(f.version, 10)
	stamp := metav1.Now()
	l.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "test", Time: &stamp}}
	f.leases[l.Name] = l
	return http.StatusOK, l
}

func (f *fakeAPI) podRequest(r *http.Request, namespace, name, sub string, body runtime.Object, raw []byte) (int,
	any) {
	p := f.pods[namespace+"/"+name]
	switch {
	case r.Method == http.MethodPost && sub == "" && name == "":
		made, _ := body.(*corev1.Pod)
		if f.pods[namespace+"/"+made.Name] != nil {
			return http.StatusConflict, failure(409, metav1.StatusReasonAlreadyExists, "it exists")
		}
		made.UID, made.CreationTimestamp = types.UID(fmt.Sprintf("uid-%d", f.version)), metav1.Now()
		if f.mutate != nil {
			f.mutate(made)
		}
		f.pods[namespace+"/"+made.Name] = made
		f.changed("pods", "ADDED", made)
		return http.StatusCreated, made
	case name == "":
		l := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
		l.ResourceVersion = strconv.FormatInt(f.version, 10)
		for key, one := range f.pods {
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
		at := metav1.NewTime(time.Now().Add(time.Duration(grace) * time.Second))
		next.DeletionTimestamp, next.DeletionGracePeriodSeconds = &at, &grace
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
	f.pods[namespace+"/"+name] = next
	f.changed("pods", "MODIFIED", next)
	f.collect(next)
	return http.StatusOK, next
}

// watch sends what changes from a version on until it is cut or its client goes.
func (f *fakeAPI) watch(w http.ResponseWriter, r *http.Request) {
	from, _ := strconv.ParseInt(r.URL.Query().Get("resourceVersion"), 10, 64)
	parts := strings.Split(r.URL.Path, "/")
	resource := parts[len(parts)-1]
	f.mu.Lock()
	expired, cut := from < f.oldest, f.cut
	f.mu.Unlock()
	if expired {
		refuse(w, http.StatusGone, metav1.StatusReasonExpired, "too old resource version")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	for {
		f.mu.Lock()
		grown, news := f.grown, slices.Clone(f.log)
		f.mu.Unlock()
		for _, c := range news {
			if c.version > from && c.resource == resource {
				_, _ = fmt.Fprintf(w, `{"type":%q,"object":%s}`+"\n", c.what, c.encoded)
			}
			from = max(from, c.version)
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-grown:
		case <-cut:
			return
		case <-r.Context().Done():
			return
		}
	}
}
