package term

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
)

// TestACoreThatPanicsEndsTheTerm: nothing of the step is committed, and its requests are answered.
func TestACoreThatPanicsEndsTheTerm(t *testing.T) {
	t.Parallel()
	m := New(&core.Core{}, rand.NewPCG(1, 2), Options{}) // it has no parts
	m.Request(core.Request{Token: 7, Event: operator.TriggerRequested{Job: "my_job"}})
	var answered, logged, ended bool
	for _, e := range m.Ready() {
		switch e := e.(type) {
		case Answer:
			answered = e.Reply.Token == 7 && e.Reply.Err.Kind == problem.Unavailable
		case Ended:
			ended = errors.Is(e.Err, ErrContradiction)
		case Log:
			logged = e.Problem && strings.Contains(fmt.Sprint(e.Attrs...), "core.(*Core).Step")
		default:
			t.Errorf("%T leaves", e)
		}
	}
	if !answered || !logged || !ended || !m.HasEnded() {
		t.Errorf("answered %v, logged %v, ended %v, over %v", answered, logged, ended, m.HasEnded())
	}
}
