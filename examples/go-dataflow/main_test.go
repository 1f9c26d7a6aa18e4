package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/elasticjob-go/elasticjob/sdk"
)

// TestEachFileIsCountedOnce: shards that run concurrently count each file once, also after a shard was killed while
// counting and the job has fewer shards.
func TestEachFileIsCountedOnce(t *testing.T) {
	t.Parallel()
	spool := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(spool, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const files = 300
	for i := range files {
		put(fmt.Sprint("in/", i), "two words\n")
	}
	put("taken/1/left", "one two three")
	put("taken/5/orphan", "one")
	put("partial/left", "half of")
	var all sync.WaitGroup
	for item := range 3 {
		all.Go(func() {
			job := sdk.Dataflow(fetch, process)
			if err := job.Run(t.Context(),
				sdk.Shard{Item: item, Total: 3, JobParameter: spool,
					Props: map[string]string{"streaming.process": "true"}}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	done, err := os.ReadDir(filepath.Join(spool, "done"))
	if err != nil || len(done) != files+2 {
		t.Errorf("%d files are done, want %d, %v", len(done), files+2, err)
	}
	for name, want := range map[string]string{"0": "2\n", "299": "2\n", "left": "3\n", "orphan": "1\n"} {
		if got, err := os.ReadFile(filepath.Join(spool, "done", name)); string(got) != want || err != nil {
			t.Errorf("%s has %q words, %v, want %q", name, got, err, want)
		}
	}
	for _, folder := range []string{"in/*", "taken/*/*", "partial/*"} {
		if left, err := filepath.Glob(filepath.Join(spool, folder)); len(left) != 0 || err != nil {
			t.Errorf("left: %v, %v", left, err)
		}
	}
	if err := sdk.Dataflow(fetch, process).Run(t.Context(), sdk.Shard{Total: 1}); err == nil {
		t.Error("a job without a parameter runs")
	}
}
