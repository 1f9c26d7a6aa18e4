package reference

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// Documents are all that are written in Markdown, by their paths in the repository.
func Documents(t testing.TB, root string) (paths []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains([]string{"node_modules", "testdata", "bin"}, d.Name()) || d.Name() != "." && strings.HasPrefix(d.Name(), ".")):
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
