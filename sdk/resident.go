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

// The messages of this process.
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

	writing sync.Mutex // guards to
	to      io.Writer

	run      string                  // the current run, "" for none
	cancel   context.CancelCauseFunc // cancels the current run
	progress *progress               // the progress of the current run
	ended    chan error              // receives the result of the current run
}

// serve handles messages until the stream or ctx ends. Then it waits for the current run and sends its result. It
// returns an error only if it cannot write to the executor.
func (r *resident) serve(ctx context.Context) error {
	if err := r.send(helloMessage{"hello", version, "elasticjob-go, " + runtime.Version()}); err != nil {
		return fmt.Errorf("say hello to the executor: %w", err)
	}
	messages, done := make(chan message), make(chan struct{})
	defer close(done)
	go r.listen(messages, done) // ends with the stream or the process
	contextDone := ctx.Done()
	for ending := false; !ending || r.run != ""; {
		select {
		case m, open := <-messages:
			if !open {
				messages, ending = nil, true
			} else if err := r.handle(ctx, m); err != nil {
				return err
			}
		case result := <-r.ended:
			if err := r.answer(result); err != nil {
				return err
			}
		case <-contextDone:
			contextDone, ending = nil, true
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
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			if !warned {
				r.logf("lines from the executor that are not messages of the protocol are ignored: %v",
					err)
			}
			warned = true
			continue
		}
		m.line = line
		select {
		case messages <- m:
		case <-done:
			return
		}
	}
}

// handle handles a message of the executor. It ignores messages of other types, and cancellations of other runs. If it
// can't begin a run, it answers the run with an error, or only logs it if the run has no id.
func (r *resident) handle(ctx context.Context, m message) error {
	switch {
	case m.Type == "cancel" && m.Run == r.run && r.run != "":
		r.cancel(errors.New("cancelled by the executor: " + m.Reason))
	case m.Type != "run":
	case m.Run == "":
		r.logf("a run without an id can't be answered, and is left out")
	case r.run != "":
		return r.send(doneMessage{"done", m.Run,
			"it came while run " + r.run + " was under way: a process has one run at a time"})
	default:
		shard, err := readRun(m.line)
		if err != nil {
			return r.send(doneMessage{"done", m.Run, cut("read the run: "+err.Error(), maxError)})
		}
		r.begin(ctx, m.Run, shard)
	}
	return nil
}

// begin starts a run of the shard, with the id run.
func (r *resident) begin(ctx context.Context, run string, shard Shard) {
	reports := &progress{interval: progressInterval, send: func(fraction float64, message string) {
		// serve returns this error at the end of the run, when it can't write the answer either.
		_ = r.send(progressMessage{"progress", run, fraction, message})
	}}
	shard.progress = reports
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan error, 1)
	r.run, r.cancel, r.progress, r.ended = run, cancel, reports, ended
	go func() { ended <- r.job.Run(ctx, shard) }()
}

// answer sends the result of the current run, which has ended, to the executor. Then there is no current run.
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
	if err := r.send(done); err != nil {
		return fmt.Errorf("tell the executor how the run ended: %w", err)
	}
	return nil
}

// send sends a message to the executor.
func (r *resident) send(message any) error {
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	_, err = r.to.Write(append(line, '\n'))
	return err
}

func (r *resident) logf(format string, args ...any) {
	fmt.Fprintf(r.log, "elasticjob: "+format+"\n", args...)
}
