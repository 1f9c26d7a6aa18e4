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

// Exit statuses: see the package's comment.
const (
	statusOK     = 0
	statusFailed = 1
	statusFlags  = 2
)

// Main runs the job as the program's whole purpose, and ends the program: it doesn't return, and deferred functions of
// its caller are not run. Call it in main before anything that starts other processes, so that none of them inherits
// the executor's pipe. What the job keeps from run to run can be opened before.
//
// Only without an executor does it read the program's arguments. With one the program may read them itself: those of
// the job's command line, and after them, where the job has a script.command.line, the sharding context.
func Main(job Job) { os.Exit(start(job)) }

func start(job Job) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	pipe, piped := os.LookupEnv(pipeVariable)
	executed := os.Getenv(contextVariable) != "" || os.Getenv(contextVariable+fileSuffix) != ""
	if piped {
		in, out, err := openPipe(pipe)
		if err == nil {
			// A program that this one starts has no pipe.
			if err := os.Unsetenv(pipeVariable); err != nil {
				return failed(err)
			}
			if err := (&resident{job: job, in: in, to: out, log: os.Stderr}).serve(ctx); err != nil {
				return failed(err)
			}
			return statusOK
		}
		if !executed {
			return failed(err)
		}
		// What starts this program for the executor, sudo for example, has closed the pipe. Its one run doesn't need
		// it.
		fmt.Fprintf(os.Stderr, "elasticjob: %v; this process is one run, without progress\n", err)
	}
	if executed {
		shard, err := readEnvironment(os.Getenv)
		if err == nil {
			err = job.Run(ctx, shard)
		}
		if err != nil {
			return failed(err)
		}
		return statusOK
	}
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process
	return alone{name: filepath.Base(os.Args[0]), job: job, out: os.Stdout, log: os.Stderr}.start(ctx, os.Args[1:])
}

func failed(err error) int {
	writeFailure(os.Stderr, "elasticjob", err)
	return statusFailed
}

// openPipe opens both ends that the executor left open for this process: "3,4". No process that this one starts
// inherits them.
func openPipe(text string) (in, out *os.File, err error) {
	var ends []*os.File
	for number := range strings.SplitSeq(text, ",") {
		fd, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return nil, nil, fmt.Errorf("%s is %q, want two numbers of descriptors: 3,4", pipeVariable, text)
		}
		closeOnExec(int(fd))
		end := os.NewFile(uintptr(fd), "the executor's pipe")
		if info, err := end.Stat(); err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
			return nil, nil, errors.Join(fmt.Errorf("%s is %q, and descriptor %d is no pipe", pipeVariable, text, fd),
				err)
		}
		ends = append(ends, end)
	}
	if len(ends) != 2 {
		return nil, nil, fmt.Errorf("%s is %q, want two numbers of descriptors: 3,4", pipeVariable, text)
	}
	return ends[0], ends[1], nil
}
