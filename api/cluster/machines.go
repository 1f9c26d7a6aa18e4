package cluster

import (
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/scheduler/core/machines"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
)

// cordonBody is the body of a request to cordon a machine.
type cordonBody struct {
	// Reason tells other users why the machine is cordoned.
	Reason string `json:"reason"`
	// Until is when the cordon ends by itself. If it is zero, the cordon lasts until a request ends it.
	Until time.Time `json:"until,omitzero"`
	// Force also cordons a host that no leader has seen yet.
	Force bool `json:"force,omitempty"`
}

// drainBody is the body of a request to drain a machine.
type drainBody struct {
	cordonBody
	// DeadlineSeconds is the time after which the remaining tasks are stopped. If it is 0, they are never stopped.
	DeadlineSeconds int `json:"deadlineSeconds,omitempty"`
}

// maxCordonReason is the maximum length of the reason of a cordon, in characters.
const maxCordonReason = 500

// machineName matches the host names and the ids of agents that a request can name.
var machineName = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,255}$`)

// machineInPath returns the machine that the path names by its host or by the id of one of its agents.
func machineInPath(c *gin.Context) (string, error) {
	name, err := request.PathValue(c, "agent")
	if err == nil && !machineName.MatchString(name) {
		err = failure.NotFound("machine_not_found",
			"there is no agent and no host %s, and there can be none: names are 1 to 255 letters, digits, '.', '_', ':' or '-'",
			failure.Quoted(name))
	}
	return name, err
}

// cordon cordons a machine.
func (h *Handlers) cordon(c *gin.Context) (any, error) {
	machine, err := machineInPath(c)
	if err != nil {
		return nil, err
	}
	f, err := request.ReadForm[cordonBody](c)
	if err != nil {
		return nil, err
	}
	r := h.cordonRequest(machine, f)
	if err := f.With(nil); err != nil {
		return nil, err
	}
	return h.Scheduler.Cordon(c.Request.Context(), caller.ScopeOf(c.Request.Context()), r)
}

// cordonRequest reads the fields of a request to cordon a machine.
func (h *Handlers) cordonRequest(machine string, f *request.Form) operator.CordonRequested {
	return operator.CordonRequested{Machine: machine, Reason: cordonReason(f), Until: cordonEnd(f, h.Now()),
		Force: f.Flag("force")}
}

// drain cordons a machine and begins to empty it.
func (h *Handlers) drain(c *gin.Context) (any, error) {
	machine, err := machineInPath(c)
	if err != nil {
		return nil, err
	}
	f, err := request.ReadForm[drainBody](c)
	if err != nil {
		return nil, err
	}
	r := operator.DrainRequested{CordonRequested: h.cordonRequest(machine, f),
		After: time.Duration(f.Number("deadlineSeconds", 1, int(machines.MaxDeadline/time.Second))) * time.Second}
	if end := h.Now().Add(r.After); r.After > 0 && f.Has("until") && !f.Refused("until") && r.Until.Before(end) {
		f.Refuse("until", "is before the end of deadlineSeconds, and the end of the cordon ends the drain: name a later time, or leave it out")
	}
	if err := f.With(nil); err != nil {
		return nil, err
	}
	return h.Scheduler.DrainMachine(c.Request.Context(), caller.ScopeOf(c.Request.Context()), r)
}

// uncordon ends the cordon of a machine.
func (h *Handlers) uncordon(c *gin.Context) (any, error) {
	machine, err := machineInPath(c)
	if err != nil {
		return nil, err
	}
	return h.Scheduler.Uncordon(c.Request.Context(), caller.ScopeOf(c.Request.Context()), machine)
}

// deadBody is the body of a request to declare a machine dead.
type deadBody struct {
	// Reason tells other users why the machine was declared dead.
	Reason string `json:"reason,omitempty"`
	// Force declares the machine dead even if it was heard a moment ago.
	Force bool `json:"force,omitempty"`
}

// declareDead declares a machine dead: all attempts on it end.
func (h *Handlers) declareDead(c *gin.Context) (any, error) {
	machine, err := machineInPath(c)
	if err != nil {
		return nil, err
	}
	f, err := request.ReadOptionalForm[deadBody](c)
	if err != nil {
		return nil, err
	}
	r := operator.DeadRequested{Machine: machine, Reason: machineReason(f), Force: f.Flag("force")}
	if err := f.With(nil); err != nil {
		return nil, err
	}
	return h.Scheduler.DeclareDead(c.Request.Context(), caller.ScopeOf(c.Request.Context()), r)
}

// cordonReason reads the reason of a cordon, which is shown to everyone who waits for the machine.
func cordonReason(f *request.Form) string {
	why := machineReason(f)
	if why == "" && !f.Refused("reason") {
		f.Refuse("reason", "is missing: say for the others why the machine is not to be used")
	}
	return why
}

// machineReason reads a reason, which may be missing.
func machineReason(f *request.Form) string {
	why := strings.TrimSpace(f.Text("reason"))
	switch {
	case utf8.RuneCountInString(why) > maxCordonReason:
		f.Refuse("reason", "must have at most %d characters", maxCordonReason)
	case strings.ContainsFunc(why, func(r rune) bool { return r < ' ' || r == 0x7f }):
		f.Refuse("reason", "must be one line without control characters")
	}
	return why
}

// cordonEnd reads when a cordon ends by itself.
func cordonEnd(f *request.Form, now time.Time) time.Time {
	until := f.Moment("until")
	if f.Has("until") && !until.After(now) && !f.Refused("until") {
		f.Refuse("until", "is in the past: name a later time, or leave it out for a cordon without an end")
	}
	if until.Year() > 9998 {
		f.Refuse("until", "must be before the year 9999: leave it out for a cordon without an end")
	}
	return until
}
