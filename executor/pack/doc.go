// Package pack fetches an app's package, checks it, unpacks it and keeps it.
//
//	URL ──Download──▶ one file, sha256 known ──Unpack──▶ folder of a package ──▶ Store
//
// A package is a tar archive (plain, gz, bz2, xz or zst), a zip archive, or one file, such as a script or a program.
// Its content shows which, not its name. Unpacking goes through [os.Root], so that no file gets out of the target
// folder, and is limited by [Limits]. A [Store] keeps unpacked packages by content, for all executors of an agent.
//
// An archive must be complete: it is refused if its end is missing, if a checksum is wrong, or if data follows its
// compressed data. A file that has the name of an archive but is not one is refused too. A failure leaves no file on
// the disk.
package pack

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Limits limits a package and its fetch. All fields must be positive. Defaults returns the default values.
type Limits struct {
	// Download is the maximum size of the file, in bytes.
	Download int64
	// Bytes is the maximum size of all unpacked files.
	Bytes int64
	// Files is the maximum number of entries, including implied folders.
	Files int
	// Ratio is the maximum number of unpacked bytes per byte of the archive, checked above 64 MiB.
	Ratio int64
	// Name is the maximum length of a path in bytes, and Depth is the maximum number of its components.
	Name, Depth int
	// FirstByte is the maximum time until a server has sent a package's first byte, over all attempts.
	FirstByte time.Duration
	// Check is how long a kept package is used before its server is asked whether it has changed.
	Check time.Duration
	// Stall is how long a transfer may receive no data before it counts as broken.
	Stall time.Duration
	// Rate is the minimum number of bytes per second of a transfer, over each RateOver.
	Rate     int64
	RateOver time.Duration
	// Transfer is the maximum time of a download, over all attempts. Unpacking is the maximum time of unpacking.
	Transfer, Unpacking time.Duration
	// Tries is how many attempts a transfer has, including resumptions.
	Tries int
}

// Defaults returns limits that are generous for real packages.
func Defaults() Limits {
	return Limits{
		Download: 4 << 30, Bytes: 16 << 30, Files: 200_000, Ratio: 250,
		Name: 1024, Depth: 64, FirstByte: 10 * time.Second, Check: 30 * time.Second, Stall: time.Minute, Rate: 1 << 10,
		RateOver: time.Minute, Transfer: time.Hour, Unpacking: 15 * time.Minute, Tries: 4,
	}
}

// Error is a failure to fetch or unpack a package. Its text contains the URL without a password or a query, and the
// reason.
type Error struct {
	Phase string // wire.PhaseFetch or wire.PhaseUnpack
	URL   string
	// Unreachable is the URL's host with its port ([wire.HostPort]) if the host was not reached, because its name is
	// unknown, it accepts no connection at the port, or the TLS handshake fails. Otherwise Unreachable is empty.
	Unreachable string
	// Unanswered means that the host was reached, but did not answer properly in time: status 5xx, a connection
	// without an answer, or a late first byte.
	Unanswered bool
	Err        error
}

// Error returns a text that users may see, without secrets of the URL.
func (e *Error) Error() string {
	verb := "fetch"
	if e.Phase == wire.PhaseUnpack {
		verb = "unpack"
	}
	return fmt.Sprintf("%s %s: %v", verb, redact(e.URL), e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// unpackError is an error of a step after the fetch.
type unpackError struct{ error }

func (e unpackError) Unwrap() error { return e.error }

// explain wraps an error in an [*Error]. If ctx has ended, it returns ctx's cause instead.
func explain(ctx context.Context, source Source, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	explained := &Error{Phase: wire.PhaseFetch, URL: source.URL, Err: err}
	var unpacking unpackError
	var noAnswer unanswered
	switch {
	case errors.As(err, &unpacking):
		explained.Phase = wire.PhaseUnpack
	case errors.As(err, &noAnswer) && noAnswer.reached:
		explained.Unanswered = true
	case errors.As(err, &noAnswer):
		explained.Unreachable = wire.HostPort(source.URL)
	}
	return explained
}
