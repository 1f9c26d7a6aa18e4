// Package problem has the error with which the scheduler refuses a request: a kind from which an API chooses its
// status code, a stable code for programs, and a sentence that tells users what to do next. It holds no state and
// depends on no other part of the core.
package problem

import (
	"errors"
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/document"
)

// Kind classifies an Error, so that an API can choose a status code.
type Kind int

// Kinds of errors.
const (
	// NotFound means that the named object does not exist.
	NotFound Kind = iota + 1
	// Conflict means that the object exists, and its state does not allow the request.
	Conflict
	// Invalid means that the request breaks rules; Violations lists them.
	Invalid
	// Unavailable means that the request cannot be served now; a retry may succeed.
	Unavailable
	// OutcomeUnknown means that the request cannot be answered now, and the change may have been made.
	OutcomeUnknown
	// LogGone means that the output is no longer kept.
	LogGone
	// TooSoon means that the same request was made a moment ago; RetryAfter says when it may be repeated.
	TooSoon
	// Forbidden means that the requester has no permission.
	Forbidden
)

// Error is the answer to a request that the scheduler refuses or cannot serve.
type Error struct {
	// Kind is the class of the error.
	Kind Kind
	// Code is a stable word for programs, e.g. "job_not_found".
	Code string
	// Message is a sentence that tells users what is wrong and what to do.
	Message string
	// Violations lists the broken rules of a document or of settings, with Invalid.
	Violations document.Violations
	// RetryAfter is how long to wait before repeating the request, with TooSoon.
	RetryAfter time.Duration
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Errorf makes an Error with a message formatted as by fmt.Sprintf. code must stay the same between releases.
func Errorf(kind Kind, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// NoJob makes the error for a job that is not registered.
func NoJob(name string) *Error {
	return Errorf(NotFound, "job_not_found", "there is no job %q; GET /api/job/jobs lists all", name)
}

// NoApp makes the error for an app that is not registered.
func NoApp(name string) *Error {
	return Errorf(NotFound, "app_not_found", "there is no app %q; GET /api/app/list lists all", name)
}

// AppInUse makes the error for the deletion of an app that still has jobs. It names the first of them.
func AppInUse(name string, jobNames []string) *Error {
	return Errorf(Conflict, "app_has_jobs", "app %q has %s (%s): deregister them first, or delete with ?jobs=true",
		name, Counted(len(jobNames), "job"), someNames(jobNames))
}

func someNames(names []string) string {
	const limit = 10
	if len(names) <= limit {
		return fmt.Sprintf("%q", names)
	}
	return fmt.Sprintf("%q and %d more", names[:limit], len(names)-limit)
}

// Of returns the *Error that err is or wraps. Any other error becomes an Invalid one with the same text.
func Of(err error) *Error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	return Errorf(Invalid, "invalid", "%v", err)
}

// Counted formats a number with its noun, "1 time" or "3 times". It adds an s for the plural.
func Counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
