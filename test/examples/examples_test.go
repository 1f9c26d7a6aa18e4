package examples_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

func TestWordcount(t *testing.T) {
	r := follow(t)
	said, e := r.example("wordcount")
	for _, want := range []string{"shard 0 of 3, theme sea: 4 of the texts", "theme land", "theme sky"} {
		if got := r.wrote(e); !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	if !strings.Contains(said, `"jobName":"wordcount"`) {
		t.Errorf("its runs are listed as %s", said)
	}
}

func TestGoSimple(t *testing.T) {
	r := follow(t)
	said, e := r.example("go-simple")
	const want = "shard 0 of 3: 3569 primes from 0 to 33332\nshard 1 of 3: 3076 primes from 33333 to 66665\nshard 2 of 3: 2947 primes from 66666 to 99999\n"
	if got := r.wrote(e); got != want {
		t.Errorf("the cluster says %s", got)
	}
	for line := range strings.Lines(want) {
		if !strings.Contains(said, line) {
			t.Errorf("alone the program says %s, want %s", said, line)
		}
	}
}

func TestGoDataflow(t *testing.T) {
	r := follow(t)
	_, e := r.example("go-dataflow")
	texts, spool := names(t, filepath.Join(r.clone, "examples/wordcount/texts")), filepath.Join(r.tmp, "spool")
	if done := names(t, filepath.Join(spool, "done")); !slices.Equal(done, texts) ||
		len(names(t, filepath.Join(spool, "in"))) != 0 {
		t.Errorf("done: %q, want %q", done, texts)
	}
	if n := strings.Count(r.wrote(e), " counted "); n != len(texts) {
		t.Errorf("%d files were counted, want %d", n, len(texts))
	}
}

func TestPythonScript(t *testing.T) {
	r := follow(t)
	_, e := r.example("python-script")
	if got := r.wrote(e); !regexp.MustCompile(
		`^shard 0 of 2: \d old files removed\nshard 1 of 2: \d old files removed\n$`).MatchString(got) {
		t.Errorf("it wrote %q", got)
	}
	if left := names(t, filepath.Join(r.tmp, "to-clean")); !slices.Equal(left, []string{"new"}) {
		t.Errorf("left: %q", left)
	}
}

func TestPythonResidentRunsOnce(t *testing.T) {
	r := follow(t)
	_, e := r.example("python-resident")
	if got := r.wrote(e); !regexp.MustCompile(
		`^run 1 of process \d+: shard 0 of 2\nrun 1 of process \d+: shard 1 of 2\n$`).MatchString(got) {
		t.Errorf("it wrote %q", got)
	}
}

func TestPythonFencing(t *testing.T) {
	r := follow(t)
	_, e := r.example("python-fencing")
	if got := r.wrote(e); got != "shard 0 of 2: 50 orders booked\nshard 1 of 2: 50 orders booked\n" {
		t.Errorf("it wrote %q", got)
	}
	folder := filepath.Join("examples", "python-fencing")
	stale := r.types(folder, r.blocks(filepath.Join(folder, "README.md"))[1])
	if !strings.Contains(stale, "with token 1, ends") || !strings.Contains(stale, "it booked nothing") {
		t.Errorf("an attempt with an older token says %q", stale)
	}
}

func TestPythonBatch(t *testing.T) {
	r := follow(t)
	folder := filepath.Join("examples", "python-batch")
	blocks := r.blocks(filepath.Join(folder, "README.md"))
	const sums = "shard 0 of 3: 13499250.00\nshard 1 of 3: 13502250.00\nshard 2 of 3: 13505250.00\n"
	said := r.types(folder, blocks[0])
	for line := range strings.Lines(sums) {
		if !strings.Contains(said, line) {
			t.Errorf("alone it says %s, want %s", said, line)
		}
	}
	if got := r.wrote(r.triggered(r.types(folder, blocks[1]))); got != sums {
		t.Errorf("it wrote %q, want %q", got, sums)
	}
}

// java types these blocks of the README of java-simple. It returns all that they wrote, and the last run that they
// triggered once it has finished.
func (r *reader) java(blocks ...int) (said string, e system.Execution) {
	r.Helper()
	folder := filepath.Join("examples", "java-simple")
	all := r.blocks(filepath.Join(folder, "README.md"))
	for _, i := range blocks {
		said += r.types(folder, all[i])
	}
	found := executionID.FindAllStringSubmatch(said, -1)
	if len(found) == 0 {
		r.Fatalf("nothing was triggered: %s", said)
	}
	return said, r.Await(found[len(found)-1][1], "FINISHED")
}

func TestJavaSimple(t *testing.T) {
	r := follow(t)
	said, e := r.java(0, 1)
	if want := "to customer 11: pay the invoice\n"; !strings.Contains(said, want) {
		t.Errorf("alone it says %s, want %s", said, want)
	}
	const want = "Item: 0 | north: 10 open orders | SIMPLE\nItem: 1 | south: 10 open orders | SIMPLE\n" +
		"Item: 2 | west: 10 open orders | SIMPLE\n"
	if got := r.wrote(e); got != want {
		t.Errorf("it wrote %q, want %q", got, want)
	}
}

func TestJavaDataflow(t *testing.T) {
	r := follow(t)
	_, e := r.java(0, 1, 2)
	if got := r.wrote(e); strings.Count(got, " | DATAFLOW\n") != 9 ||
		!strings.Contains(got, "[order 24 (north), order 27 (north)]") {
		t.Errorf("it wrote %q", got)
	}
}

func TestJavaBroadcast(t *testing.T) {
	r := follow(t)
	_, e := r.java(0, 1, 3)
	if got := r.wrote(e); strings.Count(got, ": pay the invoice\n") != 12 {
		t.Errorf("it wrote %q", got)
	}
}

// TestWriteAJob types the blocks about Go, except the one about daemons.
func TestWriteAJob(t *testing.T) {
	r := follow(t)
	blocks := r.inGo()
	if len(blocks) != 3 {
		t.Fatalf("there are %d blocks, want 3", len(blocks))
	}
	said := r.types("", blocks[0])
	const rows = "row 0\nrow 3\nrow 6\nrow 1\nrow 4\nrow 7\nrow 2\nrow 5\nrow 8\n"
	// Lines about its progress, on standard error, occur between the rows if it runs for long.
	if wrote := regexp.MustCompile(`(?m)^shard .*\n`).ReplaceAllString(said, ""); !strings.Contains(wrote, rows) ||
		!strings.Contains(said, "shard 2 of 3: finished after") {
		t.Errorf("alone it says %s, want %q and that shard 2 of 3 finished", said, rows)
	}
	if got := r.wrote(r.triggered(r.types("", blocks[1]))); got != rows {
		t.Errorf("it wrote %q, want %q", got, rows)
	}
}
