package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/elasticjob-go/elasticjob/client"
)

// The exit statuses, as described in --help and docs/cli.md.
const (
	statusDone = iota
	statusFailed
	statusUsage
	statusRunFailed
	statusNotFound
	statusRefused
	statusConflict
	statusUnavailable
	statusInterrupted = 130
)

const statusHelp = `  0    done
  1    failed for a reason that has no status of its own
  2    the command line or a file that it names is wrong; nothing was sent
  3    the awaited run has failed or was killed
  4    not found
  5    not allowed: log in, or ask for the role
  6    conflict: the state does not allow it, or it exists already
  7    no answer from the server, or it can't answer now: try again
  130  interrupted`

// exitError is an error with an exit status.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// usage marks an error as an error of the command line.
func usage(err error) error { return &exitError{statusUsage, err} }

// usagef returns a new usage error.
func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// statusOf returns the exit status for an error.
func statusOf(err error) int {
	var (
		withStatus  *exitError
		refused     *client.Error
		unreachable *client.UnreachableError
	)
	switch {
	case err == nil:
		return statusDone
	case errors.As(err, &withStatus):
		return withStatus.status
	case errors.Is(err, context.Canceled):
		return statusInterrupted
	case errors.As(err, &unreachable):
		return statusUnavailable
	case !errors.As(err, &refused):
		return statusFailed
	}
	switch refused.Status {
	case http.StatusNotFound, http.StatusGone:
		return statusNotFound
	case http.StatusUnauthorized, http.StatusForbidden:
		return statusRefused
	case http.StatusConflict:
		return statusConflict
	case http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return statusUnavailable
	}
	return statusFailed
}

// report prints an error, if any, in terms of the command line, and returns the exit status. An error without text was
// printed before.
func (a *cli) report(cmd *cobra.Command, err error) int {
	status := statusOf(err)
	switch {
	case err == nil:
	case err.Error() == "":
	case status == statusInterrupted:
		fmt.Fprintln(a.err, "elasticjob: interrupted")
	default:
		fmt.Fprintln(a.err, "elasticjob: "+errorText(err))
		if status == statusUsage && !a.parsed {
			fmt.Fprintf(a.err, "see %s --help\n", cmd.CommandPath())
		}
	}
	return status
}

// errorText returns the text of an error, with a line for each invalid field.
func errorText(err error) string {
	var refused *client.Error
	if !errors.As(err, &refused) {
		return clean(err.Error())
	}
	message := refused.Message
	if len(refused.Fields) > 0 {
		message = "nothing was changed; wrong are:"
		if len(refused.Fields) == 1 {
			message = "nothing was changed; these are wrong:"
		}
	}
	// The errors that wrap the server's message say what was being done. Their text is kept.
	text := clean(strings.TrimSuffix(err.Error(), refused.Message) + inCommands(message))
	for _, f := range refused.Fields {
		text += "\n  " + clean(f.Field)
		if f.Value != "" && !strings.Contains(f.Message, f.Value) {
			text += " = " + clean(f.Value)
		}
		text += ": " + clean(inCommands(f.Message))
	}
	return text
}

// before returns the part of a text before mark, or all of it if it does not contain mark.
func before(text, mark string) string {
	head, _, _ := strings.Cut(text, mark)
	return head
}
