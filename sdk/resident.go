package sdk

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"
)

// version is the latest version of protocol.md that this SDK implements.
const version = 1

// progressInterval is the minimum interval between two progress messages to the executor. The executor forwards the
// last one of each second.
const progressInterval = 200 * time.Millisecond

// maxError is the maximum length of a run's error, in bytes. The executor keeps no more.
const maxError = 4096

// These are the messages of this process.
type (
	helloMessage struct {
		Type    string `json:"type"`
		Version int    `json:"version"`
		SDK     string `json:"sdk"`
	}
	progressMessage struct {
		Type     string  `json:"type"`
		Run      string  `json:"run"`
		Fraction float64 `json:"fraction"`
		Message  string  `json:"message,omitempty"`
	}
	doneMessage struct {
		Type  string `json:"type"`
		Run   string `json:"run"`
		Error string `json:"error,omitempty"`
	}
)

// message is a message of the executor, of type "run" or "cancel".
type message struct {
	Type, Run, Reason string
	line              []byte
}

// resident runs a job when the executor's messages request it, one run at a time.
type resident struct {
	job Job
	in  io.Reader
	log io.Writer // standard error

	out sync.Mutex // guards to
	to  io.Writer

	run      string                  // the current run, "" for none
	cancel   context.CancelCauseFunc // cancels the current run
	progress *progress               // the progress of the current run
	ended    chan error              // receives the result of the current run
}

// serve handles messages until the stream or ctx ends, and then waits for the current run and sends its result. It
// returns an error only if it cannot write to the executor.
func (r *resident) serve(ctx context.Context) error {
	if err := r.say(helloMessage{"hello", version, "elasticjob-go, " + runtime.Version()}); err != nil {
		return fmt.Errorf("say hello to the executor: %w", err)
	}
	messages, done := make(chan message), make(chan struct{})
	defer close(done)
	go r.listen(messages, done) // ends with the stream or the process
	ending := ctx.Done()
	for last := false; !last || r.run != ""; {
		select {
		case o, more := <-messages:
			if !more {
				messages, last = nil, true
			} else if err := r.handle(ctx, o); err != nil {
				return err
			}
		case err := <-r.ended:
			if err := r.answer(err); err != nil {
				return err
			}
		case <-ending:
			ending, last = nil, true
		}
	}
	return nil
}

// listen reads messages until the stream ends. It skips lines that it cannot parse, because an executor of a later
// version may send messages that this version does not know.
func (r *resident) listen(messages chan<- message, done <-chan struct{}) {
	defer close(messages)
	lines := bufio.NewReader(r.in)
	warned := false
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if !errors.Is(err, io.EOF) {
				r.logf("read from the executor: %v; the program ends after the run under way", err)
			}
			return
		}
		var o message
		if err := json.Unmarshal(line, &o); err != nil {
			if !warned {
				r.logf("lines from the executor that are not messages of the protocol are ignored: %v",
					err)
			}
			warned = true
			continue
		}
		o.line = line
		select {
		case messages <- o:
		case <-done:
			return
		}
	}
}

func (r *resident) handle(ctx context.Context, o message) error {
	switch {
	case o.Type == "cancel" && o.Run == r.run && r.run != "":
		r.cancel(errors.New("cancelled by the executor: " + o.Reason))
	case o.Type != "run":
	case o.Run == "":
		r.logf("a run without an id can't be answered, and is left out")
	case r.run != "":
		return r.say(doneMessage{"done", o.Run,
			"it came while run " + r.run + " was under way: a process has one run at a time"})
	default:
		shard, err := readRun(o.line)
		if err != nil {
			return r.say(doneMessage{"done", o.Run, cut("read the run: "+err.Error(), maxError)})
		}
		r.begin(ctx, o.Run, shard)
	}
	return nil
}

func (r *resident) begin(ctx context.Context, run string, shard Shard) {
	reports := &progress{every: progressInterval, send: func(fraction float64, message string) {
		// A failure is reported at the end of the run, when the answer can't be written either.
		_ = r.say(progressMessage{"progress", run, fraction, message})
	}}
	shard.progress = reports
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan error, 1)
	r.run, r.cancel, r.progress, r.ended = run, cancel, reports, ended
	go func() { ended <- r.job.Run(ctx, shard) }()
}

// answer reports the result of the current run and ends it.
func (r *resident) answer(result error) error {
	r.cancel(nil)
	r.progress.close()
	done := doneMessage{Type: "done", Run: r.run}
	if result != nil {
		done.Error = cut(result.Error(), maxError)
		what := "elasticjob: the run has failed"
		if endedEarly(result) {
			what = "elasticjob: the run ended early"
		}
		writeFailure(r.log, what, result)
	}
	r.run, r.cancel, r.progress, r.ended = "", nil, nil, nil
	if err := r.say(done); err != nil {
		return fmt.Errorf("tell the executor how the run ended: %w", err)
	}
	return nil
}

func (r *resident) say(message any) error {
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	r.out.Lock()
	defer r.out.Unlock()
	_, err = r.to.Write(append(line, '\n'))
	return err
}

func (r *resident) logf(format string, args ...any) {
	fmt.Fprintf(r.log, "elasticjob: "+format+"\n", args...)
}
