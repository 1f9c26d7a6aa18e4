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

// version is the newest version of protocol.md that this SDK speaks.
const version = 1

// progressEvery is how often a run's progress is sent to the executor at most, which passes on the last of each
// second.
const progressEvery = 200 * time.Millisecond

// maxError bounds the error of a run, in bytes: the executor keeps no more of it.
const maxError = 4096

// What this process says.
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

// order is what the executor says: type "run" or "cancel".
type order struct {
	Type, Run, Reason string
	line              []byte
}

// resident runs a job as often as its executor says, one run at a time.
type resident struct {
	job Job
	in  io.Reader
	log io.Writer // standard error

	out sync.Mutex // for to
	to  io.Writer

	run    string                  // the run under way, "" without one
	cancel context.CancelCauseFunc // its
	said   *progress               // its
	ended  chan error              // its end
}

// serve runs until the stream has ended, or ctx, and the run under way has been answered. Its error says that the
// executor can't be talked to.
func (r *resident) serve(ctx context.Context) error {
	if err := r.say(helloMessage{"hello", version, "elasticjob-go, " + runtime.Version()}); err != nil {
		return fmt.Errorf("say hello to the executor: %w", err)
	}
	orders, over := make(chan order), make(chan struct{})
	defer close(over)
	go r.listen(orders, over) // ends with the stream, or the process
	ending := ctx.Done()
	for last := false; !last || r.run != ""; {
		select {
		case o, more := <-orders:
			if !more {
				orders, last = nil, true
			} else if err := r.obey(ctx, o); err != nil {
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

// listen reads orders until the stream ends. What is no message is skipped: an executor of a later version may say
// what this one doesn't know.
func (r *resident) listen(orders chan<- order, over <-chan struct{}) {
	defer close(orders)
	lines := bufio.NewReader(r.in)
	complained := false
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if !errors.Is(err, io.EOF) {
				r.logf("read from the executor: %v; the program ends after the run under way", err)
			}
			return
		}
		var o order
		if err := json.Unmarshal(line, &o); err != nil {
			if !complained {
				r.logf("a line from the executor is no message of the protocol, and is left out, as are others: %v",
					err)
			}
			complained = true
			continue
		}
		o.line = line
		select {
		case orders <- o:
		case <-over:
			return
		}
	}
}

func (r *resident) obey(ctx context.Context, o order) error {
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
	said := &progress{every: progressEvery, send: func(fraction float64, message string) {
		// An executor that is gone is noticed at the run's end.
		_ = r.say(progressMessage{"progress", run, fraction, message})
	}}
	shard.progress = said
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan error, 1)
	r.run, r.cancel, r.said, r.ended = run, cancel, said, ended
	go func() { ended <- r.job.Run(ctx, shard) }()
}

// answer ends the run under way.
func (r *resident) answer(result error) error {
	r.cancel(nil)
	r.said.close()
	done := doneMessage{Type: "done", Run: r.run}
	if result != nil {
		done.Error = cut(result.Error(), maxError)
		writeFailure(r.log, "elasticjob: the run has failed", result)
	}
	r.run, r.cancel, r.said, r.ended = "", nil, nil, nil
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
