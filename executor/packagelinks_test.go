package executor_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/executor"
	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// A check follows a package's links to programs of the machine, as in a virtual environment, with the rights of the
// jobs' user, even if that user can't reach the folder of the check.
func TestCheckOfLinksToTheMachine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	for name, to := range map[string]string{"venv/bin/python3": "/bin/sh", "venv/bin/gone": "/no/such",
		"venv/bin/closed": "/proc/1/exe"} {
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to,
			Mode: 0o777}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.WriteHeader(&tar.Header{Name: "x.py", Mode: 0o644}), archive.Close()); err != nil {
		t.Fatal(err)
	}
	url := serving(t, out.Bytes()) + "/p.tar"
	var as *isolation.Account
	if os.Geteuid() == 0 {
		as = &isolation.Account{Name: "nobody", UID: 65534, GID: 65534, Groups: []uint32{65534}}
	}
	for name, want := range map[string]string{
		"python3": "", "gone": "venv/bin/gone is a link to /no/such, which is not on this agent",
		"closed": "venv/bin/closed is a link to /proc/1/exe, which is not on this agent, or which the user that jobs run as can't reach",
	} {
		facts, err := executor.CheckPackage(t.Context(),
			executor.PackageCheck{URL: url, Command: []string{"venv/bin/" + name, "x.py"},
				Folder: t.TempDir(), OfAgent: true, RunAs: as})
		if got := fmt.Sprint(facts.Problems); err != nil || want == "" && strings.Contains(got, "link") ||
			!strings.Contains(got, want) ||
			facts.Script.Found != (want == "") {
			t.Errorf("%s: %s, %+v, %v", name, got, facts.Script, err)
		}
	}
}
