package executor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// HideVariable has, in an executor's environment, what is hidden from it and its tasks: isolation.Places in JSON.
// Whoever starts the executor does so by HiddenFrom.
const HideVariable = "ELASTICJOB_HIDE"

// HiddenFrom is what an executor with this sandbox is started without (isolation.Places.Start). In the hidden folder
// its sandbox and its package cache are kept, and the folders for secrets, which it hides from tasks itself. The cache
// is made, as an executor could not do it.
func HiddenFrom(sandbox string, places isolation.Places, secrets []string) (isolation.Places, error) {
	cache := cacheFolder(sandbox, os.Geteuid())
	if err := os.Mkdir(cache, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return places, fmt.Errorf("make the package cache: %w", err)
	}
	places.Keep, places.Closed = append([]string{sandbox, cache}, secrets...), secrets
	return places, nil
}

// hiddenFromTasks is what tasks don't see, nil for nothing: what this executor does not see, and its folders for
// secrets.
func (c *Config) hiddenFromTasks() *isolation.Places {
	if c.Hide == nil || os.Geteuid() == 0 {
		return nil
	}
	return &isolation.Places{Folder: c.Hide.Folder, Keep: []string{c.Sandbox, c.Cache}}
}
