package attempts

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/sandbox"
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// TestProgressIsBounded checks that the progress that programs report is shown within bounds, or not at all.
func TestProgressIsBounded(t *testing.T) {
	t.Parallel()
	as := New(state.New(&step.Shared{}), sandbox.Places{}, nil, nil)
	as.st.Begin(time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC))
	at := as.st.Wall().Add(-time.Second)
	for name, tt := range map[string]struct {
		reported *wire.Progress
		want     *executions.Progress
	}{
		"within bounds":                  {&wire.Progress{Fraction: 0.25, Message: "1 of 4", At: at}, &executions.Progress{Fraction: 0.25, Message: "1 of 4", At: at}},
		"nothing":                        {nil, nil},
		"more than all":                  {&wire.Progress{Fraction: math.Inf(1), At: at}, &executions.Progress{Fraction: 1, At: at}},
		"less than nothing":              {&wire.Progress{Fraction: -3, At: at}, &executions.Progress{At: at}},
		"no number":                      {&wire.Progress{Fraction: math.NaN(), At: at}, nil},
		"no time":                        {&wire.Progress{}, &executions.Progress{At: as.st.Wall()}},
		"a time that JSON cannot encode": {&wire.Progress{At: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}, &executions.Progress{At: as.st.Wall()}},
		"a long message":                 {&wire.Progress{Message: strings.Repeat("x", 1000), At: at}, &executions.Progress{Message: strings.Repeat("x", 200), At: at}},
		"cut within a character":         {&wire.Progress{Message: strings.Repeat("€", 100), At: at}, &executions.Progress{Message: strings.Repeat("€", 66), At: at}},
		"more digits than needed":        {&wire.Progress{At: at.Add(time.Microsecond)}, &executions.Progress{At: at}},
	} {
		if got := as.boundedProgress(tt.reported); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, tt.want)
		}
	}
}
