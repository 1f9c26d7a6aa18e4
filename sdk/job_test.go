package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/sdk"
)

// TestDataflow checks which batches are processed, and with which error the run ends.
func TestDataflow(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	streaming := map[string]string{"streaming.process": "true"}
	for name, tc := range map[string]struct {
		props     map[string]string
		batches   [][]int // the results of fetch
		fetchErr  int     // the call of fetch that fails, from 1
		procErr   int     // the call of process that fails
		stopFetch int     // the call of fetch during which the context ends
		stopProc  int     // the same for process
		want      []int   // the processed items
		err       string
	}{
		"once":                          {batches: [][]int{{1, 2}, {3}}, want: []int{1, 2}},
		"nothing to do":                 {batches: [][]int{{}, {3}}},
		"streaming":                     {props: streaming, batches: [][]int{{1, 2}, {3}, {}, {4}}, want: []int{1, 2, 3}},
		"streaming in capital letters":  {props: map[string]string{"streaming.process": "TRUE"}, batches: [][]int{{1}, {2}}, want: []int{1, 2}},
		"not streaming":                 {props: map[string]string{"streaming.process": "false"}, batches: [][]int{{1}, {2}}, want: []int{1}},
		"fetch fails":                   {props: streaming, batches: [][]int{{1}, {2}}, fetchErr: 2, want: []int{1}, err: "fetch batch 2: broken"},
		"process fails":                 {props: streaming, batches: [][]int{{1}, {2}, {3}}, procErr: 2, want: []int{1}, err: "process batch 2, of 1 items: broken"},
		"ended while fetch got nothing": {batches: [][]int{{}}, stopFetch: 1, err: "stopped after 0 batches, with 0 items fetched: context canceled (enough)"},
		"ended between fetch and process": {props: streaming, batches: [][]int{{1}, {2, 3}, {4}}, stopFetch: 2, want: []int{1},
			err: "stopped after 1 batches, with 2 items fetched: context canceled (enough)"},
		"ended in process":        {props: streaming, batches: [][]int{{1}, {2}}, stopProc: 1, want: []int{1}, err: "stopped after 1 batches: context canceled (enough)"},
		"ended in the only batch": {batches: [][]int{{1}, {2}}, stopProc: 1, want: []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var got []int
			fetches, processes := 0, 0
			err := sdk.Dataflow(
				func(_ context.Context, s sdk.Shard) ([]int, error) {
					if s.Item != 2 {
						t.Errorf("fetch of shard %d", s.Item)
					}
					if fetches++; fetches == tc.stopFetch {
						cancel(errors.New("enough"))
					}
					if fetches == tc.fetchErr {
						return []int{7}, broken
					}
					if fetches > len(tc.batches) {
						return nil, nil
					}
					return tc.batches[fetches-1], nil
				},
				func(_ context.Context, _ sdk.Shard, batch []int) error {
					if processes++; processes == tc.procErr {
						return broken
					}
					got = append(got, batch...)
					if processes == tc.stopProc {
						cancel(errors.New("enough"))
					}
					return nil
				}).Run(ctx, sdk.Shard{Item: 2, Total: 3, Props: tc.props})
			if !slices.Equal(got, tc.want) {
				t.Errorf("processed %v, want %v", got, tc.want)
			}
			if text := fmt.Sprint(err); text != tc.err && (err != nil || tc.err != "") {
				t.Errorf("the run ended with %q, want %q", text, tc.err)
			}
			if strings.HasSuffix(tc.err, "broken") && !errors.Is(err, broken) {
				t.Errorf("%v does not wrap the error of the function", err)
			}
		})
	}
}

// TestRunCatchesAll checks that Run returns an error, and the process continues, if a job's function is missing,
// panics, ends its goroutine or returns an error.
func TestRunCatchesAll(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		job  sdk.Job
		want string
	}{
		"no function":  {sdk.Job{}, "make it with sdk.Simple or sdk.Dataflow"},
		"nil function": {sdk.Simple(nil), "make it with sdk.Simple or sdk.Dataflow"},
		"nil panic":    {sdk.Simple(func(context.Context, sdk.Shard) error { panic(nil) }), "panic called with nil argument"},
		"goexit":       {sdk.Simple(func(context.Context, sdk.Shard) error { runtime.Goexit(); return nil }), "runtime.Goexit"},
		"panic in panic": {sdk.Simple(func(context.Context, sdk.Shard) error {
			defer func() { panic("second") }()
			panic("first")
		}), "panic: second"},
		"a value that panics": {sdk.Simple(func(context.Context, sdk.Shard) error { panic(panickingError{}) }), "PANIC=Error method: nasty"},
		"an error":            {sdk.Simple(func(context.Context, sdk.Shard) error { return context.Canceled }), "context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := tc.job.Run(t.Context(), sdk.Shard{}); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the run ended with %v, want %q", err, tc.want)
			}
		})
	}
}

// panickingError is an error whose Error panics.
type panickingError struct{}

func (panickingError) Error() string { panic("nasty") }

// TestTheContextEndsWithTheRun checks that the context ends with the run, so that goroutines that a job has left
// running can stop.
func TestTheContextEndsWithTheRun(t *testing.T) {
	t.Parallel()
	var runContext context.Context
	if err := sdk.Simple(func(ctx context.Context, _ sdk.Shard) error { runContext = ctx; return nil }).Run(t.Context(),
		sdk.Shard{}); err != nil {
		t.Fatal(err)
	}
	<-runContext.Done()
}
