package server

import (
	"log/slog"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/api/access"
	"github.com/elasticjob-go/elasticjob/api/admission"
	"github.com/elasticjob-go/elasticjob/auth/oidc"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/lifecycle"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
)

// keys are what the servers of a cluster have in common: *auth.Access has them.
type keys interface {
	admission.Proofs
	access.Issuer
}

// useKeys has an API prove itself as one of the cluster's servers, and log people in by the OpenID provider of the
// flags, if there is one, which is looked up until the function that it returns is called.
func useKeys(c *settings.Config, web *api.Options, k keys, log *slog.Logger) (end func()) {
	web.Proofs = k
	o := c.OpenID
	if o.Issuer == "" {
		return func() {}
	}
	provider := oidc.New(oidc.Options{
		Issuer: o.Issuer, Client: o.Client, Secret: string(o.Secret), Scopes: o.Scopes,
		Redirect:  o.RedirectURL(c.Scheme() + "://" + web.Advertise),
		NameClaim: o.NameClaim, RolesClaim: o.RolesClaim, Roles: o.Roles, Sealer: k, Logger: log,
	})
	web.OpenID, web.Issuer = provider, k
	return lifecycle.Background(provider.Run)
}
