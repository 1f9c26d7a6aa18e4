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
		there    string // the files in the data folder
		registry bool
		runs     string // a path on the command line of a running process
		want     string
	}{
		"a new folder":                 {},
		"an empty cluster":             {there: "cluster/"},
		"the ports of a cluster":       {there: "cluster/ports.json"},
		"credentials of a cluster":     {there: "cluster/secrets.json", want: "but the state of its cluster is"},
		"a sandbox":                    {there: "cluster/work/x", want: "but the state of its cluster is"},
		"both":                         {there: "cluster/secrets.json", registry: true},
		"an executor":                  {runs: "cluster/work/slaves/x", want: "are running"},
		"an executor and the registry": {runs: "cluster/work/slaves/x", registry: true},
		"another folder's executor":    {runs: "../other/cluster/work/slaves/x"},
		"a folder of a similar name's": {runs: "../data2/cluster/work/slaves/x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			path := filepath.Join(dir, c.there)
			if strings.HasSuffix(c.there, "/") || c.there == "" {
				path += "/."
			}
			err := os.MkdirAll(filepath.Dir(path), 0o700)
			if path != dir+"/." && !strings.HasSuffix(c.there, "/") {
				err = errors.Join(err, os.WriteFile(path, []byte("x"), 0o600))
			}
			if c.registry {
				err = errors.Join(err, os.WriteFile(filepath.Join(dir, "registry.db"), []byte("x"), 0o600))
			}
			if err != nil {
				t.Fatal(err)
			}
			pid := "no process"
			if c.runs != "" {
				cmd := exec.Command("/bin/sh", "-c", "read line", "supervisor", filepath.Join(dir, c.runs))
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
			if err != nil && c.runs != "" && !strings.Contains(err.Error(), pid) {
				t.Errorf("%v does not name process %s", err, pid)
			}
		})
	}
}
