package executor_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// trial is a folder in which a user tries a package with executor run.
type trial struct {
	t   *testing.T
	dir string
}

func newTrial(t *testing.T, files map[string]string) trial {
	t.Helper()
	tr := trial{t, t.TempDir()}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(tr.dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return tr
}

// pack writes a package with bin/start.sh.
func (tr trial) pack(body string) {
	tr.t.Helper()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zip)
	body = "#!/bin/sh\n" + body
	err := archive.WriteHeader(&tar.Header{Name: "bin/start.sh", Mode: 0o755, Size: int64(len(body))})
	_, writes := io.WriteString(archive, body)
	if err := errors.Join(err, writes, archive.Close(), zip.Close(),
		os.WriteFile(filepath.Join(tr.dir, "app.tar.gz"), packed.Bytes(), 0o644)); err != nil {
		tr.t.Fatal(err)
	}
}

func (tr trial) command(args ...string) *exec.Cmd {
	c := exec.Command(binary, append([]string{"run"}, args...)...)
	c.Dir, c.Env = tr.dir, []string{"PATH=/usr/bin:/bin", "TMPDIR=" + tr.t.TempDir(), "SECRET=of the shell"}
	return c
}

// run returns the exit status and the output, and checks that nothing is left in TMPDIR.
func (tr trial) run(args ...string) (status int, stdout, stderr string) {
	tr.t.Helper()
	c := tr.command(args...)
	var out, log bytes.Buffer
	c.Stdout, c.Stderr = &out, &log
	if err := c.Run(); err != nil && c.ProcessState == nil {
		tr.t.Fatal(err)
	}
	tr.checkEmpty(c)
	return c.ProcessState.ExitCode(), out.String(), log.String()
}

// checkEmpty checks that a command has left nothing in its TMPDIR.
func (tr trial) checkEmpty(c *exec.Cmd) {
	tr.t.Helper()
	left, err := os.ReadDir(strings.TrimPrefix(c.Env[1], "TMPDIR="))
	if err != nil || len(left) > 0 {
		tr.t.Errorf("left: %v, %v", left, err)
	}
}

