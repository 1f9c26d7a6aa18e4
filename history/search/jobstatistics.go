package search

import (
	"slices"
	"time"
)

// MostSummed is how many executions of a job, or runs of a daemon's shards that are stored one by one, its statistics
// are made of: the newest.
const MostSummed = 1000

// JobStatistics are made of what ended of a job's executions or, of a daemon, of its shards' runs.
type JobStatistics struct {
	JobName string `json:"jobName"`
	// Of is EXECUTIONS or, of a daemon, RUNS.
	Of string `json:"of"`
	// Since is the fire time of the oldest, for runs its start, or the report of the first that sampling left out.
	Since    Time `json:"since"`
	Finished int  `json:"finished"`
	Failed   int  `json:"failed"`
	Killed   int  `json:"killed"`
	// SuccessRate is Finished of Finished and Failed, nil without any.
	SuccessRate *float64 `json:"successRate"`
	// DurationMillis are of those that finished, nil without any.
	DurationMillis *Durations `json:"durationMillis"`
	// LastFailure is nil where none is stored.
	LastFailure *LastFailure `json:"lastFailure"`
}

// Durations are the times within which half of them, and 95 of 100, were done.
type Durations struct {
	P50 int64 `json:"p50"`
	P95 int64 `json:"p95"`
}

// LastFailure is the newest that failed.
type LastFailure struct {
	ExecutionID  string `json:"executionId" db:"execution_id"`
	FireTime     Time   `json:"fireTime" db:"fire_time"`
	CompleteTime Time   `json:"completeTime" db:"complete_time"`
	Reason       string `json:"reason" db:"reason"`
	// ReasonCode and ReasonArgs are those of Reason, none without one.
	ReasonCode  string         `json:"reasonCode,omitempty" db:"-"`
	ReasonArgs  map[string]any `json:"reasonArgs,omitempty" db:"-"`
	ReasonValue *string        `json:"-" db:"reason_value"`
}

// Outcome is what statistics need of one that ended.
type Outcome struct {
	Result         Result
	Time           time.Time // of its fire, or start
	DurationMillis *int64
}

// Result is how something ended.
type Result int

// What is still under way, or says nothing of the job, has none of the others.
const (
	NoResult Result = iota
	Success
	Failure
	Kill
)

// Sum makes statistics of outcomes, the newest first.
func Sum(job, of string, outcomes []Outcome) JobStatistics {
	s := JobStatistics{JobName: job, Of: of}
	var took []int64
	for _, o := range outcomes {
		switch o.Result {
		case Success:
			s.Finished++
			if o.DurationMillis != nil {
				took = append(took, *o.DurationMillis)
			}
		case Failure:
			s.Failed++
		case Kill:
			s.Killed++
		case NoResult:
			continue
		}
		s.Since.Time = o.Time
	}
	s.rate()
	if len(took) > 0 {
		slices.Sort(took)
		s.DurationMillis = &Durations{P50: percentile(took, 50), P95: percentile(took, 95)}
	}
	return s
}

// AddTallied adds runs of which there is no more than a count: sampling left them out. first is when the first of them
// were reported.
func (s *JobStatistics) AddTallied(finished, failed int, first time.Time) {
	if finished+failed == 0 {
		return
	}
	s.Finished += finished
	s.Failed += failed
	if s.Since.IsZero() || first.Before(s.Since.Time) {
		s.Since.Time = first
	}
	s.rate()
}

func (s *JobStatistics) rate() {
	if judged := s.Finished + s.Failed; judged > 0 {
		rate := float64(s.Finished) / float64(judged)
		s.SuccessRate = &rate
	}
}

// percentile is the least of the sorted values that p of 100 don't exceed (the nearest rank).
func percentile(sorted []int64, p int) int64 { return sorted[(p*len(sorted)+99)/100-1] }
