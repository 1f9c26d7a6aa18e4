package documents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheIndexHasEveryDocument: docs/README.md links each document beside it.
func TestTheIndexHasEveryDocument(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(root, "docs")
	index, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(folder, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if name := filepath.Base(path); name != "README.md" && !strings.Contains(string(index), "]("+name+")") {
			t.Errorf("docs/README.md has no link to %s", name)
		}
	}
}

// TestTheREADMEsAreShort: the first document for newcomers fits on three screens, and the first screen contains
// the commands to begin with.
func TestTheREADMEsAreShort(t *testing.T) {
	t.Parallel()
	const screen = 50 // in lines
	for _, name := range []string{"README.md", "README.zh-CN.md"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		if len(lines) > 3*screen {
			t.Errorf("%s has %d lines, want at most %d: the rest belongs into docs/", name, len(lines), 3*screen)
		}
		first := strings.Join(lines[:min(screen, len(lines))], "\n")
		for _, command := range []string{"\nmake demo ", "\nmake test ", "\nmake run\n"} {
			if !strings.Contains(first, command) {
				t.Errorf("the first %d lines of %s lack %q", screen, name, command)
			}
		}
	}
}
