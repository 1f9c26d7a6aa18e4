package local

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An empty ports.json, which a full disk or a power loss may leave, does not prevent the start.
func TestEmptyPortsAreChosenAgain(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "\n"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "ports.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Start(t.Context(), Options{DataDir: dir, CPUs: 1, MemoryMB: 64,
			Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		end(t, c)
		if kept, err := readPorts(path); err != nil || len(kept.Agents) != 1 {
			t.Errorf("ports %+v, %v", kept, err)
		}
	}
}

// An unusable file of the cluster is rejected with an error that says what to do.
func TestRefusedFilesSayWhatToDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, content, want string }{
		{"ports.json", "{", "remove it"},
		{"ports.json", `{"agents":[70000]}`, "remove it"},
		{"secrets.json", "", "remove it and start with --give-up-executors"},
		{"secrets.json", "{", "remove it and start with --give-up-executors"},
		{"secrets.json", `{"principal":"x"}`, "remove it and start with --give-up-executors"},
		{"agent/agent.json", "", "bring back a copy of it, or remove it and start with --give-up-executors"},
		{"agent/agent.json", "{}", "bring back a copy of it, or remove it and start with --give-up-executors"},
	} {
		t.Run(filepath.Base(c.file)+" "+c.content, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			end(t, begin(t, dir))
			path := filepath.Join(dir, c.file)
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Start(t.Context(),
				Options{DataDir: dir, CPUs: 1, MemoryMB: 64, Logger: slog.New(slog.DiscardHandler)})
			if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q of %s", err, c.want, path)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			again, err := Start(t.Context(),
				Options{DataDir: dir, CPUs: 1, MemoryMB: 64, GiveUpExecutors: true,
					Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatalf("after doing what the error says: %v", err)
			}
			end(t, again)
		})
	}
}
