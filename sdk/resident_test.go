package sdk_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"
)

// TestRuns checks the answers to the runs of one process.
func TestRuns(t *testing.T) {
	forEachLanguage(t, func(t *testing.T, l language) {
		p := l.resident(t)
		wanted := map[string]string{
			"fail no such file": "no such file",
			"show x":            `j 1/3 "own" "x" j@-@1@-@READY@-@a@-@u e 2026-07-01T12:00:00.005Z NORMAL_TRIGGER 2 map[color:red]`,
		}
		for parameter, want := range wanted {
			p.run(parameter, parameter)
			if failure, _ := p.done(parameter); !strings.Contains(failure, want) {
				t.Errorf("%q: the run's error is %q, want %q", parameter, failure, want)
			}
		}
		p.expectAlive()
		for _, want := range wanted {
			if !strings.Contains(p.errors.String(), want) {
				t.Errorf("its stderr has no %q: %s", want, p.errors)
			}
		}
	})
}

// TestPanics checks that a panic fails its run with the stack, and that the process continues.
func TestPanics(t *testing.T) {
	t.Parallel()
	p := golang.resident(t)
	for parameter, want := range map[string][]string{
		"panic boom": {"panic: boom\n\n", "sdk_test.panicHere", "main_test.go:"},
		"index":      {"panic: runtime error: index out of range", "sdk_test.job", "main_test.go:"},
		"goexit":     {"runtime.Goexit"},
	} {
		p.run(parameter, parameter)
		failure, _ := p.done(parameter)
		for _, part := range want {
			if !strings.Contains(failure, part) {
				t.Errorf("%q: the run's error is %q, want %q", parameter, failure, part)
			}
		}
	}
	p.expectAlive()
	for _, text := range []string{"main_test.go:", "the run has failed: panic: boom\n"} {
		if !strings.Contains(p.errors.String(), text) {
			t.Errorf("its stderr has no %q: %s", text, p.errors)
		}
	}
}

// TestOneProcessHasManyRuns checks that the process keeps running between runs and ends with the stream.
func TestOneProcessHasManyRuns(t *testing.T) {
	forEachLanguage(t, func(t *testing.T, l language) {
		p := l.resident(t)
		for _, id := range []string{"a", "b"} {
			p.run(id, "")
			if failure, _ := p.done(id); failure != "" {
				t.Error(failure)
			}
		}
		p.run("c", "count")
		if failure, _ := p.done("c"); !strings.Contains(failure, "run 3 of process ") {
			t.Error(failure)
		}
		p.close(p.toProcess)
		p.expectExit(0)
	})
}

// TestOddMessages checks that the process ignores lines that are not messages, and messages of a later version.
func TestOddMessages(t *testing.T) {
	forEachLanguage(t, func(t *testing.T, l language) {
		for name, text := range map[string]string{
			"empty lines":        "\n\n\r\n",
			"space":              " \t ",
			"no text":            "\x00\xff\xfe\x80\n",
			"no JSON":            "run r1\n{\"type\":\n",
			"no objects":         "[]\n3\nnull\n\"run\"\n",
			"no type":            "{}\n{\"run\":\"r1\"}\n{\"type\":7}\n",
			"a later type":       `{"type":"pause","run":"r1","until":{"a":1}}` + "\n",
			"a run without id":   `{"type":"run"}` + "\n",
			"a cancel of no run": `{"type":"cancel"}` + "\n" + `{"type":"cancel","run":"r1","reason":"x"}` + "\n",
			"10 MB in a line":    strings.Repeat("x", 10<<20) + "\n",
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := l.resident(t)
				p.send(text)
				p.expectAlive()
			})
		}
		t.Run("fields of a later version", func(t *testing.T) {
			t.Parallel()
			p := l.resident(t)
			p.send(`{"type":"run","run":"r","deadline":{"a":[1]},"context":{"jobParameter":"fail seen","zone":"z"}}` +
				"\n")
			if failure, _ := p.done("r"); !strings.Contains(failure, "seen") {
				t.Errorf("%q", failure)
			}
			p.expectAlive()
		})
		t.Run("a run that can't be read", func(t *testing.T) {
			t.Parallel()
			p := l.resident(t)
			p.send(`{"type":"run","run":"r","fireTime":"yesterday"}` + "\n" + `{"type":"run","run":"s","context":[]}` +
				"\n")
			for _, id := range []string{"r", "s"} {
				if failure, _ := p.done(id); !strings.HasPrefix(failure, "read the run: ") {
					t.Errorf("%s: %q", id, failure)
				}
			}
			p.expectAlive()
		})
		t.Run("a run in pieces, and one cut off", func(t *testing.T) {
			t.Parallel()
			p := l.resident(t)
			line := runLine("r", "fail seen")
			p.send(line[:40])
			p.send(line[40:])
			if failure, _ := p.done("r"); !strings.Contains(failure, "seen") {
				t.Errorf("%q", failure)
			}
			p.send(line[:40])
			p.close(p.toProcess)
			p.expectExit(0)
		})
	})
}

