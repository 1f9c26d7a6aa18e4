package problem

import (
	"errors"
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/document"
)

// Kind of an Error, for status codes.
type Kind int

// Kinds of errors.
const (
	// NotFound: the thing named is not there.
	NotFound Kind = iota + 1
	// Conflict: it is there, and its state does not allow the request.
	Conflict
	// Invalid: the request breaks rules; Violations lists them.
	Invalid
	// Unavailable: not now; trying again may help.
	Unavailable
	// OutcomeUnknown: not now, and the change may have been done.
	OutcomeUnknown
	// LogGone: the output is no longer kept.
	LogGone
	// TooSoon: the same was asked a moment ago; RetryAfter says when it may be asked again.
	TooSoon
	// Forbidden: who asks may not do it.
	Forbidden
)

// Error is what a request to the scheduler fails with.
type Error struct {
	Kind Kind
	// Code is a stable word for programs, e.g. "job_not_found".
	Code       string
	Message    string
	Violations document.Violations
	// RetryAfter, with TooSoon, is how long to wait before asking again.
	RetryAfter time.Duration
}

func (e *Error) Error() string { return e.Message }

func Errorf(kind Kind, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

func NoJob(name string) *Error {
	return Errorf(NotFound, "job_not_found", "there is no job %q; GET /api/job/jobs lists all", name)
}

func NoApp(name string) *Error {
	return Errorf(NotFound, "app_not_found", "there is no app %q; GET /api/app/list lists all", name)
}

// AppInUse says why an app with jobs cannot be deleted.
func AppInUse(name string, jobNames []string) *Error {
	return Errorf(Conflict, "app_has_jobs", "app %q has %s (%s): deregister them first, or delete with ?jobs=true", name, Counted(len(jobNames), "job"), someNames(jobNames))
}

func someNames(names []string) string {
	const most = 10
	if len(names) <= most {
		return fmt.Sprintf("%q", names)
	}
	return fmt.Sprintf("%q and %d more", names[:most], len(names)-most)
}

// asError is an error of a request for its answer.
func Of(err error) *Error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	return Errorf(Invalid, "invalid", "%v", err)
}

// Counted says "1 time" or "3 times".
func Counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
