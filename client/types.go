package client

import (
	"encoding/json"
	"time"
)

// Why is the reason of a state, as an English sentence for users and as a code with arguments for programs. Releases
// may change the sentence, but not the code. All fields are empty if there is no reason.
type Why struct {
	Reason     string `json:"reason"`
	ReasonCode string `json:"reasonCode"`
	ReasonArgs Args   `json:"reasonArgs"`
}

// Args are the arguments of a code by name. A value is a string or, for a nested reason, a map with "code" and, unless
// it has no arguments, "args".
type Args map[string]any

// NoteReason is a note as a code with arguments. The code is "text" for a note without a specific code.
type NoteReason struct {
	Code string `json:"code"`
	Args Args   `json:"args"`
}

// App is an app's document, with its disabled state.
type App struct {
	AppName                 string  `json:"appName"`
	AppURL                  string  `json:"appURL"`
	BootstrapScript         string  `json:"bootstrapScript"`
	CPUCount                float64 `json:"cpuCount"`
	MemoryMB                float64 `json:"memoryMB"`
	AppCacheEnable          bool    `json:"appCacheEnable"`
	EventTraceSamplingCount int     `json:"eventTraceSamplingCount"`
	AppSHA256               string  `json:"appSHA256"`
	// These fields describe the pods of apps on Kubernetes.
	Image            string          `json:"image"`
	ImagePullPolicy  string          `json:"imagePullPolicy"`
	ImagePullSecrets []string        `json:"imagePullSecrets"`
	PodTemplate      json.RawMessage `json:"podTemplate"`
	Disabled         bool            `json:"disabled"` // only in answers to commands
	// Notes are about the document; NoteReasons are the same notes as codes, in the same order.
	Notes       []string     `json:"notes"`
	NoteReasons []NoteReason `json:"noteReasons"`
}

// Job contains the common fields of a job's document, and the job's state. Answer.Raw contains all fields.
type Job struct {
	JobName                string         `json:"jobName"`
	AppName                string         `json:"appName"`
	JobExecutionType       string         `json:"jobExecutionType"`
	Cron                   string         `json:"cron"`
	TimeZone               string         `json:"timeZone"`
	ShardingTotalCount     int            `json:"shardingTotalCount"`
	CPUCount               float64        `json:"cpuCount"`
	MemoryMB               float64        `json:"memoryMB"`
	ShardingItemParameters string         `json:"shardingItemParameters"`
	JobParameter           string         `json:"jobParameter"`
	Description            string         `json:"description"`
	Env                    map[string]any `json:"env"`
	Props                  map[string]any `json:"props"`
	Disabled               bool           `json:"disabled"` // like State, only in answers to commands
	State                  string         `json:"state"`
	// Notes are about the job; NoteReasons are the same notes as codes, in the same order.
	Notes       []string     `json:"notes"`
	NoteReasons []NoteReason `json:"noteReasons"`
}

// Overrides are the settings that a trigger replaces for one run.
type Overrides struct {
	JobParameter           *string        `json:"jobParameter,omitempty"`
	ShardingItemParameters *string        `json:"shardingItemParameters,omitempty"`
	Env                    map[string]any `json:"env,omitempty"`
}

// Triggered names the execution that a trigger has created.
type Triggered struct {
	ExecutionID string `json:"executionId"`
}

// Summary is one run of a job, with the number of its shards in each state.
type Summary struct {
	ExecutionID string    `json:"executionId"`
	JobName     string    `json:"jobName"`
	FireTime    time.Time `json:"fireTime"`
	Source      string    `json:"source"`
	State       string    `json:"state"`
	Why
	StartTime    *time.Time `json:"startTime"`
	CompleteTime *time.Time `json:"completeTime"`
	// DurationMillis is nil in an Explanation, which has the two times.
	DurationMillis *int64         `json:"durationMillis"`
	Shards         map[string]int `json:"shards"`
}

// Execution is one run of a job with all its shards.
type Execution struct {
	ExecutionID string    `json:"executionId"`
	JobName     string    `json:"jobName"`
	FireTime    time.Time `json:"fireTime"`
	Source      string    `json:"source"`
	State       string    `json:"state"`
	Why
	Shards    []Shard    `json:"shards"`
	Overrides *Overrides `json:"overrides"`
	LifeNote  string     `json:"lifeNote"`
}

// The final states of executions.
const (
	Finished = "FINISHED"
	Failed   = "FAILED"
	Killed   = "KILLED"
)

// Ended reports whether the execution has ended.
func (e Execution) Ended() bool { return e.State == Finished || e.State == Failed || e.State == Killed }

