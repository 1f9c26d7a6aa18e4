package sdk_test

import (
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestAWorkerFromTheProtocolAlone runs the example in Python, which was written from protocol.md alone.
func TestAWorkerFromTheProtocolAlone(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatalf("%v: install python3", err)
	}
	worker := func(t *testing.T) *process {
		t.Helper()
		p := golang.program(t, nil)
		p.cmd.Path, p.cmd.Args = python, []string{"python3", "../examples/python-resident/worker.py", "the context"}
		return p.resident()
	}
	t.Run("runs, and the end of the stream", func(t *testing.T) {
		t.Parallel()
		p := worker(t)
		for _, id := range []string{"a", "b"} {
			p.run(id, "")
			if failure, last := p.done(id); failure != "" || last.Fraction != 1 || last.Message != "5 of 5 steps" {
				t.Errorf("run %s: %q, %+v", id, failure, last)
			}
		}
		p.send(`{"type":"run","run":"bad","context":{}}` + "\n")
		if failure, _ := p.done("bad"); !strings.Contains(failure, "KeyError: 'shardingItem'") {
			t.Errorf("%q", failure)
		}
		p.send(`{"type":"cancel","run":"b","reason":"too late"}` + "\n")
		p.close(p.toProcess)
		p.expectExit(0)
		if got := p.out.String(); strings.Count(got, ": shard 1 of 3\n") != 2 ||
			!strings.HasPrefix(got, "run 1 of process ") {
			t.Errorf("it printed %q", got)
		}
	})
	t.Run("SIGTERM in a run", func(t *testing.T) {
		t.Parallel()
		p := worker(t)
		p.run("a", "")
		p.receive() // it has begun
		p.signal(syscall.SIGTERM)
		if failure, _ := p.done("a"); !strings.Contains(failure, "InterruptedError") {
			t.Errorf("%q", failure)
		}
		p.expectExit(0)
	})
	t.Run("SIGTERM between runs", func(t *testing.T) {
		t.Parallel()
		p := worker(t)
		p.run("a", "")
		p.done("a")
		p.signal(syscall.SIGTERM)
		p.close(p.toProcess) // as executors do; the signal does not end a read that Python enters just after it
		p.expectExit(0)
	})
}

// TestPython checks what is special about the SDK for Python.
func TestPython(t *testing.T) {
	t.Parallel()
	t.Run("errors", func(t *testing.T) {
		t.Parallel()
		p := python.resident(t)
		for parameter, want := range map[string]string{
			"cause":  `RuntimeError: no connection \(job.py:\d+\)\ncaused by: ConnectionError: refused \(job.py:\d+\)$`,
			"place":  `RuntimeError \(job.py:`,
			"parse":  `json.decoder.JSONDecodeError: .* \(job.py:\d+\)$`,
			"exit 3": `the job called sys.exit\(3\)$`,
			"exit 0": "$",
			"fork":   "RuntimeError: status 15, cancelled False",
		} {
			p.run(parameter, parameter)
			if failure, _ := p.done(parameter); !regexp.MustCompile("^" + want).MatchString(failure) {
				t.Errorf("%s: %q, want %q", parameter, failure, want)
			}
		}
		p.expectAlive()
	})
	t.Run("the exit status that the job sets", func(t *testing.T) {
		t.Parallel()
		python.program(t, nil, executorEnv("exit 7")...).start().expectExit(7)
	})
	t.Run("the syntax of Python 3.6", func(t *testing.T) {
		t.Parallel()
		const check = `import ast, sys; ast.parse(open(sys.argv[1]).read(), feature_version=(3, 6))`
		command := exec.Command(programPath(t, "python3"), "-c", check, "python/elasticjob.py")
		if output, err := command.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, output)
		}
	})
}
