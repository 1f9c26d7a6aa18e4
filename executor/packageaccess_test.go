package executor_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/executor"
	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

func TestAFileOfTheServerIsNoPackage(t *testing.T) {
	t.Parallel()
	hidden := t.TempDir()
	file := filepath.Join(hidden, "registry.db")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check := executor.PackageCheck{URL: "file://" + file, Command: []string{"registry.db"}, Folder: t.TempDir(),
		OfAgent: true}
	if facts, err := executor.CheckPackage(t.Context(), check); err != nil || len(facts.Problems) > 0 {
		t.Fatalf("%+v, %v", facts.Problems, err)
	}
	check.Hide = &isolation.Places{Folder: hidden}
	facts, err := executor.CheckPackage(t.Context(), check)
	if err != nil || len(facts.Problems) != 1 || !strings.Contains(facts.Problems[0].Message, "is hidden from jobs") ||
		facts.SHA256 != "" {
		t.Errorf("%+v, %v", facts, err)
	}
	check.Hide, check.OfAgent = nil, false
	facts, err = executor.CheckPackage(t.Context(), check)
	if err != nil || len(facts.Problems) != 1 ||
		!strings.Contains(facts.Problems[0].Message, "names a file of each agent") || facts.SHA256 != "" ||
		facts.Size != 0 {
		t.Errorf("where this machine is no agent: %+v, %v", facts, err)
	}
}

// TestAsRootACheckSeesWhatJobsSee: with --run-as, a check can't be used to find out which files only the server can
// see.
func TestAsRootACheckSeesWhatJobsSee(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	hidden := filepath.Join(t.TempDir(), "hidden")
	file := filepath.Join(hidden, "secret")
	if err := errors.Join(os.Mkdir(hidden, 0o700), os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	url := serving(t, packed(t, map[string]string{"a*": "#!" + file + "\n"})) + "/p.tar.gz"
	for command, want := range map[string]string{file: "there is no file " + file,
		"a": "which is not on this agent"} {
		facts, err := executor.CheckPackage(t.Context(),
			executor.PackageCheck{URL: url, Command: []string{command}, Folder: t.TempDir(), OfAgent: true,
				RunAs: &isolation.Account{Name: "nobody", UID: 65534, GID: 65534, Groups: []uint32{65534}}})
		if err != nil || len(facts.Problems) != 1 || !strings.Contains(facts.Problems[0].Message, want) ||
			command == file && facts.Script.Found {
			t.Errorf("%s: %+v, %v", command, facts, err)
		}
	}
}

// TestAsRootAnUnreadablePackageSaysForWhom: a check names the user who can't read the package, because the URL is right
// and the server's own user could read the file.
func TestAsRootAnUnreadablePackageSaysForWhom(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	file := filepath.Join(openFolder(t), "a.jar")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	facts, err := executor.CheckPackage(t.Context(),
		executor.PackageCheck{URL: "file://" + file, Command: []string{"a.jar"}, Folder: t.TempDir(), OfAgent: true,
			RunAs: &isolation.Account{Name: "nobody", UID: 65534, GID: 65534, Groups: []uint32{65534}}})
	const want = "permission denied: jobs run as user nobody, who must be able to read it: make the file readable (chmod o+r), "
	if err != nil || len(facts.Problems) != 1 || !strings.Contains(facts.Problems[0].Message, want) ||
		strings.Contains(facts.Problems[0].Message, "see that the URL is right") {
		t.Errorf("%+v, %v", facts, err)
	}
}