// Shard is one shard of an execution, in the state of its last attempt.
type Shard struct {
	Item         int        `json:"item"`
	State        string     `json:"state"`
	Attempt      int        `json:"attempt"`
	Agent        string     `json:"agent"`
	TaskID       string     `json:"taskId"`
	StartTime    *time.Time `json:"startTime"`
	CompleteTime *time.Time `json:"completeTime"`
	ExitStatus   *int       `json:"exitStatus"`
	FailureCause string     `json:"failureCause"`
	FailureCode  string     `json:"failureCode"`
	FailureArgs  Args       `json:"failureArgs"`
	// Note says what is notable about an attempt that finished.
	Note     string `json:"note"`
	NoteCode string `json:"noteCode"`
	NoteArgs Args   `json:"noteArgs"`
	Why
	Progress *Progress `json:"progress"`
	Daemon   *Daemon   `json:"daemon"`
	// Earlier contains the attempts before the last one whose output is kept, the oldest first.
	Earlier []Attempt `json:"earlier"`
}

// Attempt is one attempt of a shard.
type Attempt struct {
	Attempt int    `json:"attempt"`
	TaskID  string `json:"taskId"`
}

// TaskOf returns the task of an attempt of the shard; 0 means the last attempt. It returns "" if there was no such
// attempt, or if the attempt's output is not kept.
func (s Shard) TaskOf(attempt int) string {
	if attempt == 0 || attempt == s.Attempt {
		return s.TaskID
	}
	for _, a := range s.Earlier {
		if a.Attempt == attempt {
			return a.TaskID
		}
	}
	return ""
}

// Progress is the progress of a shard that its program has reported.
type Progress struct {
	Fraction float64 `json:"fraction"`
	Message  string  `json:"message"`
	// Notice means that the program has reported no progress, and that Message is a text of the executor about that.
	Notice bool      `json:"notice"`
	At     time.Time `json:"at"`
}

// Daemon is the state of a daemon's shard.
type Daemon struct {
	NextFireTime *time.Time `json:"nextFireTime"`
	// LastRun is the last run that ended; nil if no run has ended.
	LastRun *DaemonRun `json:"lastRun"`
	// LastFailure is the last run that did not finish and was not killed by a user; nil if there is none.
	LastFailure           *DaemonRun `json:"lastFailure"`
	Runs, Failed, Skipped int64
}

// DaemonRun is one run of a daemon's shard.
type DaemonRun struct {
	FireTime       time.Time `json:"fireTime"`
	State          string    `json:"state"`
	DurationMillis int64     `json:"durationMillis"`
	FailureCause   string    `json:"failureCause"`
	Note           string    `json:"note"`
}

// Explanation says what a job is doing, and why.
type Explanation struct {
	JobName string `json:"jobName"`
	State   string `json:"state"`
	// Notes say what users should know about the job; NoteReasons are the same notes as codes, in the same order.
	Notes       []string     `json:"notes"`
	NoteReasons []NoteReason `json:"noteReasons"`
	// NextFires are in the time zone of the job's cron. TimeZone is the name of that zone; "" if it has none.
	NextFires []time.Time `json:"nextFires"`
	TimeZone  string      `json:"timeZone"`
	Waiting   []struct {
		ExecutionID string    `json:"executionId"`
		Item        int       `json:"item"`
		Since       time.Time `json:"since"`
		Why
	} `json:"waiting"`
	Running []struct {
		ExecutionID string    `json:"executionId"`
		Item        int       `json:"item"`
		TaskID      string    `json:"taskId"`
		State       string    `json:"state"`
		Agent       string    `json:"agent"`
		Since       time.Time `json:"since"`
		Why
		Progress *Progress `json:"progress"`
	} `json:"running"`
	// Ended are the shards of current runs that have ended without success.
	Ended []struct {
		ExecutionID string `json:"executionId"`
		Item        int    `json:"item"`
		TaskID      string `json:"taskId"`
		State       string `json:"state"`
		Agent       string `json:"agent"`
		Why
	} `json:"ended"`
	LastRun     *Summary `json:"lastRun"`
	LastSuccess *Summary `json:"lastSuccess"`
	// LastFailure is only given for a daemon.
	LastFailure  *Summary `json:"lastFailure"`
	DroppedFires *Fires   `json:"droppedFires"`
	MissedFires  *Fires   `json:"missedFires"`
}

// Fires counts fires that made no run.
type Fires struct {
	Count int64     `json:"count"`
	Last  time.Time `json:"last"`
	Why
}

// JobPage is one page of the jobs that match a query.
type JobPage struct {
	Total   int            `json:"total"`
	ByState map[string]int `json:"byState"`
	Rows    []JobRow       `json:"rows"`
	// RawRows are the same rows as JSON, unchanged.
	RawRows []json.RawMessage `json:"-"`
}

