package guard

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDataFolderIsTakenWithoutLinks: links on the way to the data folder have no effect once the server runs, and
// there is a warning about each link that jobs of the server's own user could replace before the next start.
func TestDataFolderIsTakenWithoutLinks(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	real, link := filepath.Join(top, "real"), filepath.Join(top, "link")
	if err := errors.Join(os.Mkdir(real, 0o700), os.Symlink(real, link)); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{real: real, link: real} {
		var said strings.Builder
		got, err := DataFolder(dir, true, slog.New(slog.NewTextHandler(&said, nil)))
		if err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", dir, got, err, want)
		}
		if warned := strings.Contains(said.String(), link); warned != (dir == link && os.Geteuid() != 0) {
			t.Errorf("%s: it says %q", dir, &said)
		}
	}
}
