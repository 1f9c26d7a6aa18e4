package main

import (
	"net/http"
	"net/http/httptest"
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
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/artifacts/"+a.own, nil))
		if got := w.Body.String(); w.Code != http.StatusOK || got != program {
			t.Errorf("status %d, %q", w.Code, got)
		}
		if err := damage(filepath.Join(keep, a.own)); err != nil {
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
}
