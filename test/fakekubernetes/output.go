package fakekubernetes

import (
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// output is the output of a pod's containers that its node keeps.
type output struct {
	text string
	cuts int // how often the followers were disconnected
}

// Write appends to the output of a pod.
func (s *Server) Write(namespace, name, text string) {
	s.put(namespace, name, func(o *output) { o.text += text })
}

// Rotate makes the node of a pod keep only output from now on, which begins with text.
func (s *Server) Rotate(namespace, name, text string) {
	s.put(namespace, name, func(o *output) { o.text = text })
}

// Cut disconnects all followers of a pod's output.
func (s *Server) Cut(namespace, name string) { s.put(namespace, name, func(o *output) { o.cuts++ }) }

func (s *Server) put(namespace, name string, change func(*output)) {
	s.With(func() {
		key := namespace + "/" + name
		if s.outputs[key] == nil {
			s.outputs[key] = &output{}
		}
		change(s.outputs[key])
		s.wake()
	})
}

// follow sends the output of a pod's container, and with follow=true also later output, until the container has
// ended.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, key string) {
	look := func() (p *corev1.Pod, now output, grown, cut chan struct{}) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if o := s.outputs[key]; o != nil {
			now = *o
		}
		return s.Pods[key], now, s.grown, s.cut
	}
	query := r.URL.Query()
	p, first, _, cut := look()
	if p == nil {
		Refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, "no such pod")
		return
	}
	for at := 0; ; {
		p, now, grown, _ := look()
		if at < len(now.text) {
			_, _ = w.Write([]byte(now.text[at:]))
			at = len(now.text)
		}
		_ = http.NewResponseController(w).Flush()
		switch {
		case now.cuts > first.cuts:
			panic(http.ErrAbortHandler)
		case p == nil || query.Get("follow") != "true" || ended(p, query.Get("container")):
			return
		}
		select {
		case <-grown:
		case <-cut:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// ended reports whether a container of a pod has ended.
func ended(p *corev1.Pod, container string) bool {
	for _, all := range [][]corev1.ContainerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses} {
		for _, c := range all {
			if c.Name == container {
				return c.State.Terminated != nil
			}
		}
	}
	return false
}
