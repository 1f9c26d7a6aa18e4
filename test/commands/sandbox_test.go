package commands

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/eventually"
	"github.com/elasticjob-go/elasticjob/test/internal/child"
)

// sandbox is the machine of a reader who follows one document.
type sandbox struct {
	testing.TB
	dir, clone string
	text       *strings.Replacer // replaces texts of the document by those of this machine
	env        []string
	terminals  []*child.Process // for commands that keep running
}

// addresses are the addresses in the documents.
var addresses = []string{"127.0.0.1:8899", "127.0.0.1:8900", "127.0.0.1:8080", "127.0.0.1:8090", "127.0.0.1:5050",
	"127.0.0.1:2181"}

// newSandbox copies the cloned parts of the repository, and shares the folder bin of master.
func newSandbox(t testing.TB, master string) *sandbox {
	t.Helper()
	s := &sandbox{TB: t, dir: t.TempDir()}
	t.Cleanup(s.ends)
	s.clone = filepath.Join(s.dir, "clone")
	for _, part := range cloned {
		copyTree(t, filepath.Join(root, part), filepath.Join(s.clone, part))
	}
	if err := os.Symlink(filepath.Join(master, "bin"), filepath.Join(s.clone, "bin")); err != nil {
		t.Fatal(err)
	}
	ports, err := child.FreePorts(len(addresses))
	if err != nil {
		t.Fatal(err)
	}
	var pairs []string
	for i, address := range addresses {
		pairs = append(pairs, address, fmt.Sprint("127.0.0.1:", ports[i]))
	}
	listen := fmt.Sprint("127.0.0.1:", ports[0])
	pairs = append(pairs,
		"clientPort=2181", fmt.Sprint("clientPort=", ports[5]),
		"local-cluster ", fmt.Sprint("local-cluster --listen 127.0.0.1:", ports[4], " "),
		"./serve .", fmt.Sprint("./serve -listen 127.0.0.1:", ports[2], " ."),
		"make run", "make --silent --old-file=build run", // bin belongs to this commit, and is shared
		"make build", "true",
		"/tmp/", filepath.Join(s.dir, "tmp")+"/")
	s.text = strings.NewReplacer(pairs...)
	home := filepath.Join(s.dir, "home")
	for _, folder := range []string{home, filepath.Join(s.dir, "tmp")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// With these settings curl exits with a status for errors that documents' commands do not handle.
	s.write(filepath.Join(home, ".curlrc"), "fail-with-body\nsilent\nshow-error\n")
	s.write(s.state(), "cd "+s.clone+"\n")
	s.env = append(goEnvironment(t), "PATH="+filepath.Join(s.clone, "bin")+":"+os.Getenv("PATH"), "HOME="+home,
		"TMPDIR="+filepath.Join(s.dir, "tmp"), "ZOO_LOG_DIR="+s.dir,
		"ELASTICJOB_LISTEN="+listen, "ELASTICJOB_SERVER=http://"+listen, "ELASTICJOB_KILL_GRACE=1s")
	if os.Geteuid() == 0 {
		// Without a data folder below home, root's would be /var/lib/elasticjob of this machine.
		s.env = append(s.env, "ELASTICJOB_RUN_AS=root", "XDG_DATA_HOME="+filepath.Join(home, ".local", "share"))
	}
	return s
}

func (s *sandbox) state() string { return filepath.Join(s.dir, "state") }

func (s *sandbox) write(path, text string) {
	s.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// remember keeps variables and the working folder between blocks, like a terminal.
const remember = `trap '{ export -p | grep -v "^declare -[a-z]*r"; printf "cd %q\n" "$PWD"; } >"$STATE"' EXIT
`

// helpers are for commands of "before".
const helpers = `eventually() { local tried; for tried in $(seq 600); do "$@" >/dev/null 2>&1 && return; sleep 0.1; done; echo "never: $*" >&2; "$@"; }
`

// longest is the timeout of commands that end.
const longest = 3 * time.Minute

// types runs commands with an input, in the variables and the folder that earlier commands left, and returns their
// output and exit status. position is their file and line, for messages.
func (s *sandbox) types(position, commands, input string) (output string, status int) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), longest)
	defer cancel()
	cmd := s.bash(ctx, remember+s.text.Replace(commands))
	// At the timeout, all processes that the shell has started are killed too, because they might never end.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input+"\n"), &out, &out
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		s.Fatalf("%s: not ended within %v: %s\nof\n%s", position, longest, &out, commands)
	case errors.As(err, &exit):
		return out.String(), exit.ExitCode()
	case err != nil:
		s.Fatalf("%s: %v: %s\nof\n%s", position, err, &out, commands)
	}
	return out.String(), 0
}

// opens types commands in a new terminal, where they keep running, and waits until an address answers.
func (s *sandbox) opens(commands, address string) {
	s.Helper()
	address = s.text.Replace(address)
	if answers(address) == nil {
		s.Fatalf("%s answers already, before\n%s", address, commands)
	}
	log := filepath.Join(s.dir, fmt.Sprint("terminal-", len(s.terminals)))
	// The added command keeps the shell from replacing itself by the last command.
	p, err := child.Start(s.bash(context.Background(), s.text.Replace(commands)+"\n:\n"), log)
	if err != nil {
		s.Fatal(err)
	}
	s.terminals = append(s.terminals, p)
	eventually.Works(s, address+" answers", func() error {
		select {
		case <-p.Done():
			s.Fatalf("ended before %s answered:\n%s\nof\n%s", address, child.LastWords(log), commands)
		default:
		}
		if err := answers(address); err != nil {
			return fmt.Errorf("%w\n%s", err, child.LastWords(log))
		}
		return nil
	})
}

// answers returns nil if a server is ready: http://… and https://… must answer with a status below 500, and the port
// of tcp://… must be open.
func answers(address string) error {
	if port, tcp := strings.CutPrefix(address, "tcp://"); tcp {
		conn, err := net.Dial("tcp", port)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	// The readers' own commands check the certificates.
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	client := &http.Client{Timeout: 5 * time.Second, Transport: transport}
	answer, err := client.Get(address)
	if err != nil {
		return err
	}
	if answer.StatusCode >= http.StatusInternalServerError {
		err = errors.New(answer.Status)
	}
	return errors.Join(err, answer.Body.Close())
}

func (s *sandbox) bash(ctx context.Context, script string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-aeuo", "pipefail", "-c", `. "$STATE"`+"\n"+helpers+script)
	cmd.Dir, cmd.Env = s.clone, append(s.env, "STATE="+s.state())
	return cmd
}

// goEnvironment returns the variables with which go uses this user's caches although HOME differs.
func goEnvironment(t testing.TB) (env []string) {
	t.Helper()
	names := []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS", "GOSUMDB"}
	said, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, value := range strings.Split(strings.TrimSuffix(string(said), "\n"), "\n") {
		env = append(env, names[i]+"="+value)
	}
	return append(env, "GOTOOLCHAIN=local")
}

// copyTree copies a file, or a folder without .git and without the folders that builds and tools fill.
func copyTree(t testing.TB, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case slices.Contains([]string{".git", "bin", "web/node_modules", "docs/screenshots"}, inside):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil // the .git of a worktree
		case d.IsDir():
			return nil
		}
		return copyFile(path, filepath.Join(to, inside))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}
