package kubernetes_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/elasticjob-go/elasticjob/cluster"
)

// TestListThatBreaksOff: where a list breaks off behind its first page, what it has not brought is not taken for
// known: the list is asked for again.
func TestListThatBreaksOff(t *testing.T) {
	t.Parallel()
	f, c, _ := withOneRunning(t)
	var broke atomic.Bool
	f.with(func() {
		f.fault = func(w http.ResponseWriter, r *http.Request, _ runtime.Object) bool {
			query := r.URL.Query()
			switch {
			case broke.Load() || query.Get("watch") != "" || r.Method != http.MethodGet ||
				!strings.HasSuffix(r.URL.Path, "/pods"):
				return false
			case query.Get("continue") != "":
				broke.Store(true)
				refuse(w, http.StatusInternalServerError, metav1.StatusReasonInternalError,
					"etcdserver: request timed out")
				return true
			}
			page := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
			f.with(func() { page.ResourceVersion, page.Continue = strconv.FormatInt(f.version, 10), "more" })
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(page)
			return true
		}
	})
	f.with(func() { // what ends it comes too late for the watch
		close(f.cut)
		f.cut = make(chan struct{})
		f.oldest = f.version + 2
	})
	f.ends(taskID(0), 0)
	f.with(func() { f.log = nil })
	f.expire()
	c.until(taskID(0), cluster.Finished)
	if !broke.Load() {
		t.Error("no list broke off")
	}
}
