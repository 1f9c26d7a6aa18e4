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

// These are the exit statuses; the package's comment describes them.
const (
	statusOK     = 0
	statusFailed = 1
	statusFlags  = 2
)

// Main runs the job and then exits the program with os.Exit, so it does not return, and deferred functions of its
// caller are not run. Call it in main before anything that starts other processes, so that none of them inherits the
// executor's pipe. Resources that the job keeps between runs may be opened before the call.
//
// Main reads the program's arguments only without an executor. With an executor the program may read them itself: they
// are those of the job's command line, followed by the sharding context if the job has a script.command.line.
func Main(job Job) { os.Exit(start(job)) }

func start(job Job) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	pipe, piped := os.LookupEnv(pipeVariable)
	executed := os.Getenv(contextVariable) != "" || os.Getenv(contextVariable+fileSuffix) != ""
	if piped {
		in, out, err := openPipe(pipe)
		if err == nil {
			// Child processes get no pipe.
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
		// A program that starts this one for the executor, such as sudo, has closed the pipe. A single run works
		// without it.
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
	return standalone{name: filepath.Base(os.Args[0]), job: job, out: os.Stdout, log: os.Stderr}.start(ctx,
		os.Args[1:])
}

func failed(err error) int {
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
			return nil, nil, errors.Join(fmt.Errorf("%s is %q, and descriptor %d is not a pipe", pipeVariable, text,
				fd),
				err)
		}
		ends = append(ends, end)
	}
	if len(ends) != 2 {
		return nil, nil, fmt.Errorf("%s is %q, must be two numbers of descriptors: 3,4", pipeVariable, text)
	}
	return ends[0], ends[1], nil
}
