package placement

import (
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// TestTheLeadFollowsTheMastersAnswers checks that the lead follows the time that the master takes to answer a REVIVE.
// One late answer must lengthen it only for a while.
func TestTheLeadFollowsTheMastersAnswers(t *testing.T) {
	t.Parallel()
	pl := New(state.New(&step.Shared{Opt: step.DefaultOptions()}), nil, nil, nil)
	now := time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)
	answerAfter := func(took time.Duration) {
		pl.flow.timing.reviveSent(now)
		pl.flow.timing.offersArrived(now.Add(took), pl.st.Opt.OfferAhead)
	}
	if lead := pl.Lead(); lead != defaultLead {
		t.Errorf("before the first answer the lead is %s, want %s", lead, defaultLead)
	}
	for range 20 {
		answerAfter(5 * time.Millisecond)
	}
	if lead := pl.Lead(); lead != minLead {
		t.Errorf("with a quick master the lead is %s, want %s", lead, minLead)
	}
	answerAfter(time.Second)
	if lead := pl.Lead(); lead < 500*time.Millisecond {
		t.Errorf("after a late answer the lead is %s", lead)
	}
	for range 40 {
		answerAfter(5 * time.Millisecond)
	}
	if lead := pl.Lead(); lead != minLead {
		t.Errorf("40 quick answers later the lead is %s, want %s", lead, minLead)
	}
	answerAfter(time.Minute) // too late for an answer: nothing was free at the time of the REVIVE
	if lead := pl.Lead(); lead != minLead {
		t.Errorf("after offers that answer no REVIVE the lead is %s, want %s", lead, minLead)
	}
}
