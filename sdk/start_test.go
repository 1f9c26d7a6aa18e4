package sdk_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// executorEnv returns the environment of a process that an executor starts for one run.
func executorEnv(parameter string) []string {
	return []string{
		"ELASTICJOB_SHARDING_CONTEXT=" + fmt.Sprintf(sharding, parameter),
		"ELASTICJOB_FIRE_TIME=2026-07-01T12:00:00.005Z", "ELASTICJOB_EXECUTION_ID=e",
		"ELASTICJOB_EXECUTION_SOURCE=FAILOVER", "ELASTICJOB_ATTEMPT=2", `ELASTICJOB_PROPS={"color":"red"}`,
	}
}

// inFiles replaces the variables whose values can be long by those with the paths of files.
func inFiles(t *testing.T, env []string) (in []string) {
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		if name == "ELASTICJOB_SHARDING_CONTEXT" || name == "ELASTICJOB_PROPS" {
			path := filepath.Join(t.TempDir(), "value")
			if err := os.WriteFile(path, []byte(value), 0o600); err != nil {
				t.Fatal(err)
			}
			variable = name + "_FILE=" + path
		}
		in = append(in, variable)
	}
	return in
}

// TestOneRun checks that the exit status is the result of a run without a pipe, and that stderr contains the failure.
func TestOneRun(t *testing.T) {
	forEachLanguage(t, func(t *testing.T, l language) {
		for name, tc := range map[string]struct {
			env    []string
			args   []string
			status int
			want   string // in stderr
		}{
			"a success": {env: executorEnv("")},
			"values in files": {env: inFiles(t, executorEnv("show x")), status: 1,
				want: `j 1/3 "own" "x" j@-@1@-@READY@-@a@-@u e 2026-07-01T12:00:00.005Z FAILOVER 2 map[color:red]` + "\n"},
			"a file that is missing": {env: []string{"ELASTICJOB_SHARDING_CONTEXT_FILE=/no/such"}, status: 1,
				want: "elasticjob: read the file that ELASTICJOB_SHARDING_CONTEXT_FILE names: "},
			"an executor's command": {env: executorEnv(""), args: []string{"--table", "t", "{}"}},
			"a failure":             {env: executorEnv("fail no such file"), status: 1, want: ": no such file\n"},
			"all values": {env: executorEnv("show 中文"), status: 1,
				want: `j 1/3 "own" "中文" j@-@1@-@READY@-@a@-@u e 2026-07-01T12:00:00.005Z FAILOVER 2 map[color:red]` + "\n"},
			"no context": {env: []string{"ELASTICJOB_SHARDING_CONTEXT=x"}, status: 1,
				want: "elasticjob: read ELASTICJOB_SHARDING_CONTEXT \"x\": "},
			"a wrong variable": {env: append(executorEnv(""), "ELASTICJOB_ATTEMPT=two"), status: 1,
				want: "elasticjob: read ELASTICJOB_ATTEMPT \"two\": "},
			"a pipe that something has closed": {env: append(executorEnv(""), "ELASTICJOB_PIPE=33,34"),
				want: "this process is one run, without progress\n"},
			"no numbers": {env: append(executorEnv(""), "ELASTICJOB_PIPE=3"),
				want: "this process is one run, without progress\n"},
			"a pipe that is closed, and no executor": {env: []string{"ELASTICJOB_PIPE=33,34"}, status: 1,
				want: "elasticjob: ELASTICJOB_PIPE is \"33,34\", and descriptor 33 is not a pipe"},
			"descriptors that are no pipe, and no executor": {env: []string{"ELASTICJOB_PIPE=0,0"}, status: 1,
				want: "ELASTICJOB_PIPE is \"0,0\", and descriptor 0 is not a pipe\n"},
			"a pipe that is named wrongly, and no executor": {env: []string{"ELASTICJOB_PIPE=x"}, status: 1,
				want: "ELASTICJOB_PIPE is \"x\", must be two numbers of descriptors: 3,4\n"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := l.program(t, tc.args, tc.env...).start()
				p.expectExit(tc.status)
				if got := p.errors.String(); !strings.Contains(got, tc.want) || tc.want == "" && got != "" ||
					p.out.String() != "" {
					t.Errorf("it wrote %q and %q, want %q", p.out, got, tc.want)
				}
			})
		}
		t.Run("SIGTERM", func(t *testing.T) {
			t.Parallel()
			for _, how := range []string{"", "checked", "wrapped"} {
				p := l.program(t, nil, executorEnv("tell "+how)...).start()
				p.waitForStderr("begun")
				p.signal(syscall.SIGTERM)
				p.expectExit(1)
				early, found := strings.CutPrefix(p.errors.String(), "begun\nelasticjob: the run ended early: ")
				if !found || !strings.Contains(early, "terminated") || strings.Count(early, "\n") != 1 {
					t.Errorf("it wrote %s", p.errors)
				}
			}
		})
	})
}

// TestFailuresOfOneRun checks that the failure is the last line of stderr, below the stack of a panic.
func TestFailuresOfOneRun(t *testing.T) {
	t.Parallel()
	for parameter, want := range map[string]string{
		"fail no such file": "elasticjob: no such file\n",
		"panic boom":        "elasticjob: panic: boom\n",
		"goexit":            "returned nothing\n",
	} {
		t.Run(parameter, func(t *testing.T) {
			t.Parallel()
			p := golang.program(t, nil, executorEnv(parameter)...).start()
			p.expectExit(1)
			if got := p.errors.String(); !strings.HasSuffix(got, want) {
				t.Errorf("it wrote %q, want %q at the end", got, want)
			}
		})
	}
}

