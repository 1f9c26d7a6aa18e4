package search

import (
	"fmt"
	"strings"
	"time"
)

// Time is a time in UTC with milliseconds, read from the text that both kinds of databases store. The zero time is
// null.
type Time struct{ time.Time }

// Scan implements sql.Scanner. Zero dates, which MySQL tables of the original may contain, become null.
func (t *Time) Scan(value any) error {
	var text string
	switch v := value.(type) {
	case nil:
	case []byte:
		text = string(v)
	case string:
		text = v
	default:
		return fmt.Errorf("a time can't be read from %T", v)
	}
	t.Time = time.Time{}
	if text == "" || strings.HasPrefix(text, "0000-00-00") {
		return nil
	}
	var err error
	t.Time, err = time.Parse(originalTime, text) // also parses fractions of seconds
	return err
}

// MarshalJSON writes the time in RFC 3339, or null.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return t.UTC().MarshalJSON()
}

// Page is one page of a search.
type Page[R any] struct {
	// Total is the number of rows, counted up to MaxCounted; nil if the query had a cursor.
	Total *int `json:"total,omitempty"`
	// TotalIsAtLeast reports that there are more rows than were counted.
	TotalIsAtLeast bool `json:"totalIsAtLeast,omitempty"`
	Rows           []R  `json:"rows"`
	// Next is the cursor to the rows after these; empty at the end, and for sort orders without cursors.
	Next string `json:"next,omitempty"`
}

// Run is a row of JOB_EXECUTION_LOG, with the original's fields first. Rows written by the original lack the other
// fields.
type Run struct {
	Row          int64   `json:"-" db:"auto_id"`
	ID           string  `json:"id" db:"id"`
	Hostname     string  `json:"hostname" db:"hostname"`
	IP           string  `json:"ip" db:"ip"`
	TaskID       string  `json:"taskId" db:"task_id"`
	JobName      string  `json:"jobName" db:"job_name"`
	Source       string  `json:"source" db:"execution_source"`
	ShardingItem int     `json:"shardingItem" db:"sharding_item"`
	StartTime    Time    `json:"startTime" db:"start_time"`
	CompleteTime Time    `json:"completeTime" db:"complete_time"`
	Success      bool    `json:"success" db:"is_success"`
	FailureCause *string `json:"failureCause" db:"failure_cause"`
	// FailureCode and FailureArgs are the structured form of the reason in FailureCause; empty without one.
	FailureCode  string         `json:"failureCode,omitempty" db:"-"`
	FailureArgs  map[string]any `json:"failureArgs,omitempty" db:"-"`
	FailureValue *string        `json:"-" db:"failure_cause_value"`

	ExecutionID *string `json:"executionId" db:"execution_id"`
	Attempt     *int    `json:"attempt" db:"attempt"`
	RunNumber   *int64  `json:"runNumber" db:"run_number"`
	State       *string `json:"state" db:"state"`
	ExitStatus  *int    `json:"exitStatus" db:"exit_status"`
	Agent       *string `json:"agent" db:"agent_id"`
	FireTime    Time    `json:"fireTime" db:"fire_time"`
	// DurationMillis is nil until the run has ended.
	DurationMillis *int64 `json:"durationMillis" db:"-"`
}

// Trace is a row of JOB_STATUS_TRACE_LOG, with the original's fields first.
type Trace struct {
	Row            int64   `json:"-" db:"auto_id"`
	ID             string  `json:"id" db:"id"`
	JobName        string  `json:"jobName" db:"job_name"`
	OriginalTaskID string  `json:"originalTaskId" db:"original_task_id"`
	TaskID         string  `json:"taskId" db:"task_id"`
	SlaveID        string  `json:"slaveId" db:"slave_id"`
	Source         string  `json:"source" db:"source"`
	ExecutionType  string  `json:"executionType" db:"execution_type"`
	ShardingItems  string  `json:"shardingItems" db:"sharding_item"` // as text, like [0]
	State          string  `json:"state" db:"state"`
	Message        *string `json:"message" db:"message"`
	// MessageCode and MessageArgs are the structured form of the reason in Message; empty without one.
	MessageCode  string         `json:"messageCode,omitempty" db:"-"`
	MessageArgs  map[string]any `json:"messageArgs,omitempty" db:"-"`
	MessageValue *string        `json:"-" db:"message_value"`
	CreationTime Time           `json:"creationTime" db:"creation_time"`

	ExecutionID *string `json:"executionId" db:"execution_id"`
	Attempt     *int    `json:"attempt" db:"attempt"`
	Reason      *string `json:"reason" db:"reason"`
}

// Executions is a query for a list of executions, newest fire first.
type Executions struct {
	// Job and States are filters; an empty one matches all.
	Job    string
	States []string
	// Since excludes earlier fires. Before and BeforeID are the fire time and the id of the last execution of the
	// previous page, which the list continues; Before is zero for the first page.
	Since, Before time.Time
	BeforeID      string
	// Limit is the greatest number of listed executions.
	Limit int
}

// Execution is a row of JOB_EXECUTION.
type Execution struct {
	ID     string  `db:"id"`
	Job    string  `db:"job_name"`
	Source string  `db:"source"`
	State  string  `db:"state"`
	Reason *string `db:"reason"`
	// ReasonCode and ReasonArgs are the structured form of Reason; empty without one.
	ReasonCode     string         `db:"-"`
	ReasonArgs     map[string]any `db:"-"`
	Fire           Time           `db:"fire_time"`
	Launch         Time           `db:"launch_time"`
	Begin          Time           `db:"begin_time"`
	End            Time           `db:"end_time"`
	DurationMillis *int64         `db:"duration_ms"`
	// States counts its shards by state.
	States map[string]int `db:"-"`
	// Shards are the last runs of its shards, by item; only set when a single execution was requested.
	Shards []Run `db:"-"`
}

// TaskResults counts the runs of shards that ended in a period.
type TaskResults struct {
	ID           int64    `json:"id" db:"id"`
	SuccessCount int64    `json:"successCount" db:"success_count"`
	FailedCount  int64    `json:"failedCount" db:"failed_count"`
	Interval     Interval `json:"statisticInterval" db:"-"`
	// StatisticsTime is the start of the period, CreationTime the time of the last count.
	StatisticsTime Time `json:"statisticsTime" db:"statistics_time"`
	CreationTime   Time `json:"creationTime" db:"creation_time"`
}

// Interval is the length of the periods of results.
type Interval string

// The intervals, each with its own table. Hours and days are in UTC.
const (
	Minute Interval = "MINUTE"
	Hour   Interval = "HOUR"
	Day    Interval = "DAY"
)

// Running is the number of tasks, or of jobs, that ran at a time.
type Running struct {
	ID             int64 `json:"id" db:"id"`
	RunningCount   int64 `json:"runningCount" db:"count"`
	StatisticsTime Time  `json:"statisticsTime" db:"statistics_time"`
	CreationTime   Time  `json:"creationTime" db:"creation_time"`
}

// Registered is the number of jobs that were registered on a day.
type Registered struct {
	ID              int64 `json:"id" db:"id"`
	RegisteredCount int64 `json:"registeredCount" db:"count"`
	StatisticsTime  Time  `json:"statisticsTime" db:"statistics_time"`
	CreationTime    Time  `json:"creationTime" db:"creation_time"`
}