// UnmarshalJSON decodes the rows into both Rows and RawRows.
func (p *JobPage) UnmarshalJSON(text []byte) error {
	type plain JobPage
	if err := json.Unmarshal(text, (*plain)(p)); err != nil {
		return err
	}
	var raw struct{ Rows []json.RawMessage }
	err := json.Unmarshal(text, &raw)
	p.RawRows = raw.Rows
	return err
}

// JobRow is the current state of a job.
type JobRow struct {
	JobName            string     `json:"jobName"`
	AppName            string     `json:"appName"`
	JobExecutionType   string     `json:"jobExecutionType"`
	Cron               string     `json:"cron"`
	ShardingTotalCount int        `json:"shardingTotalCount"`
	State              string     `json:"state"`
	NextFire           *time.Time `json:"nextFire"`
	Running            int        `json:"running"`
	Waiting            int        `json:"waiting"`
	WaitingFor         string     `json:"waitingFor"`
	WaitingForCode     string     `json:"waitingForCode"`
	WaitingForArgs     Args       `json:"waitingForArgs"`
	LastRun            *LastRun   `json:"lastRun"`
	Failures           int        `json:"failures"`
	Runs               []Run      `json:"runs"`
}

// Run is one of the last runs of a job in a JobRow.
type Run struct {
	ExecutionID    string    `json:"executionId"`
	State          string    `json:"state"`
	FireTime       time.Time `json:"fireTime"`
	DurationMillis *int64    `json:"durationMillis"`
}

// LastRun is the last ended run of a job in a JobRow.
type LastRun struct {
	Run
	StartTime    *time.Time `json:"startTime"`
	CompleteTime *time.Time `json:"completeTime"`
	Why
}

// Overview is a summary of the cluster. Fields that the caller may not see are nil or empty.
type Overview struct {
	Time   time.Time `json:"time"`
	Leader *struct {
		Address string    `json:"address"`
		Since   time.Time `json:"since"`
	} `json:"leader"`
	Version       string    `json:"version"`
	Summary       Totals    `json:"summary"`
	Problems      []Problem `json:"problems"`
	ProblemsTotal int       `json:"problemsTotal"`
}

// Totals count jobs, apps, runs, agents and resources.
type Totals struct {
	Jobs              map[string]int `json:"jobs"`
	Apps              int            `json:"apps"`
	RunningShards     int            `json:"runningShards"`
	RunningExecutions int            `json:"runningExecutions"`
	WaitingExecutions int            `json:"waitingExecutions"`
	Subscribed        *bool          `json:"subscribed"`
	Agents            *struct {
		Total       int `json:"total"`
		Unreachable int `json:"unreachable"`
		Closed      int `json:"closed"`
	} `json:"agents"`
	CPUs              *Amounts `json:"cpus"`
	MemoryMB          *Amounts `json:"memoryMB"`
	LaunchesPerMinute *int64   `json:"launchesPerMinute"`
	FinishedLastHour  *int64   `json:"finishedLastHour"`
	FailedLastHour    *int64   `json:"failedLastHour"`
}

// Amounts are the total, used and free amounts of a resource.
type Amounts struct {
	Total float64 `json:"total"`
	Used  float64 `json:"used"`
	Free  float64 `json:"free"`
}

// Problem is something that needs attention.
type Problem struct {
	Kind     string     `json:"kind"`
	Severity string     `json:"severity"`
	Job      string     `json:"job"`
	App      string     `json:"app"`
	Agent    string     `json:"agent"`
	Path     string     `json:"path"`
	Count    int        `json:"count"`
	Since    *time.Time `json:"since"`
	Message  string     `json:"message"`
	// MessageCode and MessageArgs are the same message for programs.
	MessageCode string `json:"messageCode"`
	MessageArgs Args   `json:"messageArgs"`
}

// Health is a server's answer to a probe. Version, Leader and Warning are empty unless the caller may see them.
type Health struct {
	Status     string `json:"status"`
	Version    string `json:"version"`
	Leading    bool   `json:"leading"`
	Subscribed *bool  `json:"subscribed"`
	Leader     string `json:"leader"`
	Warning    string `json:"warning"`
}

// Session is the caller as the server sees it.
type Session struct {
	Name    string     `json:"name"`
	Kind    string     `json:"kind"`
	Role    string     `json:"role"`
	Apps    []string   `json:"apps"`
	Expires *time.Time `json:"expires"`
}

// Logins are the ways to log in to a server.
type Logins struct {
	Password bool `json:"password"`
	OpenID   bool `json:"openId"`
}
