package executor

import (
	"log/slog"
	"path/filepath"
	"strconv"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/executor/pack"
)

// openStore opens the shared cache or, if that can't be used, a cache in the sandbox: on most agents the work folder
// belongs to root, and executors of other users can't create a folder in it. The user that tasks run as may read the
// cache. openStore sets config.Cache to the folder that it has opened.
func openStore(config *Config, as *isolation.Account, log *slog.Logger) (*pack.Store, error) {
	private := privateCache(config.Sandbox)
	if as != nil && config.Cache != private {
		config.Cache += "-for-" + strconv.Itoa(int(as.UID)) // other users must not share this user's packages
	}
	err := makeOwned(config.Cache)
	if err == nil {
		err = allowTraversal(config.Cache, as)
	}
	if err != nil {
		config.Cache = private
		log.Warn("shared package cache not usable: packages are cached in the sandbox, for this executor only",
			"cache", private, "error", err)
	}
	store, err := pack.Open(config.Cache, filepath.Join(config.Sandbox, "packages"), config.Package, log)
	if err != nil {
		return nil, err
	}
	store.OpenFilesWith(packageOpener(as, config.Hide))
	return store, nil
}