// TestARunTooEarly checks that a second run is answered with an error, and that the current run continues.
func TestARunTooEarly(t *testing.T) {
	forEachLanguage(t, func(t *testing.T, l language) {
		p := l.resident(t)
		p.run("r1", "wait")
		p.expectBegun("r1")
		p.run("r2", "")
		if failure, _ := p.done("r2"); !strings.Contains(failure, "r1 was under way") {
			t.Errorf("%q", failure)
		}
		p.send(`{"type":"cancel","run":"r2","reason":"the wrong one"}` + "\n")
		p.send(`{"type":"cancel","run":"r1","reason":"it took longer than 60 s"}` + "\n")
		if failure, _ := p.done("r1"); !strings.Contains(failure,
			"cancelled by the executor: it took longer than 60 s") {
			t.Errorf("%q", failure)
		}
		p.expectAlive()
	})
}

// TestEndOfTheStream checks that a run continues to its end after the stream has ended.
func TestEndOfTheStream(t *testing.T) {
	forEachLanguage(t, func(t *testing.T, l language) {
		p, release := l.resident(t), filepath.Join(t.TempDir(), "release")
		p.run("r", "until "+release)
		p.expectBegun("r")
		p.close(p.toProcess)
		touch(t, release)
		if failure, _ := p.done("r"); failure != "" {
			t.Errorf("the run ended with %q", failure)
		}
		p.expectExit(0)
	})
}

// TestSIGTERM checks that SIGTERM ends the context of the current run, and that the process exits after it has answered
// that run.
func TestSIGTERM(t *testing.T) {
	forEachLanguage(t, func(t *testing.T, l language) {
		t.Run("in a run", func(t *testing.T) {
			t.Parallel()
			p := l.resident(t)
			p.run("r", "wait")
			p.expectBegun("r")
			p.signal(syscall.SIGTERM)
			if failure, _ := p.done("r"); !strings.Contains(failure, "terminated") {
				t.Errorf("%q", failure)
			}
			p.expectExit(0)
			if got := p.errors.String(); !strings.HasPrefix(got, "elasticjob: the run ended early: ") ||
				strings.Count(got, "\n") != 1 {
				t.Errorf("it wrote %s", got)
			}
		})
		t.Run("in a run that goes on, with the end of the stream", func(t *testing.T) {
			t.Parallel()
			p, release := l.resident(t), filepath.Join(t.TempDir(), "release")
			p.run("r", "ignore "+release)
			p.expectBegun("r")
			p.signal(syscall.SIGTERM)
			p.signal(syscall.SIGTERM) // a second one does not abort the run
			p.close(p.toProcess)
			touch(t, release)
			if failure, _ := p.done("r"); failure != "" {
				t.Errorf("%q", failure)
			}
			p.expectExit(0)
		})
		t.Run("between runs", func(t *testing.T) {
			t.Parallel()
			p := l.resident(t)
			p.signal(syscall.SIGTERM)
			p.expectExit(0)
		})
	})
}

