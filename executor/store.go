package executor

import (
	"log/slog"
	"path/filepath"
	"strconv"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/executor/pack"
)

// openStore opens the shared cache or, where it can't be used, one in the sandbox: on most agents the work
// folder is root's, and then executors of other users can't make anything in it.
// The user that tasks run as may read what is in it; config says then where it is.
func openStore(config *Config, as *isolation.Account, log *slog.Logger) (*pack.Store, error) {
	own := ownCache(config.Sandbox)
	if as != nil && config.Cache != own {
		config.Cache += "-for-" + strconv.Itoa(int(as.UID)) // others have no part in his packages
	}
	err := makeOwn(config.Cache)
	if err == nil {
		err = letPass(config.Cache, as)
	}
	if err != nil {
		config.Cache = own
		log.Warn("shared package cache not usable: packages are cached in the sandbox, for this executor only",
			"cache", own, "error", err)
	}
	store, err := pack.Open(config.Cache, filepath.Join(config.Sandbox, "packages"), config.Package, log)
	if err != nil {
		return nil, err
	}
	store.OpenFilesWith(packageOpener(as, config.Hide))
	return store, nil
}
