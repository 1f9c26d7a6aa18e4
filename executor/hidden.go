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

// HideVariable has, in an executor's environment, what is hidden from it and its tasks: isolation.Places in JSON.
// Whoever starts the executor does so by HiddenFrom.
const HideVariable = "ELASTICJOB_HIDE"

// HiddenFrom is what an app's executor with this sandbox is started without (isolation.Places.Start). In the
// hidden folder its sandbox and its package cache are kept, and the folders for secrets, which it hides from
// tasks itself; what is in those for other apps is hidden from it, too. The cache and the app's own folders for
// secrets are made, because the executor could neither make them nor see them later. Where only the operator may write
// to the secrets, the executor starts without a folder of its app.
func HiddenFrom(sandbox, app string, places isolation.Places, secrets []string) (isolation.Places, error) {
	cache := cacheFolder(sandbox, os.Geteuid())
	if err := os.Mkdir(cache, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return places, fmt.Errorf("make the package cache: %w", err)
	}
	places.Last = false // that of its tasks is within
	places.Keep, places.Closed = append([]string{sandbox, cache}, secrets...), secrets
	for _, folder := range secrets {
		own := filepath.Join(folder, launch.OfApps, app)
		err := os.MkdirAll(own, 0o700)
		if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
			return places, fmt.Errorf("make the folder for the secrets of app %s: %w", app, err)
		}
		places.Only = append(places.Only, own)
	}
	return places, nil
}
