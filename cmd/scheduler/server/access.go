package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
	"github.com/elasticjob-go/elasticjob/registry"
)

// firstRead is how long a start waits for users and tokens. A registry that takes longer is asked on, and until it
// answers nobody is let in.
const firstRead = time.Second

// openAccess reads who may do what, and keeps that up to date until closed is called.
func openAccess(ctx context.Context, shared registry.Shared, c *settings.Config,
	log *slog.Logger) (access *auth.Access, closed func(), err error) {
	access, err = auth.New(auth.Options{Shared: shared, FileToken: string(c.API.Token),
		LoginLifetime: c.API.LoginLifetime, Logger: log, KeepAdmin: c.API.Token == "" && c.OpenID.Issuer == ""})
	if err != nil {
		return nil, nil, err
	}
	first, done := context.WithTimeout(ctx, firstRead)
	defer done()
	_ = access.Refresh(first) // Run says what is wrong with it
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { access.Run(ctx) })
	return access, func() { stop(); running.Wait() }, nil
}