// A shard that is run manually has the same environment as on a cluster, and the program ends as the shard did.
func TestRunByHand(t *testing.T) {
	t.Parallel()
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	t.Cleanup(target.Close)
	const says = `echo "$ELASTICJOB_SHARDING_ITEM/$ELASTICJOB_SHARDING_TOTAL_COUNT $ELASTICJOB_SHARDING_PARAMETER $ELASTICJOB_JOB_PARAMETER $OWN$SECRET"
`
	const job = `{"jobName":"j","appName":"a","jobExecutionType":"TRANSIENT","shardingTotalCount":3,"cpuCount":1,"memoryMB":64,"shardingItemParameters":"0=a,1=b","jobParameter":"all","env":{"OWN":"own"}`
	for name, tt := range map[string]struct {
		script string
		job    string
		args   []string
		status int
		stdout string
		stderr string // a part of it
	}{
		"package":              {says, "", []string{"--app", "app.tar.gz", "--script", "bin/start.sh"}, 0, "0/1   \n", "item 0 of job job has finished"},
		"another shard":        {says, "", []string{"--app", "app.tar.gz", "--script", "bin/start.sh", "--item", "2", "--param", "p"}, 0, "2/3 p  \n", ""},
		"job":                  {says, job + "}", []string{"--app", "app.tar.gz", "--script", "bin/start.sh", "--job", "job.json", "--item", "1"}, 0, "1/3 b all own\n", ""},
		"parameter in place":   {says, job + "}", []string{"--app", "app.tar.gz", "--script", "bin/start.sh", "--job", "job.json", "--param", ""}, 0, "0/3  all own\n", ""},
		"arguments":            {`echo "$# $1"`, "", []string{"--app", "app.tar.gz", "--script", "bin/start.sh 'a b'"}, 0, "1 a b\n", ""},
		"arguments of the job": {`echo "$# $1"`, job + `,"props":{"script.command.line":"bin/start.sh 'a b'"}}`, []string{"--app", "app.tar.gz", "--job", "job.json"}, 0, "2 a b\n", ""},
		"script of the job":    {`exit 9`, job + `,"props":{"script.command.line":"sh -c 'echo own; exit 4'"}}`, []string{"--app", "app.tar.gz", "--job", "job.json"}, 4, "own\n", "has failed"},
		"a single script":      {"", "", []string{"--app", "single.sh"}, 0, "single\n", ""},
		"document of the app":  {says, "", []string{"--app", "app.json"}, 0, "0/1   \n", ""},
		"exit status":          {`echo why >&2; exit 3`, "", []string{"--app", "app.tar.gz", "--script", "bin/start.sh"}, 3, "", "why\nexecutor run: item 0 of job job has failed, after "},
		"signal":               {`kill -KILL $$`, "", []string{"--app", "app.tar.gz", "--script", "bin/start.sh"}, 137, "", "signal 9"},
		"much output":          {`head -c 3000000 /dev/zero | tr '\0' x`, "", []string{"--app", "app.tar.gz", "--script", "bin/start.sh"}, 0, strings.Repeat("x", 3_000_000), ""},
		"timeout":              {`sleep 60 & wait`, job + `,"timeoutSeconds":1}`, []string{"--app", "app.tar.gz", "--script", "bin/start.sh", "--job", "job.json"}, 124, "", "has timed out: it ran longer than timeoutSeconds, 1s"},
		"request":              {"", job + `,"props":{"http.url":"` + target.URL + `","http.method":"GET"}}`, []string{"--job", "job.json"}, 0, "HTTP/1.1 200 OK\n", "status 200"},
		"request that fails":   {"", job + `,"props":{"http.url":"` + target.URL + `","http.method":"PUT"}}`, []string{"--job", "job.json"}, 1, "HTTP/1.1 418 I'm a teapot\n", "answered 418"},
		"no such command":      {says, "", []string{"--app", "app.tar.gz", "--script", "bin/stort.sh"}, 125, "", "could not be started: "},
		"no package":           {"", "", []string{"--app", "not-there.zip"}, 125, "", "--app: stat "},
		"folder":               {"", "", []string{"--app", "."}, 125, "", "tar -czf"},
		"no archive":           {"", "", []string{"--app", "broken.tar.gz", "--script", "x"}, 125, "", "could not be started: "},
		"nothing":              {"", "", nil, 125, "", "--app is missing"},
		"no script":            {says, "", []string{"--app", "app.tar.gz"}, 125, "", "--script: is missing"},
		"script of a shell":    {says, "", []string{"--app", "app.tar.gz", "--script", "a | b"}, 125, "", "--script: "},
		"faulty job":           {says, `{"jobName":"j","shardingTotalCount":"three","cron":"x","typo":1}`, []string{"--app", "app.tar.gz", "--job", "job.json"}, 125, "", "shardingTotalCount: "},
		"all faults of a job":  {says, `{"jobName":"j","shardingTotalCount":"three","cron":"x","typo":1}`, []string{"--app", "app.tar.gz", "--job", "job.json"}, 125, "", "cron: "},
		"no job":               {says, `[]`, []string{"--app", "app.tar.gz", "--job", "job.json"}, 125, "", "--job job.json: "},
		"item beyond":          {says, job + "}", []string{"--app", "app.tar.gz", "--script", "bin/start.sh", "--job", "job.json", "--item", "3"}, 125, "", "--item 3: must be from 0 to 2"},
		"item below":           {says, "", []string{"--app", "app.tar.gz", "--script", "bin/start.sh", "--item", "-1"}, 125, "", "--item -1: must be from 0"},
		"unknown flag":         {says, "", []string{"--ap", "x"}, 125, "", "-ap"},
		"words without quotes": {says, "", []string{"--app", "app.tar.gz", "--script", "bin/start.sh", "-v", "x"}, 125, "", "-v"},
		"the last progress":    {`for i in 1 2 3; do echo '{"type":"progress","fraction":0.'$i',"message":"row '$i'"}' >&4; done`, "", []string{"--app", "app.tar.gz", "--script", "bin/start.sh"}, 0, "", "executor run: 30 %: row 3\n"},
		"what it ignores":      {`echo hi >&4`, "", []string{"--app", "app.tar.gz", "--script", "bin/start.sh"}, 0, "", "executor run: ignored on its pipe: the line hi is no message"},
		"deaf to the timeout":  {`trap '' TERM; while :; do sleep 0.01; done`, job + `,"timeoutSeconds":1,"killGraceSeconds":1}`, []string{"--app", "app.tar.gz", "--script", "bin/start.sh", "--job", "job.json"}, 124, "", "and was killed: ended by signal 9 (killed); it went on after SIGTERM"},
		"all":                  {says, job + "}", []string{"--app", "app.tar.gz", "--script", "bin/start.sh", "--job", "job.json", "--all"}, 0, "0/3 a all own\n1/3 b all own\n2/3  all own\n", "item 2 of job j has finished"},
		"all with parameters":  {says, job + "}", []string{"--app", "app.tar.gz", "--script", "bin/start.sh", "--job", "job.json", "--all", "--param", "1=p,2=q"}, 0, "0/3  all own\n1/3 p all own\n2/3 q all own\n", ""},
		"all with one":         {says, job + "}", []string{"--app", "app.tar.gz", "--script", "bin/start.sh", "--job", "job.json", "--all", "--param", "p"}, 0, "0/3 p all own\n1/3 p all own\n2/3 p all own\n", ""},
		"all that fail":        {`echo $ELASTICJOB_SHARDING_ITEM; exit $ELASTICJOB_SHARDING_ITEM`, job + "}", []string{"--app", "app.tar.gz", "--script", "bin/start.sh", "--job", "job.json", "--all"}, 1, "0\n1\n2\n", "item 2 of job j has failed"},
		"all and one":          {says, job + "}", []string{"--app", "app.tar.gz", "--script", "bin/start.sh", "--job", "job.json", "--all", "--item", "1"}, 125, "", "--item and --all: give one of them"},
		"help":                 {"", "", []string{"--help"}, 0, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTrial(t, map[string]string{"single.sh": "#!/bin/sh\necho single\n", "job.json": tt.job,
				"broken.tar.gz": "\x1f\x8bno"})
			tr.pack(tt.script)
			document := `{"appName":"a","appURL":"file://` + tr.dir + `/app.tar.gz","bootstrapScript":"bin/start.sh"}`
			if err := os.WriteFile(filepath.Join(tr.dir, "app.json"), []byte(document), 0o644); err != nil {
				t.Fatal(err)
			}
			status, stdout, stderr := tr.run(tt.args...)
			if name == "help" {
				if status != 0 || !strings.HasPrefix(stdout, "usage: executor run ") {
					t.Errorf("status %d, %q", status, stdout)
				}
				return
			}
			if status != tt.status || stdout != tt.stdout || !strings.Contains(stderr, tt.stderr) {
				t.Errorf("status %d, stdout %.300q, stderr %q; want %d, %.300q, %q", status, stdout, stderr, tt.status,
					tt.stdout, tt.stderr)
			}
		})
	}
}

