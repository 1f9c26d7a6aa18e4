package wire_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

const aRecord = "\x1b_elasticjob;{\"report\":{\"v\":1,\"time\":\"2026-05-01T12:00:02Z\",\"tasks\":[{\"taskId\":\"t\"}]}}\x1b\\\n"

// split returns the text and the records of an output that arrives in parts of the given size.
func split(output string, size int) (string, []wire.PodRecord) {
	var o wire.PodOutput
	var text []byte
	var records []wire.PodRecord
	for part := range slices.Chunk([]byte(output), size) {
		more, found := o.Next(part)
		text, records = append(text, more...), append(records, found...)
	}
	return string(append(text, o.End()...)), records
}

// TestPodOutput checks that the job's output comes out unchanged, and the records separately, wherever the output is
// cut.
func TestPodOutput(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		output, text string
		records      int
	}{
		"nothing":                      {"", "", 0},
		"no record":                    {"a\nb\n", "a\nb\n", 0},
		"between lines":                {"a\n" + aRecord + "b\n", "a\nb\n", 1},
		"in the middle of a line":      {"a" + aRecord + "b\n", "ab\n", 1},
		"only records":                 {aRecord + aRecord, "", 2},
		"colours beside it":            {"\x1b[1mbold\x1b[0m" + aRecord + "\x1b", "\x1b[1mbold\x1b[0m\x1b", 1},
		"escape before it":             {"\x1b" + aRecord, "\x1b", 1},
		"a status":                     {"\x1b_elasticjob;{\"status\":{\"v\":1}}\x1b\\\n", "", 1},
		"a later field":                {"\x1b_elasticjob;{\"status\":{\"v\":1,\"later\":{}},\"later\":1}\x1b\\\n", "", 1},
		"cut off":                      {"a" + aRecord[:40], "a" + aRecord[:40], 0},
		"without its newline":          {"a" + strings.TrimSpace(aRecord), "a" + strings.TrimSpace(aRecord), 0},
		"broken JSON":                  {"\x1b_elasticjob;{\"status\":\x1b\\\nb", "\x1b_elasticjob;{\"status\":\x1b\\\nb", 0},
		"no version":                   {"\x1b_elasticjob;{\"status\":{}}\x1b\\\n", "\x1b_elasticjob;{\"status\":{}}\x1b\\\n", 0},
		"empty":                        {"\x1b_elasticjob;{}\x1b\\\n", "\x1b_elasticjob;{}\x1b\\\n", 0},
		"another program's command":    {"\x1b_other;{}\x1b\\\n" + aRecord, "\x1b_other;{}\x1b\\\n", 1},
		"a newline within":             {"\x1b_elasticjob;{\n" + aRecord, "\x1b_elasticjob;{\n", 1},
		"unfinished, then a whole one": {"\x1b_elasticjob;{" + aRecord, "\x1b_elasticjob;{", 1},
		"too long, then a whole one":   {"\x1b_elasticjob;" + strings.Repeat("a", 2*wire.MaxPodRecord) + aRecord, "\x1b_elasticjob;" + strings.Repeat("a", 2*wire.MaxPodRecord), 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{1, 2, 3, 7, 50, 1 << 20} {
				text, records := split(test.output, size)
				if text != test.text || len(records) != test.records {
					t.Errorf("in parts of %d: got %q and %d records, want %q and %d", size, text, len(records),
						test.text, test.records)
				}
			}
		})
	}
}