// TestOneRunWithAPipe checks that a program that sends no hello is one run, and reports its progress.
func TestOneRunWithAPipe(t *testing.T) {
	t.Parallel()
	for _, l := range languages {
		if l.name == golang.name {
			continue // its processes are always resident
		}
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			p := l.program(t, nil, append(executorEnv("progress"), jobVariable+"_ONE_RUN=1")...).piped()
			if m := p.receive(); m.Type != "progress" || m.Run != "" || m.Fraction != 0.25 ||
				m.Message != strings.Repeat("ü", 100) {
				t.Errorf("%+v", m)
			}
			p.expectExit(0)
		})
	}
}

// TestAlone checks the output for a user at a terminal.
func TestAlone(t *testing.T) {
	forEachLanguage(t, alone)
}

func alone(t *testing.T, l language) {
	for args, tc := range map[string]struct {
		status int
		want   []string // of stderr; of stdout with --help
	}{
		"--item 0":                          {0, []string{"shard 0 of 1: finished after "}},
		"--item=2 --total 3":                {0, []string{"shard 2 of 3: finished after "}},
		"--all --total 3 --job-param count": {1, []string{"shard 0 of 3: failed after ", ": run 1 of process", "shard 2 of 3: failed after ", ": run 3 of process"}},
		"--item 0 --job-param fail":         {1, []string{"shard 0 of 1: failed after "}},
		"--item 0 --job-param progress":     {0, []string{"shard 0 of 1: 25.0 % üüü"}},
		"--item 1 --total 2 --param p --job-param show --prop a=b=c --prop d=": {1, []string{`1/2 "p" "" `, `@-@1@-@READY@-@local@-@`, "TRIGGER 1 map[a:b=c d:]"}},

		"--all --total 2 --param p --job-param show":                {1, []string{`0/2 "p"`, `1/2 "p"`}},
		"--all --total 2 --param 0=a,1=b --job-param show":          {1, []string{`0/2 "a"`, `1/2 "b"`}},
		"--all --total 2 --param 0=a,b --job-param show":            {1, []string{`0/2 "0=a,b"`, `1/2 "0=a,b"`}},
		"--all --total 3 --item-params 2=c,0=a --job-param show":    {1, []string{`0/3 "a"`, `1/3 ""`, `2/3 "c"`}},
		"--item 1 --total 2 --item-params 0=a,1=b --job-param show": {1, []string{`1/2 "b"`}},
		"--item 0 --param 0=a --job-param show":                     {1, []string{`0/1 "0=a"`}},

		"--item 0 --item-params 0=a,x":         {2, []string{"--item-params 0=a,x: must be a list of ITEM=TEXT: 0=A,1=B"}},
		"--item 0 --item-params 0=a,0=b":       {2, []string{"--item-params 0=a,0=b: must be a list"}},
		"--item 0 --item-params 0=a=b":         {2, []string{"--item-params 0=a=b: must be a list"}},
		"--item 0 --item-params 0=":            {2, []string{"--item-params 0=: must be a list"}},
		"--all --total 2 --item-params 2=c":    {2, []string{"--item-params 2=c: with --total 2 there are the shards 0 to 1"}},
		"--all --total 2 --param 2=c":          {2, []string{"--param 2=c: with --total 2 there are the shards 0 to 1"}},
		"--item 0 --item-params 0=a --param b": {2, []string{"--param and --item-params: give one of them"}},

		"--help":                       {0, []string{"usage: ", "--item N", "--item-params LIST", "--prop NAME=VALUE"}},
		"":                             {2, []string{"give --item N, the shard to run, or --all"}},
		"--item x":                     {2, []string{"item"}},
		"--itme 3":                     {2, []string{"itme"}},
		"--item 3 --total 3":           {2, []string{"--item 3: with --total 3 there are the shards 0 to 2"}},
		"--item -1":                    {2, []string{"--item -1: with --total 1 there are the shards 0 to 0"}},
		"--item 0 --all":               {2, []string{"--item and --all: give one of them"}},
		"--total 0 --all --prop a foo": {2, []string{"--total 0: must be 1 or more", "--prop a: must be NAME=VALUE", `"foo" is not a flag`}},
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			p := l.program(t, strings.Fields(args)).start()
			p.expectExit(tc.status)
			got := p.errors.String() + p.out.String()
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("it wrote %q, want %q", got, want)
				}
			}
		})
	}
	t.Run("Ctrl-C", func(t *testing.T) {
		t.Parallel()
		p := l.program(t, strings.Fields("--all --total 3 --job-param wait")).start()
		p.waitForStderr("begun")
		p.signal(syscall.SIGINT)
		p.expectExit(1)
		if got := p.errors.String(); !strings.HasSuffix(got, l.interrupted) || strings.Contains(got, "shard 1") ||
			!strings.Contains(got, "shard 0 of 3: ended early after ") || strings.Count(got, "\n") != 2 {
			t.Errorf("it wrote %s", got)
		}
	})
	t.Run("Ctrl-C twice", func(t *testing.T) {
		t.Parallel()
		p := l.program(t, append(strings.Fields("--item 0 --job-param"), "ignore "+os.DevNull+"/none")).start()
		p.waitForStderr("begun")
		// The second signal counts only after the first was handled.
		for running := true; running; {
			select {
			case <-p.exited:
				running = false
			case <-time.After(5 * time.Millisecond):
				_ = p.cmd.Process.Signal(syscall.SIGINT) // it may have ended meanwhile
			}
		}
		if got := p.cmd.ProcessState.String(); got != "signal: interrupt" && got != "exit status 130" {
			t.Errorf("it ended with %s", got)
		}
	})
}
