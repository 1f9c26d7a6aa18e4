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

// useKeys gives the API the keys with which the servers of a cluster authenticate each other. If there is an OpenID
// provider, it enables logins through the provider, and refreshes the provider's configuration until stop is called.
func useKeys(c *settings.Config, web *api.Options, k keys, log *slog.Logger) (stop func()) {
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
