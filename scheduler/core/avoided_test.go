package core

import (
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
)

// TestTheOnlyMachineIsCordoned checks that explain names the cordon of the only machine, although its offers were
// declined and are no longer held. Once another machine has made an offer, explain must not say that nothing was
// offered yet.
func TestTheOnlyMachineIsCordoned(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	s.offer("S1", 4, 4000)
	s.step(Request{Token: 3, Event: operator.CordonRequested{Machine: "S1", Reason: "its disk fails"}})
	s.trigger()
	s.runFor(time.Minute)
	why := func() string { return s.explain("my_job").Waiting[0].Why.Reason }
	if got := why(); !strings.Contains(got, "is avoided: it is cordoned") || !strings.Contains(got, "its disk fails") {
		t.Errorf("explain does not name the cordon: %q", got)
	}
	s.offer("S2", 0.01, 10)
	if got := why(); strings.Contains(got, "nothing yet") {
		t.Errorf("after an offer of another machine, explain shows %q", got)
	}
}
