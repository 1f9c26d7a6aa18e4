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

// keys are the keys that all servers of a cluster share. *auth.Access implements it.
type keys interface {
	admission.Proofs
	access.Issuer
}

// useKeys gives the API the keys with which servers of a cluster authenticate to each other, and enables logins
// through the OpenID provider of the flags, if there is one. The provider's configuration is refreshed until the
// function that it returns is called.
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
