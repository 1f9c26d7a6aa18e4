// Package pack brings an app's package onto the machine: it fetches, checks,
// unpacks and keeps it.
//
//	URL ──Download──▶ one file, sha256 known ──Unpack──▶ folder of a package ──▶ Store
//
// A package is a tar archive (plain, gz, bz2, xz or zst), a zip archive, or one
// file, script or program; its content decides, not its name. Unpacking goes
// through [os.Root], so nothing can leave the target folder, and is bounded by
// [Limits]. A [Store] keeps unpacked packages by content for all executors of an agent.
//
// An archive must be whole: one that lacks its end, whose checksums are wrong or that goes
// on after its compressed data has ended is refused, and so is a file that is no archive but
// named like one. What fails leaves nothing on the disk.
package pack

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Limits bound what a package may take. All of them are positive; Defaults are the ones to begin with.
type Limits struct {
	// Download is the size of the file, in bytes.
	Download int64
	// Bytes is the size of all files unpacked.
	Bytes int64
	// Files is the number of entries, implied folders included.
	Files int
	// Ratio is how many bytes one byte of the archive may become, checked above 64 MiB.
	Ratio int64
	// Name is the length of a path in bytes, Depth the number of its components.
	Name, Depth int
	// FirstByte is how long a server may take until it has sent a package's first byte, all tries together.
	FirstByte time.Duration
	// Check is how long a kept package is used before its server is asked whether it is still the same.
	Check time.Duration
	// Stall is how long a transfer may bring nothing before it counts as broken.
	Stall time.Duration
	// Rate is how many bytes a second a transfer brings at least, over each RateOver.
	Rate     int64
	RateOver time.Duration
	// Transfer is how long a download may take, all its tries together; Unpacking is the same of unpacking.
	Transfer, Unpacking time.Duration
	// Tries is how often a transfer is begun or resumed.
	Tries int
}

// Defaults are generous for real packages.
func Defaults() Limits {
	return Limits{
		Download: 4 << 30, Bytes: 16 << 30, Files: 200_000, Ratio: 250,
		Name: 1024, Depth: 64, FirstByte: 10 * time.Second, Check: 30 * time.Second, Stall: time.Minute, Rate: 1 << 10,
		RateOver: time.Minute, Transfer: time.Hour, Unpacking: 15 * time.Minute, Tries: 4,
	}
}

// Error is a package that can't be had. Its text says what was done to which URL, without a password or a query in it,
// and why it failed.
type Error struct {
	Phase string // wire.PhaseFetch or wire.PhaseUnpack
	URL   string
	// Unreachable is the URL's host with its port ([wire.HostPort]), if it was not reached: its name is unknown,
	// nothing accepts connections there, or no TLS comes about; else empty.
	Unreachable string
	// Unanswered is set if the host was reached, and had no good answer for the URL in time: 5xx, a connection
	// without an answer, or a late first byte.
	Unanswered bool
	Err        error
}

func (e *Error) Error() string {
	verb := "fetch"
	if e.Phase == wire.PhaseUnpack {
		verb = "unpack"
	}
	return fmt.Sprintf("%s %s: %v", verb, redact(e.URL), e.Err)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// unpackError is an error of what follows the fetch.
type unpackError struct{ error }

func (e unpackError) Unwrap() error { return e.error }

// explain makes an error an [*Error], or the context's cause if that has ended.
func explain(ctx context.Context, source Source, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	explained := &Error{Phase: wire.PhaseFetch, URL: source.URL, Err: err}
	var unpacking unpackError
	var silent unanswered
	switch {
	case errors.As(err, &unpacking):
		explained.Phase = wire.PhaseUnpack
	case errors.As(err, &silent) && silent.reached:
		explained.Unanswered = true
	case errors.As(err, &silent):
		explained.Unreachable = wire.HostPort(source.URL)
	}
	return explained
}
