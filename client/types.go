package client

import (
	"encoding/json"
	"time"
)

// Why says why something is as it is: to people in English, and to programs, which decide by it, as a code with its
// arguments. The sentence may change with any release, the code does not. All are empty where there is nothing to say.
type Why struct {
	Reason     string `json:"reason"`
	ReasonCode string `json:"reasonCode"`
	ReasonArgs Args   `json:"reasonArgs"`
}

// Args are the arguments of a code by their names: strings, and for a reason in turn a map with its "code" and, if it
// has some, "args".
type Args map[string]any

// NoteReason is a note as a code with its arguments. The code "text" is of one that has none of its own.
type NoteReason struct {
	Code string `json:"code"`
	Args Args   `json:"args"`
}

// App is an app's document, and whether it is disabled.
type App struct {
	AppName                 string  `json:"appName"`
	AppURL                  string  `json:"appURL"`
	BootstrapScript         string  `json:"bootstrapScript"`
	CPUCount                float64 `json:"cpuCount"`
	MemoryMB                float64 `json:"memoryMB"`
	AppCacheEnable          bool    `json:"appCacheEnable"`
	EventTraceSamplingCount int     `json:"eventTraceSamplingCount"`
	AppSHA256               string  `json:"appSHA256"`
	// Those of apps on Kubernetes: what their shards' pods are made of.
	Image            string          `json:"image"`
	ImagePullPolicy  string          `json:"imagePullPolicy"`
	ImagePullSecrets []string        `json:"imagePullSecrets"`
	PodTemplate      json.RawMessage `json:"podTemplate"`
	Disabled         bool            `json:"disabled"` // in answers to commands only
	// Notes are about the document, NoteReasons the same as codes, in the same order.
	Notes       []string     `json:"notes"`
	NoteReasons []NoteReason `json:"noteReasons"`
}

// Job is what all jobs' documents have, and the state of the job. Answer.Raw has all fields.
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
	Disabled               bool           `json:"disabled"` // this and State in answers to commands only
	State                  string         `json:"state"`
	// Notes are about the job, NoteReasons the same as codes, in the same order.
	Notes       []string     `json:"notes"`
	NoteReasons []NoteReason `json:"noteReasons"`
}

// Overrides are what a trigger sets for one run.
type Overrides struct {
	JobParameter           *string        `json:"jobParameter,omitempty"`
	ShardingItemParameters *string        `json:"shardingItemParameters,omitempty"`
	Env                    map[string]any `json:"env,omitempty"`
}

// Triggered names the execution that a trigger made.
type Triggered struct {
	ExecutionID string `json:"executionId"`
}

// Summary is one run of a job, with its shards counted by state.
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

// The states of executions and shards that have ended.
const (
	Finished = "FINISHED"
	Failed   = "FAILED"
	Killed   = "KILLED"
)

// Ended reports whether the execution has ended.
func (e Execution) Ended() bool { return e.State == Finished || e.State == Failed || e.State == Killed }

// Shard is one shard of an execution, as its last attempt is.
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
	Why
	Progress *Progress `json:"progress"`
	Daemon   *Daemon   `json:"daemon"`
}

// Progress is how far a shard has come, by its own word.
type Progress struct {
	Fraction float64   `json:"fraction"`
	Message  string    `json:"message"`
	At       time.Time `json:"at"`
}

// Daemon is how a daemon's shard gets on.
type Daemon struct {
	NextFireTime          *time.Time `json:"nextFireTime"`
	Runs, Failed, Skipped int64
}

// Explanation is what a job does, and why.
type Explanation struct {
	JobName string `json:"jobName"`
	State   string `json:"state"`
	// Notes are what people should know of it, NoteReasons the same as codes, in the same order.
	Notes       []string     `json:"notes"`
	NoteReasons []NoteReason `json:"noteReasons"`
	NextFires   []time.Time  `json:"nextFires"`
	Waiting     []struct {
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
	// Ended are the shards of runs under way that have ended, and not well.
	Ended []struct {
		ExecutionID string `json:"executionId"`
		Item        int    `json:"item"`
		TaskID      string `json:"taskId"`
		State       string `json:"state"`
		Agent       string `json:"agent"`
		Why
	} `json:"ended"`
	LastRun      *Summary `json:"lastRun"`
	LastSuccess  *Summary `json:"lastSuccess"`
	DroppedFires *Fires   `json:"droppedFires"`
	MissedFires  *Fires   `json:"missedFires"`
}

// Fires are fires that became no run.
type Fires struct {
	Count int64     `json:"count"`
	Last  time.Time `json:"last"`
	Why
}

// JobPage is one page of the jobs that match a question.
type JobPage struct {
	Total   int            `json:"total"`
	ByState map[string]int `json:"byState"`
	Rows    []JobRow       `json:"rows"`
	// RawRows are the same rows as they came.
	RawRows []json.RawMessage `json:"-"`
}

// UnmarshalJSON reads the rows twice: as what they mean and as they are.
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

// JobRow is what people watch of a job.
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

// Run is one of a job's last runs, as a JobRow has them.
type Run struct {
	ExecutionID    string    `json:"executionId"`
	State          string    `json:"state"`
	FireTime       time.Time `json:"fireTime"`
	DurationMillis *int64    `json:"durationMillis"`
}

// LastRun is the last run of a job that ended, as a JobRow has it.
type LastRun struct {
	Run
	StartTime    *time.Time `json:"startTime"`
	CompleteTime *time.Time `json:"completeTime"`
	Why
}

// Overview is the cluster at a glance. What its reader may not know is nil or empty.
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

// Totals count what there is.
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

// Amounts are how much of a resource there is, and who has it.
type Amounts struct {
	Total float64 `json:"total"`
	Used  float64 `json:"used"`
	Free  float64 `json:"free"`
}

// Problem is something that needs a look.
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
	// MessageCode and MessageArgs say the same to programs.
	MessageCode string `json:"messageCode"`
	MessageArgs Args   `json:"messageArgs"`
}

// Health is what a server says of itself to everybody, and its version to who may know it.
type Health struct {
	Status     string `json:"status"`
	Version    string `json:"version"`
	Leading    bool   `json:"leading"`
	Subscribed *bool  `json:"subscribed"`
	Leader     string `json:"leader"`
	Warning    string `json:"warning"`
}

// Session is who the client is to the server.
type Session struct {
	Name    string     `json:"name"`
	Kind    string     `json:"kind"`
	Role    string     `json:"role"`
	Apps    []string   `json:"apps"`
	Expires *time.Time `json:"expires"`
}

// Logins says how one can log in at a server.
type Logins struct {
	Password bool `json:"password"`
	OpenID   bool `json:"openId"`
}
