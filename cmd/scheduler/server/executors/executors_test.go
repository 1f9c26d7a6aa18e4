package executors

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDamagedCopyIsReplaced(t *testing.T) {
	t.Parallel()
	dir, copies := t.TempDir(), t.TempDir()
	const program = "#!/bin/sh\nexit 0\n"
	if err := os.WriteFile(filepath.Join(dir, "executor"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, damage := range []func(path string) error{
		func(string) error { return nil },
		func(path string) error { return os.Truncate(path, 0) },
		func(path string) error { return os.WriteFile(path, make([]byte, len(program)), 0o755) },
	} {
		a, err := Find(dir, copies)
		if err != nil {
			t.Fatal(err)
		}
		file, ok := a.File(a.own)
		if got, err := os.ReadFile(file); !ok || err != nil || string(got) != program {
			t.Errorf("%v, %q, %v", ok, got, err)
		}
		if err := damage(file); err != nil {
			t.Fatal(err)
		}
	}
	a, err := Find(dir, copies)
	if err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(filepath.Join(copies, a.own)); err != nil || string(content) != program {
		t.Errorf("%q, %v", content, err)
	}
	for _, name := range []string{"", "executor", "executor-", "../executor-x", "executor-/../x", a.own + "x"} {
		if file, ok := a.File(name); ok {
			t.Errorf("%q is the file %s", name, file)
		}
	}
}

// TestAddedExecutorIsNotUsed: jobs may be able to add files to the folder of the programs without being able to replace
// those in it. An added executor must not be used.
func TestAddedExecutorIsNotUsed(t *testing.T) {
	t.Parallel()
	dir, copies := t.TempDir(), t.TempDir()
	for _, name := range []string{AnyName, OwnName, OwnName + "64"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	a, err := Find(dir, copies)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(copies, a.own)); err != nil || string(got) != AnyName {
		t.Errorf("agents get %q, %v", got, err)
	}
	if err := os.Remove(filepath.Join(dir, AnyName)); err != nil {
		t.Fatal(err)
	}
	if a, err = Find(dir, copies); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(copies, a.own)); err != nil || string(got) != OwnName {
		t.Errorf("agents get %q, %v", got, err)
	}
}

// TestWhereAgentsFetchTheExecutor: agents in other processes fetch it from a server, the one in this process reads it
// from disk.
func TestWhereAgentsFetchTheExecutor(t *testing.T) {
	t.Parallel()
	a := Executors{dir: "/data dir/artifacts", own: "executor-linux-amd64-ab"}
	if got := a.URL("https://h:1"); got != "https://h:1/artifacts/executor-linux-amd64-ab" {
		t.Error(got)
	}
	if got := a.FileURL(); got != "file:///data%20dir/artifacts/executor-linux-amd64-ab" {
		t.Error(got)
	}
}
