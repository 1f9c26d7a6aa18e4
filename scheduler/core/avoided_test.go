package core

import (
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
)

// TestTheOnlyMachineIsCordoned checks that explain names the cordon, although the declined offers of the machine are no
// longer there, and that it does not name it while another machine may be used.
func TestTheOnlyMachineIsCordoned(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	s.offer("S1", 4, 4000)
	s.step(Request{Token: 3, Event: operator.CordonRequested{Machine: "S1", Reason: "its disk fails"}})
	s.trigger()
	s.until(time.Minute)
	why := func() string { return s.explain("my_job").Waiting[0].Why.Reason }
	if got := why(); !strings.Contains(got, "is avoided: it is cordoned") || !strings.Contains(got, "its disk fails") {
		t.Errorf("got %q", got)
	}
	s.offer("S2", 0.01, 10)
	if got := why(); strings.Contains(got, "nothing yet") {
		t.Errorf("got %q", got)
	}
}
