package sdk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// The exit statuses, which the package comment describes.
const (
	statusOK     = 0
	statusFailed = 1
	statusFlags  = 2
)

// Main runs the job and then exits the program with os.Exit. So it does not return, and its caller's deferred
// functions do not run. Call Main in main before any other process is started, so that no other process inherits the
// executor's pipe. Resources that the job keeps between runs may be opened before the call.
//
// Main reads the program's arguments only without an executor. With an executor the program may read them itself. They
// are the arguments of the job's command line, followed by the sharding context if the job has a script.command.line.
func Main(job Job) { os.Exit(start(job)) }

// start runs the job in the way that applies, and returns the exit status.
func start(job Job) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	pipe, hasPipe := os.LookupEnv(pipeVariable)
	hasContext := os.Getenv(contextVariable) != "" || os.Getenv(contextVariable+fileSuffix) != ""
	if hasPipe {
		in, out, err := openPipe(pipe)
		if err == nil {
			// Child processes must not use the pipe.
			if err := os.Unsetenv(pipeVariable); err != nil {
				return reportFailure(err)
			}
			if err := (&resident{job: job, in: in, to: out, log: os.Stderr}).serve(ctx); err != nil {
				return reportFailure(err)
			}
			return statusOK
		}
		if !hasContext {
			return reportFailure(err)
		}
		// The executor has started another program, such as sudo, which has closed the pipe and started this one. A
		// single run works without the pipe.
		fmt.Fprintf(os.Stderr, "elasticjob: %v; this process is one run, without progress\n", err)
	}
	if hasContext {
		shard, err := readEnvironment(os.Getenv)
		if err == nil {
			err = job.Run(ctx, shard)
		}
		if err != nil {
			return reportFailure(err)
		}
		return statusOK
	}
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process
	return standalone{name: filepath.Base(os.Args[0]), job: job, out: os.Stdout, log: os.Stderr}.start(ctx,
		os.Args[1:])
}

// reportFailure writes an error to standard error, and returns the exit status of a failure.
func reportFailure(err error) int {
	what := "elasticjob"
	if endedEarly(err) {
		what += ": the run ended early"
	}
	writeFailure(os.Stderr, what, err)
	return statusFailed
}

// openPipe opens the two descriptors that the executor passes to this process, such as "3,4". Child processes do not
// inherit them.
func openPipe(text string) (in, out *os.File, err error) {
	var ends []*os.File
	for number := range strings.SplitSeq(text, ",") {
		fd, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return nil, nil, fmt.Errorf("%s is %q, must be two numbers of descriptors: 3,4", pipeVariable, text)
		}
		closeOnExec(int(fd))
		end := os.NewFile(uintptr(fd), "the executor's pipe")
		if info, err := end.Stat(); err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
			noPipe := fmt.Errorf("%s is %q, and descriptor %d is not a pipe", pipeVariable, text, fd)
			return nil, nil, errors.Join(noPipe, err)
		}
		ends = append(ends, end)
	}
	if len(ends) != 2 {
		return nil, nil, fmt.Errorf("%s is %q, must be two numbers of descriptors: 3,4", pipeVariable, text)
	}
	return ends[0], ends[1], nil
}
