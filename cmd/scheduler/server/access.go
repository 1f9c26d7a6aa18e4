package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/lifecycle"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
	"github.com/elasticjob-go/elasticjob/registry"
)

// firstReadTimeout is how long a start waits for the users and tokens in the registry. After that, the server starts
// without them and retries. It rejects all callers until it has read them.
const firstReadTimeout = time.Second

// openAccess reads users, tokens and keys from the registry, and keeps them up to date until stop is called.
func openAccess(
	ctx context.Context, shared registry.Shared, c *settings.Config, log *slog.Logger,
) (access *auth.Access, stop func(), err error) {
	access, err = auth.New(auth.Options{Shared: shared, FileToken: string(c.API.Token),
		LoginLifetime: c.API.LoginLifetime, Logger: log, KeepAdmin: c.API.Token == "" && c.OpenID.Issuer == ""})
	if err != nil {
		return nil, nil, err
	}
	readCtx, cancel := context.WithTimeout(ctx, firstReadTimeout)
	defer cancel()
	_ = access.Refresh(readCtx) // access.Run retries and logs the error
	return access, lifecycle.Background(access.Run), nil
}
