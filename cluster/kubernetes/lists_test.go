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
	"github.com/elasticjob-go/elasticjob/test/fakekubernetes"
)

// TestListThatBreaksOff: if a list breaks off after its first page, the objects on the missing pages count neither as
// known nor as gone. The list is repeated.
func TestListThatBreaksOff(t *testing.T) {
	t.Parallel()
	f, c, _ := withOneRunning(t)
	var broke atomic.Bool
	f.With(func() {
		f.Fault = func(w http.ResponseWriter, r *http.Request, _ runtime.Object) bool {
			query := r.URL.Query()
			switch {
			case broke.Load() || query.Get("watch") != "" || r.Method != http.MethodGet ||
				!strings.HasSuffix(r.URL.Path, "/pods"):
				return false
			case query.Get("continue") != "":
				broke.Store(true)
				fakekubernetes.Refuse(w, http.StatusInternalServerError, metav1.StatusReasonInternalError,
					"etcdserver: request timed out")
				return true
			}
			page := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
			f.With(func() { page.ResourceVersion, page.Continue = strconv.FormatInt(f.Version, 10), "more" })
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(page)
			return true
		}
	})
	f.Expire(2) // the task's end comes too late for the watch
	f.ends(taskID(0), 0)
	f.Expire(0)
	c.until(taskID(0), cluster.Finished)
	if !broke.Load() {
		t.Error("no list broke off")
	}
}
