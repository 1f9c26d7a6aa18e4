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

// firstReadTimeout is how long a start waits for the users and tokens of the registry. If the registry takes longer,
// the server starts and keeps asking, and rejects every caller until the registry answers.
const firstReadTimeout = time.Second

// openAccess reads users, tokens and keys from the registry and keeps them up to date until closed is called.
func openAccess(ctx context.Context, shared registry.Shared, c *settings.Config,
	log *slog.Logger) (access *auth.Access, closed func(), err error) {
	access, err = auth.New(auth.Options{Shared: shared, FileToken: string(c.API.Token),
		LoginLifetime: c.API.LoginLifetime, Logger: log, KeepAdmin: c.API.Token == "" && c.OpenID.Issuer == ""})
	if err != nil {
		return nil, nil, err
	}
	first, done := context.WithTimeout(ctx, firstReadTimeout)
	defer done()
	_ = access.Refresh(first) // access.Run logs what is wrong with the registry
	return access, lifecycle.Background(access.Run), nil
}
