package search

import (
	"slices"
	"time"
)

// MaxSummed is the maximum number of executions of a job, or of individually stored runs of a daemon, that its
// statistics count. The newest ones are counted.
const MaxSummed = 1000

// JobStatistics are the statistics of the ended executions of a job, or of the ended runs of a daemon's shards.
type JobStatistics struct {
	JobName string `json:"jobName"`
	// Of is EXECUTIONS or, for a daemon, RUNS.
	Of string `json:"of"`
	// Since is the earliest fire time of the executions. For runs it is the earliest start, or the time of the first
	// report of tallied runs if that is earlier.
	Since    Time `json:"since"`
	Finished int  `json:"finished"`
	Failed   int  `json:"failed"`
	Killed   int  `json:"killed"`
	// SuccessRate is Finished divided by the sum of Finished and Failed; nil if the sum is 0.
	SuccessRate *float64 `json:"successRate"`
	// DurationMillis are the durations of the finished executions or runs; nil if none finished.
	DurationMillis *Durations `json:"durationMillis"`
	// LastFailure is the last failure; nil if none is stored.
	LastFailure *LastFailure `json:"lastFailure"`
}

// Durations are the 50th and the 95th percentile.
type Durations struct {
	P50 int64 `json:"p50"`
	P95 int64 `json:"p95"`
}

// LastFailure is the newest failed execution or run.
type LastFailure struct {
	ExecutionID  string `json:"executionId" db:"execution_id"`
	FireTime     Time   `json:"fireTime" db:"fire_time"`
	CompleteTime Time   `json:"completeTime" db:"complete_time"`
	Reason       string `json:"reason" db:"reason"`
	// ReasonCode and ReasonArgs are the structured form of Reason; empty without one.
	ReasonCode  string         `json:"reasonCode,omitempty" db:"-"`
	ReasonArgs  map[string]any `json:"reasonArgs,omitempty" db:"-"`
	ReasonValue *string        `json:"-" db:"reason_value"`
}

// Outcome is an ended execution or run as the statistics need it.
type Outcome struct {
	Result         Result
	Time           time.Time // its fire or start
	DurationMillis *int64
}

// Result is the result of an execution or run.
type Result int

// NoResult is the result of an execution or run that is unfinished or does not count for the job.
const (
	NoResult Result = iota
	Success
	Failure
	Kill
)

// Sum computes statistics from outcomes, which are sorted with the newest first.
func Sum(job, of string, outcomes []Outcome) JobStatistics {
	s := JobStatistics{JobName: job, Of: of}
	var durations []int64
	for _, o := range outcomes {
		switch o.Result {
		case Success:
			s.Finished++
			if o.DurationMillis != nil {
				durations = append(durations, *o.DurationMillis)
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
	s.setRate()
	if len(durations) > 0 {
		slices.Sort(durations)
		s.DurationMillis = &Durations{P50: percentile(durations, 50), P95: percentile(durations, 95)}
	}
	return s
}

// AddTallied adds tallied runs, which sampling left out of the log. first is the time of their first report.
func (s *JobStatistics) AddTallied(finished, failed int, first time.Time) {
	if finished+failed == 0 {
		return
	}
	s.Finished += finished
	s.Failed += failed
	if s.Since.IsZero() || first.Before(s.Since.Time) {
		s.Since.Time = first
	}
	s.setRate()
}

func (s *JobStatistics) setRate() {
	if total := s.Finished + s.Failed; total > 0 {
		rate := float64(s.Finished) / float64(total)
		s.SuccessRate = &rate
	}
}

// percentile returns the nearest-rank percentile p of sorted values, which must not be empty.
func percentile(sorted []int64, p int) int64 { return sorted[(p*len(sorted)+99)/100-1] }
