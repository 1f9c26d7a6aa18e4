package executor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/executor/launch"
)

// HideVariable is the variable in an executor's environment that says what is hidden from the executor and its tasks,
// as isolation.Places in JSON. The process that starts the executor must hide the places that HiddenFrom returns.
const HideVariable = "ELASTICJOB_HIDE"

// HiddenFrom returns what is hidden from an app's executor with this sandbox, for the start of that executor
// (isolation.Places.Start). Of the hidden folder the executor still sees its sandbox, its package cache and the folders
// for secrets, without the secrets of other apps. The executor in turn hides the folders for secrets from its tasks.
// HiddenFrom creates the cache and the app's own folders for secrets, because the executor could neither create nor
// see them later. If only the operator may write to the folders for secrets, the executor starts without a folder
// of its app.
func HiddenFrom(sandbox, app string, places isolation.Places, secrets []string) (isolation.Places, error) {
	cache := cacheFolder(sandbox, os.Geteuid())
	if err := os.Mkdir(cache, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return places, fmt.Errorf("create the package cache: %w", err)
	}
	places.NoNested = false // the executor enters a further namespace for its tasks
	places.Keep, places.ReadOnly = append([]string{sandbox, cache}, secrets...), secrets
	for _, folder := range secrets {
		own := filepath.Join(folder, launch.AppsFolder, app)
		err := os.MkdirAll(own, 0o700)
		if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
			return places, fmt.Errorf("create the folder for the secrets of app %s: %w", app, err)
		}
		places.Only = append(places.Only, own)
	}
	return places, nil
}
