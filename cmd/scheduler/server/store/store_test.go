package store

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestNoRegistryIsMadeBesideTraces: if there was a registry, a new one without users would give all rights to every
// caller. Files in the data folder and running executors show that there was one.
func TestNoRegistryIsMadeBesideTraces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file     string // a file in the data folder, or a folder with a trailing slash
		registry bool
		argument string // a path on the command line of a running process
		want     string
	}{
		"a new folder":                 {},
		"an empty cluster":             {file: "cluster/"},
		"the ports of a cluster":       {file: "cluster/ports.json"},
		"credentials of a cluster":     {file: "cluster/secrets.json", want: "but the state of its cluster is"},
		"a sandbox":                    {file: "cluster/work/x", want: "but the state of its cluster is"},
		"both":                         {file: "cluster/secrets.json", registry: true},
		"an executor":                  {argument: "cluster/work/slaves/x", want: "are running"},
		"an executor and the registry": {argument: "cluster/work/slaves/x", registry: true},
		"another folder's executor":    {argument: "../other/cluster/work/slaves/x"},
		"an executor of a folder with a similar name": {argument: "../data2/cluster/work/slaves/x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			path := filepath.Join(dir, c.file)
			if strings.HasSuffix(c.file, "/") || c.file == "" {
				path += "/."
			}
			err := os.MkdirAll(filepath.Dir(path), 0o700)
			if path != dir+"/." && !strings.HasSuffix(c.file, "/") {
				err = errors.Join(err, os.WriteFile(path, []byte("x"), 0o600))
			}
			if c.registry {
				err = errors.Join(err, os.WriteFile(filepath.Join(dir, "registry.db"), []byte("x"), 0o600))
			}
			if err != nil {
				t.Fatal(err)
			}
			pid := "no process"
			if c.argument != "" {
				cmd := exec.Command("/bin/sh", "-c", "read line", "supervisor", filepath.Join(dir, c.argument))
				in, err := cmd.StdinPipe()
				if err == nil {
					err = cmd.Start()
				}
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _, _ = in.Close(), cmd.Wait() }() // it fails if the process prints no line
				pid = strconv.Itoa(cmd.Process.Pid)
			}
			err = CheckNew(dir)
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if err != nil && c.argument != "" && !strings.Contains(err.Error(), pid) {
				t.Errorf("%v does not name process %s", err, pid)
			}
		})
	}
}