// TestPodRecordRoundTrip checks that a record is read back, and fits into one atomic write to a pipe, however long its
// cause is.
func TestPodRecordRoundTrip(t *testing.T) {
	t.Parallel()
	exit := 3
	at := time.Date(2026, 5, 1, 12, 0, 2, 0, time.UTC)
	run := wire.Run{Number: 7, Fire: at, State: wire.RunFailed, ExitStatus: &exit, Cause: "exit status 3"}
	for name, want := range map[string]wire.PodRecord{
		"status": {Status: &wire.Status{Version: 1, Phase: wire.PhaseRun, Cause: "a\nb\x1b", Run: &run, Totals: &wire.Totals{Runs: 7}}},
		"report": {Report: &wire.Report{Version: 1, Time: at, Tasks: []wire.TaskReport{{TaskID: "t", Progress: &wire.Progress{Fraction: 0.5, Message: "half\n", At: at}}}}},
	} {
		data, err := want.Encode()
		if err != nil {
			t.Fatal(name, err)
		}
		text, records := split("a"+string(data)+"b", 5)
		if diff := cmp.Diff([]wire.PodRecord{want}, records); text != "ab" || diff != "" {
			t.Errorf("%s: %q %s", name, text, diff)
		}
	}
	run.Cause = "exit status 3:\n" + strings.Repeat("<é>\x00", 5000) + "\nthe last line"
	data, err := wire.PodRecord{Status: &wire.Status{Run: &run}}.Encode()
	if err != nil || len(data) > wire.MaxPodRecord || len(data) < wire.MaxPodRecord-100 {
		t.Fatal(len(data), err)
	}
	_, records := split(string(data), 1000)
	if len(records) != 1 {
		t.Fatalf("%d records in %q", len(records), data)
	}
	got := records[0].Status.Run.Cause
	if !strings.HasPrefix(got, "exit status 3:\n") || !strings.HasSuffix(got, "\nthe last line") ||
		!utf8.ValidString(got) || strings.ContainsRune(got, utf8.RuneError) {
		t.Errorf("cause %q", got)
	}
	if len(run.Cause) < 20000 {
		t.Error("the run was changed")
	}
	if data, err := (wire.PodRecord{Report: &wire.Report{Tasks: make([]wire.TaskReport, 1000)}}).Encode(); err == nil {
		t.Errorf("a report of %d bytes was written", len(data))
	}
}

// TestStatusWithin checks that only the causes of a status are shortened, and that the result is valid JSON at any
// length.
func TestStatusWithin(t *testing.T) {
	t.Parallel()
	status := wire.Status{Version: 1, Phase: wire.PhaseRun, Cause: "exit status 1:\n" + strings.Repeat("é\"", 3000)}
	for _, limit := range []int{60, 80, 500, 4096, 1 << 20} {
		data, err := status.EncodeWithin(limit)
		if err != nil || len(data) > limit {
			t.Fatal(limit, len(data), err)
		}
		if got, ok := wire.DecodeStatus(data); !ok || got.Phase != wire.PhaseRun ||
			limit == 1<<20 && got.Cause != status.Cause {
			t.Errorf("%d: got %s", limit, data)
		}
	}
	if data, err := status.EncodeWithin(10); err == nil {
		t.Errorf("a status within 10 bytes: %s", data)
	}
}

// FuzzPodOutput checks that text comes out unchanged, whatever the output contains and wherever it is cut.
func FuzzPodOutput(f *testing.F) {
	f.Add("a\n"+aRecord+"b", 3, 1)
	f.Add("\x1b_elasticjob;{\"status\":{\"v\":1}}\x1b\\\n\x1b_elasticjob;", 5, 30)
	f.Add("\x1b_elasticjob;{\x1b\\\n", 2, 4)
	f.Fuzz(func(t *testing.T, output string, size, at int) {
		size, at = max(1, size), min(max(0, at), len(output))
		text, records := split(output, size)
		whole, wholeRecords := split(output, max(1, len(output)))
		if diff := cmp.Diff(wholeRecords, records); text != whole || diff != "" {
			t.Errorf("in parts of %d: %q, in one: %q %s", size, text, whole, diff)
		}
		if len(records) == 0 && text != output || len(text) > len(output) {
			t.Errorf("text %q of %q", text, output)
		}
		if !bytes.ContainsRune([]byte(output), '\x1b') {
			text, records = split(output[:at]+aRecord+output[at:], size)
			if text != output || len(records) != 1 {
				t.Errorf("with a record at %d: %q and %d records", at, text, len(records))
			}
		}
	})
}
