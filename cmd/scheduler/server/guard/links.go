package guard

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// DataFolder returns the path of the data folder without links, so that replacing a link has no effect while this
// server runs. With --local it logs warnings about links that jobs of this server's user could replace before the next
// start, because executors cannot protect links as they protect folders.
func DataFolder(dir string, local bool, log *slog.Logger) (string, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the data folder: %w", err)
	}
	linkless, err := filepath.EvalSymlinks(path)
	if err != nil || linkless == path {
		return dir, err
	}
	if local && os.Geteuid() != 0 {
		err = forEachLink(path, func(link string) {
			log.Warn("data folder reached through a link that jobs can replace: the next start would then use another folder",
				"link", link, "change", "--data-dir "+linkless)
		})
	}
	return linkless, err
}

// forEachLink calls found for each link in a path that jobs of this server's user can replace.
func forEachLink(path string, found func(link string)) error {
	steps, err := (*isolation.Account)(nil).Steps(path)
	for _, step := range steps {
		if step.Link && step.Movable {
			found(step.Path)
		}
	}
	return err
}