// If root runs a shard manually without --run-as, a warning says that a server would run the job as another user.
func TestAsRootRunByHandSaysWhichUserAServerTakes(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	for user, want := range map[string]bool{"": true, "root": false, "nobody": false} {
		tr := newTrial(t, map[string]string{"single.sh": "#!/bin/sh\nid -un\n"})
		args := []string{"--app", "single.sh"}
		if user != "" {
			args = append(args, "--run-as", user)
		}
		_, _, stderr := tr.run(args...)
		if strings.Contains(stderr, "executor run: the job runs as root; a server that runs as root uses its --run-as") != want {
			t.Errorf("as %q: %q", user, stderr)
		}
	}
}

// Ctrl-C ends the shard as a kill does: the process has its grace period, and no process is left.
func TestRunByHandIsInterrupted(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, nil)
	tr.pack(`trap 'echo ends; exit 0' TERM
echo begins
sleep 60 & wait`)
	c := tr.command("--app", "app.tar.gz", "--script", "bin/start.sh")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	c.Stderr = &log
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	first := make([]byte, len("begins\n"))
	if _, err := io.ReadFull(out, first); err != nil || string(first) != "begins\n" {
		t.Fatalf("%q, %v", first, err)
	}
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(out)
	if err := errors.Join(err, ignoreExit(c.Wait())); err != nil {
		t.Fatal(err)
	}
	if string(rest) != "ends\n" || c.ProcessState.ExitCode() != 143 || !strings.Contains(log.String(), "was killed") {
		t.Errorf("status %d, %q, %q", c.ProcessState.ExitCode(), rest, log.String())
	}
	mustBeEmpty(t, c.Process.Pid)
	tr.checkEmpty(c)
}

func ignoreExit(err error) error {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil
	}
	return err
}

// With --keep the working directory is left, whether or not the process succeeded, and its path is printed.
func TestRunKeepsTheWorkingDirectory(t *testing.T) {
	t.Parallel()
	for _, status := range []int{0, 3, 124} {
		tr := newTrial(t, map[string]string{"job.sh": fmt.Sprintf(
			"#!/bin/sh\necho x >result.txt\n[ %[1]d != 124 ] || exec sleep 1000\nexit %[1]d\n", status),
			"job.json": `{"jobName":"j","appName":"a","jobExecutionType":"TRANSIENT","shardingTotalCount":1,"cpuCount":1,"memoryMB":64,"timeoutSeconds":1}`})
		c := tr.command("--app", "job.sh", "--script", "./job.sh", "--job", "job.json", "--keep")
		said, _ := c.CombinedOutput()
		_, at, _ := strings.Cut(strings.TrimSpace(string(said)), "its working directory is kept at ")
		if text, err := os.ReadFile(filepath.Join(at, "result.txt")); string(text) != "x\n" ||
			strings.Contains(at, "failed") || c.ProcessState.ExitCode() != status {
			t.Errorf("%s: %q, %v", said, text, err)
		}
	}
}
