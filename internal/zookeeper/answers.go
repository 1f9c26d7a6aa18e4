package zookeeper

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"
)

// Codes of answers for which the library has no error.
const (
	CodeWantsSASL     = -124
	CodeQuotaExceeded = -125
)

// silentCodes are answers of servers that did not process the request: they lost a connection, took too long, or are
// overloaded.
var silentCodes = []int{-4, -7, -122, -127}

// answers are the errors of the library for a server's answer, and for requests that it does not send. After any other
// error the outcome of a request is unknown, or the request was not processed and may be sent again.
var answers = []error{
	zk.ErrNoNode, zk.ErrNodeExists, zk.ErrBadVersion, zk.ErrNotEmpty, zk.ErrNoAuth, zk.ErrAuthFailed, zk.ErrInvalidACL,
	zk.ErrNoChildrenForEphemerals, zk.ErrAPIError, zk.ErrBadArguments, zk.ErrInvalidPath, zk.ErrShortBuffer,
}

// Answered reports whether an error means that the request was refused. After any other error the request may or may
// not have been done.
func Answered(err error) bool {
	code := Code(err)
	return code != 0 && !slices.Contains(silentCodes, code) ||
		slices.ContainsFunc(answers, func(a error) bool { return errors.Is(err, a) })
}

// Code returns the number of an answer for which the library has no error, or 0 for any other error. It parses the
// library's message, because the library does not return the number.
func Code(err error) (code int) {
	switch err := err.(type) {
	case nil:
		return 0
	case interface{ Unwrap() error }:
		return Code(err.Unwrap())
	case interface{ Unwrap() []error }:
		for _, part := range err.Unwrap() {
			if code := Code(part); code != 0 {
				return code
			}
		}
		return 0
	}
	if n, _ := fmt.Sscanf(err.Error(), "unknown error: %d", &code); n != 1 {
		return 0
	}
	return code
}
