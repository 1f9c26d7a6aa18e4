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

// silentCodes are answers of servers that did not look at the request: the connection was lost behind them, it took
// too long, or they have too much to do.
var silentCodes = []int{-4, -7, -122, -127}

// answers are the errors of the library that are a server's answer, or that no server was asked. After any other
// nobody knows what became of a request, or it was not looked at and may be sent again.
var answers = []error{
	zk.ErrNoNode, zk.ErrNodeExists, zk.ErrBadVersion, zk.ErrNotEmpty, zk.ErrNoAuth, zk.ErrAuthFailed, zk.ErrInvalidACL,
	zk.ErrNoChildrenForEphemerals, zk.ErrAPIError, zk.ErrBadArguments, zk.ErrInvalidPath, zk.ErrShortBuffer,
}

// Answered reports whether the error is a server's answer, and not silence: what was asked for was
// looked at and not done.
func Answered(err error) bool {
	code := Code(err)
	return code != 0 && !slices.Contains(silentCodes, code) ||
		slices.ContainsFunc(answers, func(a error) bool { return errors.Is(err, a) })
}

// Code is the number of an answer for which the library has no error, and 0 for any other error. The library gives it
// in words only.
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
