package tasks

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/elasticjob-go/elasticjob/executor/daemon"
	"github.com/elasticjob-go/elasticjob/executor/httpcall"
	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/executor/output"
)

// requestRunner executes a shard's runs by HTTP requests.
type requestRunner struct {
	*shard
	output        io.Writer
	cancelRequest context.CancelCauseFunc // cancels the current request; nil if there is none
}

func newRequestRunner(s *shard) (runner, error) {
	if _, err := launch.ShardContext(s.spec); err != nil {
		return nil, err
	}
	output, err := s.requestOutput()
	if err != nil {
		return nil, err
	}
	return &requestRunner{shard: s, output: output}, nil
}

func (r *requestRunner) ready() bool { return true }

func (r *requestRunner) start(run daemon.Run) {
	spec := r.specOf(&run)
	ctx, cancel := context.WithCancelCause(r.ctx) // a kill of the task cancels the request
	r.cancelRequest = cancel
	r.started()
	r.waiting.Go(func() {
		shard, err := launch.ShardContext(spec)
		request, requestErr := r.request(spec)
		if err = cmp.Or(err, requestErr); err == nil {
			_, err = httpcall.Do(ctx, request, shard, r.output)
		}
		cancel(nil)
		r.post(func() {
			r.cancelRequest = nil
			if err == nil {
				r.finished(daemon.Result{})
				return
			}
			r.finished(daemon.Result{Cause: output.Readable(err.Error(), output.CauseLength)})
		})
	})
}

func (r *requestRunner) cancel(reason string) {
	if r.cancelRequest != nil {
		r.cancelRequest(errors.New(reason))
	}
}

func (r *requestRunner) stop() { r.cancel("ended") }

func (r *requestRunner) active() bool { return r.cancelRequest != nil }
