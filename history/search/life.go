package search

import (
	"slices"
	"time"
)

// Moment is something in the life of an execution: a step of its own, or a change of one of its tasks' states.
type Moment struct {
	Time Time `json:"time"`
	// AfterMillis is how long after the moment before it was, nil for the first.
	AfterMillis *int64 `json:"afterMillis"`
	// Kind is that of a step (event.Kind), or the state that a task came into (TASK_RUNNING).
	Kind string `json:"kind"`
	// Item is nil where it is of the whole execution.
	Item    *int   `json:"item"`
	TaskID  string `json:"taskId"`
	Agent   string `json:"agent"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// MessageCode and MessageArgs are those of the reason that Message says, or in ENDED and WAITING ends with.
	MessageCode string         `json:"messageCode,omitempty"`
	MessageArgs map[string]any `json:"messageArgs,omitempty"`
}

// ended is the kind of an execution's last moment.
const ended = "ENDED"

// Life puts moments in the order of their times, those of one time as they are given but the end behind the others,
// which led to it, and says how far they are apart; of more than most the first ones. More says that there are others.
func Life(moments []Moment, most int) (life []Moment, more bool) {
	slices.SortStableFunc(moments, func(a, b Moment) int {
		order := a.Time.Compare(b.Time.Time)
		if order == 0 && a.Kind != b.Kind {
			switch ended {
			case a.Kind:
				return 1
			case b.Kind:
				return -1
			}
		}
		return order
	})
	more = len(moments) > most
	moments = moments[:min(len(moments), most)]
	for i := range moments {
		if i > 0 {
			moments[i].After(moments[i-1].Time.Time)
		}
	}
	return moments, more
}

// After says how long after a former moment it was.
func (m *Moment) After(former time.Time) {
	millis := m.Time.Sub(former).Milliseconds()
	m.AfterMillis = &millis
}