// TestClosedPipes checks that the process exits when it answers a run that the executor no longer reads, and that
// nothing blocks.
func TestClosedPipes(t *testing.T) {
	forEachLanguage(t, func(t *testing.T, l language) {
		p := l.resident(t)
		p.close(p.fromProcess)
		p.run("r", "progress")
		if p.status() != 1 || !strings.Contains(p.errors.String(), "tell the executor how the run ended: ") {
			t.Errorf("status %d, %s", p.status(), p.errors)
		}

		p = l.resident(t)
		p.close(p.fromProcess, p.toProcess)
		if p.status() != 0 {
			t.Errorf("status %d, %s", p.status(), p.errors)
		}
	})
}

// TestProgressIsSent checks that progress messages are cut, that their rate is limited, and that the last one is sent
// before the end of the run.
func TestProgressIsSent(t *testing.T) {
	forEachLanguage(t, func(t *testing.T, l language) {
		p := l.resident(t)
		p.run("r", "progress")
		failure, last := p.done("r")
		if failure != "" || last.Fraction != 0.25 || last.Message != strings.Repeat("ü", 100) {
			t.Errorf("%q, %+v", failure, last)
		}
		p.run("storm", "storm")
		messages := 0
		for m := p.receive(); m.Type == "progress"; m = p.receive() {
			messages, last = messages+1, m
		}
		// At most five per second; without the limit there would be ten million.
		if messages < 2 || messages > 1000 || last.Fraction != 1 || last.Message != "all of it" {
			t.Errorf("%d messages, the last %+v", messages, last)
		}
		p.expectAlive()
	})
}

// TestLongErrors checks that errors are cut to the length that the executor keeps, and only after whole characters.
func TestLongErrors(t *testing.T) {
	forEachLanguage(t, func(t *testing.T, l language) {
		p := l.resident(t)
		p.run("r", "fail-long")
		if failure, _ := p.done("r"); len(failure) < 4095 || len(failure) > 4096 || !utf8.ValidString(failure) {
			t.Errorf("%d bytes", len(failure))
		}
		p.expectAlive()
	})
}

// TestWhatAJobPrints checks that a job's output goes to its own stdout and stderr.
func TestWhatAJobPrints(t *testing.T) {
	forEachLanguage(t, func(t *testing.T, l language) {
		p := l.resident(t)
		p.run("r1", "print")
		if failure, _ := p.done("r1"); failure != "" {
			t.Errorf("%q", failure)
		}
		p.expectAlive()
		if !strings.Contains(p.out.String(), "forged") || !strings.Contains(p.errors.String(), "99") {
			t.Errorf("printed: %q and %q", p.out, p.errors)
		}
	})
}

// TestChildrenHaveNoPipe checks that child processes get neither the descriptors of the pipe nor its variable.
func TestChildrenHaveNoPipe(t *testing.T) {
	forEachLanguage(t, func(t *testing.T, l language) {
		p := l.resident(t)
		p.run("r", "child")
		failure, _ := p.done("r")
		// The output of the child is a pipe. Java cannot change its own environment, so that the child has the
		// variable.
		if !strings.Contains(failure, "pipe=.") && l.name != java.name || !strings.Contains(failure, "pipe:[") {
			t.Errorf("%s", failure)
		}
		for _, fd := range []string{"3", "4"} {
			end, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", p.cmd.Process.Pid, fd))
			if err != nil || !strings.HasPrefix(end, "pipe:[") || strings.Contains(failure, end) {
				t.Errorf("descriptor %s is %s, %v; those of the child are\n%s", fd, end, err, failure)
			}
		}
		p.expectAlive()
	})
}

// TestAnUncaughtPanic checks that a panic in another goroutine ends the process with Go's own status and
// message.
func TestAnUncaughtPanic(t *testing.T) {
	t.Parallel()
	p := golang.resident(t)
	p.run("r", "stray-panic boom")
	if p.status() != 2 || !strings.Contains(p.errors.String(), "panic: boom") {
		t.Errorf("status %d: %s", p.status(), p.errors)
	}
}

// touch creates an empty file.
func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
