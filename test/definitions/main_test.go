package definitions_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

var bin system.Binaries

func TestMain(m *testing.M) { os.Exit(system.Main(m, &bin, 8)) }

// program is the command line, built once into the folder that system.Main removes.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(bin.Dir, "elasticjob")
	out, err := exec.Command("go", "build", "-o", path, "../../cmd/elasticjob").CombinedOutput()
	return path, errors.Join(err, errOf(out))
})

func errOf(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	return errors.New(string(text))
}

// user is somebody with a folder of files and a server.
type user struct {
	*system.Machine
	dir string
}

func start(t *testing.T) *user {
	t.Helper()
	t.Parallel()
	m := system.New(t, bin)
	m.Start()
	return &user{m, t.TempDir()}
}

// write writes a file below the user's folder.
func (u *user) write(name, text string) {
	u.Helper()
	path := filepath.Join(u.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		u.Fatal(err)
	}
}

// said is what a command wrote.
type said struct {
	status   int
	out, err string
}

// run runs elasticjob in the user's folder, with a text as its standard input.
func (u *user) run(input string, args ...string) said {
	u.Helper()
	path, err := program()
	if err != nil {
		u.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Stdin = u.dir, strings.NewReader(input)
	cmd.Env = []string{"HOME=" + u.dir, "ELASTICJOB_SERVER=" + u.URL()}
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	_ = cmd.Run() // its status says how it ended
	return said{cmd.ProcessState.ExitCode(), out.String(), errors.String()}
}

// expect runs a command that is to end with a status and to say some texts, on either stream.
func (u *user) expect(status int, args []string, wants ...string) said {
	u.Helper()
	s := u.run("", args...)
	if s.status != status {
		u.Fatalf("elasticjob %s: status %d, want %d\n%s%s", strings.Join(args, " "), s.status, status, s.out, s.err)
	}
	for _, want := range wants {
		if !strings.Contains(s.out+s.err, want) {
			u.Fatalf("elasticjob %s: %q is not in\n%s%s", strings.Join(args, " "), want, s.out, s.err)
		}
	}
	return s
}

func words(line string) []string { return strings.Fields(line) }
