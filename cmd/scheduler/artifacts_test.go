package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestACopyOfTheExecutorThatWasDamagedIsMadeAnew(t *testing.T) {
	t.Parallel()
	dir, keep := t.TempDir(), t.TempDir()
	const program = "#!/bin/sh\nexit 0\n"
	if err := os.WriteFile(filepath.Join(dir, "executor"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, damage := range []func(path string) error{
		func(string) error { return nil },
		func(path string) error { return os.Truncate(path, 0) },
		func(path string) error { return os.WriteFile(path, make([]byte, len(program)), 0o755) },
	} {
		a, err := findExecutors(dir, keep)
		if err != nil {
			t.Fatal(err)
		}
		file, ok := a.file(a.own)
		if got, err := os.ReadFile(file); !ok || err != nil || string(got) != program {
			t.Errorf("%v, %q, %v", ok, got, err)
		}
		if err := damage(file); err != nil {
			t.Fatal(err)
		}
	}
	a, err := findExecutors(dir, keep)
	if err != nil {
		t.Fatal(err)
	}
	if there, err := os.ReadFile(filepath.Join(keep, a.own)); err != nil || string(there) != program {
		t.Errorf("%q, %v", there, err)
	}
	for _, name := range []string{"", "executor", "executor-", "../executor-x", "executor-/../x", a.own + "x"} {
		if file, ok := a.file(name); ok {
			t.Errorf("%q is the file %s", name, file)
		}
	}
}

// TestAnExecutorThatIsAddedCountsForNothing: jobs may add files to the folder of the programs, and not replace those
// in it.
func TestAnExecutorThatIsAddedCountsForNothing(t *testing.T) {
	t.Parallel()
	dir, keep := t.TempDir(), t.TempDir()
	for _, name := range []string{anyExecutor, ownExecutor, ownExecutor + "64"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	a, err := findExecutors(dir, keep)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(keep, a.own)); err != nil || string(got) != anyExecutor {
		t.Errorf("agents get %q, %v", got, err)
	}
	if err := os.Remove(filepath.Join(dir, anyExecutor)); err != nil {
		t.Fatal(err)
	}
	if a, err = findExecutors(dir, keep); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(keep, a.own)); err != nil || string(got) != ownExecutor {
		t.Errorf("agents get %q, %v", got, err)
	}
}
