package launch

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// secretFiles creates a folder for secrets, beside another folder.
func secretFiles(t *testing.T) (folder string) {
	t.Helper()
	base := t.TempDir()
	folder = filepath.Join(base, "secrets")
	write := func(path, content string) {
		path = filepath.Join(base, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, path string) {
		if err := os.Symlink(to, filepath.Join(folder, path)); err != nil {
			t.Fatal(err)
		}
	}
	write("outside", "hunter2-outside")
	write("secrets/db", "hunter2\n")
	write("secrets/two-lines", "a\n\n")
	write("secrets/empty", "")
	write("secrets/most", strings.Repeat("x", maxSecret)+"\n")
	write("secrets/too-long", "hunter2"+strings.Repeat("x", maxSecret))
	write("secrets/zero", "hunter2\x00")
	write("secrets/apps/billing/key", "of billing")
	link("db", "inside")
	link("../outside", "leads-out")
	link(filepath.Join(base, "outside"), "leads-out-absolutely")
	link("..", "up")
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestReferences(t *testing.T) {
	t.Parallel()
	folder := secretFiles(t)
	r := References{folders: []string{"/nowhere", folder}, lookup: func(name string) (string, bool) {
		value, there := map[string]string{"GIVEN": "of the executor", "LONG": strings.Repeat("x", maxSecret+1),
			"MESOS_EXECUTOR_AUTHENTICATION_TOKEN": "hunter2"}[name]
		return value, there
	}}
	for path, want := range map[string]string{
		"db": "hunter2", "two-lines": "a\n", "empty": "", "most": strings.Repeat("x", maxSecret), "inside": "hunter2",
		"apps/billing/key": "of billing",
	} {
		got, err := r.Resolve(wire.Task{AppName: "billing",
			EnvFiles:     map[string]string{"A": filepath.Join(folder, path)},
			EnvVariables: map[string]string{"B": "GIVEN"}})
		if diff := cmp.Diff(map[string]string{"A": want, "B": "of the executor"}, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", path, err, diff)
		}
	}
	for path, want := range map[string]string{
		folder + "/none": "there is no such file on this agent", folder + "/db/x": "not a directory",
		folder: "not a regular file", folder + "/apps": "is for the app that its folder",
		folder + "/pipe": "not a regular file", folder + "/too-long": "longer than 64 KiB",
		folder + "/zero": "zero byte", folder + "/leads-out": "escapes", folder + "/leads-out-absolutely": "escapes",
		folder + "/up/outside":       "escapes",
		folder + "/apps/billing/key": "and not for other", folder + "/apps/other/../billing/key": "and not for other",
		folder + "/apps/othe":  "and not for other",
		folder + "/../outside": "not in a folder for secrets", "/etc/passwd": "not in a folder for secrets",
		"db": "not in a folder", folder + "2/db": "not in a folder",
		"/nowhere/db": "the folder for secrets, /nowhere, can't be opened",
	} {
		got, err := r.Resolve(wire.Task{AppName: "other", EnvFiles: map[string]string{"DB_PASSWORD": path}})
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "env.DB_PASSWORD: file "+path+": ") ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
	for variable, want := range map[string]string{
		"MESOS_EXECUTOR_AUTHENTICATION_TOKEN": "executor's own", "LIBPROCESS_SSL_KEY_FILE": "executor's own",
		"ELASTICJOB_MESOS_CA": "executor's own",
		"NONE":                "the executor's environment on this agent has no NONE", "LONG": "longer than 64 KiB",
	} {
		if got, err := r.Resolve(wire.Task{EnvVariables: map[string]string{"A": variable}}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", variable, got, err)
		}
	}
	_, err := r.Resolve(wire.Task{EnvFiles: map[string]string{"A": "/x", "B": "/y"},
		EnvVariables: map[string]string{"C": "NONE"}})
	if err == nil || strings.Count(err.Error(), "env.") != 3 {
		t.Errorf("not all at once: %v", err)
	}
}

// TestReferencesOfHeaders checks that headers follow the rules of variables.
func TestReferencesOfHeaders(t *testing.T) {
	t.Parallel()
	folder := secretFiles(t)
	r := References{folders: []string{folder},
		lookup: func(name string) (string, bool) { return "of the executor", name == "GIVEN" }}
	of := func(headers map[string]wire.Header) wire.Task {
		return wire.Task{AppName: "billing", HTTP: &wire.HTTP{URL: "http://h", Headers: headers}}
	}
	got, err := r.Request(of(map[string]wire.Header{"A": {Value: "plain"}, "B": {File: folder + "/apps/billing/key"},
		"C": {Variable: "GIVEN"}}))
	want := wire.HTTP{URL: "http://h", Headers: map[string]wire.Header{"A": {Value: "plain"},
		"B": {Value: "of billing", Secret: true}, "C": {Value: "of the executor", Secret: true}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for want, header := range map[string]wire.Header{
		"there is no such file": {File: folder + "/none"}, "not in a folder for secrets": {File: "/etc/passwd"},
		"line breaks": {File: folder + "/two-lines"}, "has no NONE": {Variable: "NONE"}, "executor's own": {Variable: "MESOS_X"},
	} {
		if _, err := r.Request(of(map[string]wire.Header{"X": header})); err == nil ||
			!strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "props.http.header.X: ") {
			t.Errorf("%+v: %v", header, err)
		}
	}
}

func TestSecretFolders(t *testing.T) {
	t.Parallel()
	for value, want := range map[string][]string{"": {DefaultSecrets}, "/a:/b": {"/a", "/b"}, "/a:b:": {"/a"}} {
		if diff := cmp.Diff(want, SecretFolders(value)); diff != "" {
			t.Errorf("%q: %s", value, diff)
		}
	}
}
