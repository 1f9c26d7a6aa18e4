package reference

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Documents returns the paths of all Markdown documents in the repository.
func Documents(t testing.TB, root string) (paths []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains([]string{"node_modules", "testdata", "bin"}, d.Name()) ||
			d.Name() != "." && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case strings.HasSuffix(path, ".md"):
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil || !slices.Contains(paths, "README.md") {
		t.Fatal(paths, err)
	}
	return paths
}

// Block returns the only code block of a document that contains a text, without the lines of the fence. path is
// relative to the test's folder.
func Block(t testing.TB, path, holds string) (content string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range block.FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(found[1], holds) {
			continue
		}
		if content != "" {
			t.Fatalf("%s has two code blocks with %q", path, holds)
		}
		content = found[1]
	}
	if content == "" {
		t.Fatalf("%s has no code block with %q", path, holds)
	}
	return content
}

// block matches a code block in any language.
var block = regexp.MustCompile("(?ms)^```[^\n]*\n(.*?)^```$")
