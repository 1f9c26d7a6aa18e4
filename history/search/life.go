package search

import (
	"slices"
	"time"
)

// Moment is an event of an execution: a step, or a change of the state of one of its tasks.
type Moment struct {
	Time Time `json:"time"`
	// AfterMillis is the time since the previous moment; nil for the first one.
	AfterMillis *int64 `json:"afterMillis"`
	// Kind is the kind of a step (event.Kind), or the new state of a task (TASK_RUNNING).
	Kind string `json:"kind"`
	// Item is nil if the moment concerns the whole execution.
	Item    *int   `json:"item"`
	TaskID  string `json:"taskId"`
	Agent   string `json:"agent"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// MessageCode and MessageArgs are the structured form of the reason in Message: the whole Message, or its end if
	// Kind is ENDED.
	MessageCode string         `json:"messageCode,omitempty"`
	MessageArgs map[string]any `json:"messageArgs,omitempty"`
}

// ended is the kind of the last moment of an execution.
const ended = "ENDED"

// Life sorts moments by time and sets the times between them. Moments of the same time keep their order, except that
// the end comes last. It returns the first moments, at most limit; more reports whether there are others.
func Life(moments []Moment, limit int) (life []Moment, more bool) {
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
	more = len(moments) > limit
	moments = moments[:min(len(moments), limit)]
	for i := range moments {
		if i > 0 {
			moments[i].After(moments[i-1].Time.Time)
		}
	}
	return moments, more
}

// After sets the time since an earlier moment.
func (m *Moment) After(former time.Time) {
	millis := m.Time.Sub(former).Milliseconds()
	m.AfterMillis = &millis
}
