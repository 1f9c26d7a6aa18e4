package wire

import (
	"encoding/json"
	"fmt"
	"time"
)

// Report is an executor's report between updates. It is sent at most once a second and, if the executor has a daemon's
// shard, at least every ReportInterval. It may be lost, so it contains nothing that must arrive.
type Report struct {
	Version int `json:"v"`
	// Time is the executor's clock at the time of sending.
	Time time.Time `json:"time"`
	// Tasks are the tasks whose progress has changed, and all shards of daemons.
	Tasks []TaskReport `json:"tasks,omitempty"`
}

// ReportInterval is the longest interval between two Reports of an executor with a daemon's shard.
const ReportInterval = 10 * time.Second

// HeartbeatInterval is the interval between two heartbeats of an executor that is connected to its agent.
const HeartbeatInterval = 5 * time.Second

// heartbeat is the message that shows that an executor runs and reaches the scheduler. Earlier releases read it as a
// Report without news.
type heartbeat struct {
	Version   int  `json:"v"`
	Heartbeat bool `json:"heartbeat"`
}

// EncodeHeartbeat returns the message that a connected executor sends every HeartbeatInterval.
func EncodeHeartbeat() []byte {
	data, _ := json.Marshal(heartbeat{Version: firstVersion, Heartbeat: true}) // never fails
	return data
}

// IsHeartbeat reports whether data is a heartbeat of an executor.
func IsHeartbeat(data []byte) bool {
	var h heartbeat
	return len(data) > 0 && json.Unmarshal(data, &h) == nil && h.Version >= 1 && h.Heartbeat
}

// TaskReport is the part of a Report about one task.
type TaskReport struct {
	TaskID   string    `json:"taskId"`
	Progress *Progress `json:"progress,omitempty"`
	// Fire is the fire of the current run of a daemon's shard; zero while the shard waits for the next fire. Totals
	// are the shard's counts.
	Fire   time.Time `json:"fire,omitzero"`
	Totals *Totals   `json:"totals,omitempty"`
}

// Progress is the progress of a run as its program reports it.
type Progress struct {
	// Fraction is between 0 and 1.
	Fraction float64 `json:"fraction"`
	// Message has at most MaxProgressMessage bytes.
	Message string `json:"message,omitempty"`
	// Notice means that the program has reported no progress, and that Message is a message of the executor about that.
	// Fraction then has no meaning.
	Notice bool      `json:"notice,omitempty"`
	At     time.Time `json:"at"`
}

// MaxProgressMessage bounds Progress.Message, in bytes.
const MaxProgressMessage = 200

// Encode encodes r. The format has not changed since the first version.
func (r Report) Encode() ([]byte, error) {
	r.Version = firstVersion
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("describe report: %w", err)
	}
	return data, nil
}

// DecodeReport decodes an executor's report. It returns a zero Report and false for data of other executors.
func DecodeReport(data []byte) (Report, bool) {
	var r Report
	if len(data) == 0 || json.Unmarshal(data, &r) != nil || r.Version < 1 {
		return Report{}, false
	}
	return r, true
}
