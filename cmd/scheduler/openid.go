package main

import (
	"cmp"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/api/access"
	"github.com/elasticjob-go/elasticjob/api/admission"
	"github.com/elasticjob-go/elasticjob/auth/oidc"
)

// openIDFlags say which OpenID provider's users may log in, and what they may do.
type openIDFlags struct {
	issuer, client, secretFile, redirect string
	scopes                               []string
	nameClaim, rolesClaim                string
	roleTexts                            []string

	secret secret
	roles  []oidc.Role
}

func (o *openIDFlags) flags(f *pflag.FlagSet) {
	f.StringVar(&o.issuer, "oidc-issuer", "",
		"address of an OpenID Connect provider whose users may log in with a browser, at /api/oidc/login, as --oidc-role says")
	f.StringVar(&o.client, "oidc-client-id", "", "with --oidc-issuer: the id that the provider knows this cluster by")
	f.StringVar(&o.secretFile, "oidc-client-secret-file", "",
		"with --oidc-issuer: file with the secret that goes with the id, readable by its owner only (default: none, for a public client)")
	f.StringVar(&o.redirect, "oidc-redirect-url", "",
		"with --oidc-issuer: where the provider sends browsers back to, as it is registered there: https://HOST:PORT/api/oidc/callback (default: that of --advertise)")
	f.StringSliceVar(&o.scopes, "oidc-scopes", []string{"profile"},
		"with --oidc-issuer: the scopes to ask for beside openid, repeated or separated by commas")
	f.StringVar(&o.nameClaim, "oidc-name-claim", "preferred_username",
		"with --oidc-issuer: the claim of the ID token that people are called by")
	f.StringVar(&o.rolesClaim, "oidc-roles-claim", "groups",
		"with --oidc-issuer: the claim that --oidc-role is about; a.b is b within a")
	f.StringArrayVar(&o.roleTexts, "oidc-role", nil,
		"with --oidc-issuer: VALUE=ROLE or VALUE=ROLE:APP,…: whoever has VALUE in the claim is admin, operator, viewer or metrics, for all apps or for those that the patterns name; repeated, and the first that fits counts")
}

// checkOpenID: the provider, and that somebody may do something.
func (s *settings) checkOpenID(bad *complaints) {
	o := &s.config.openID
	if o.issuer == "" {
		for _, flag := range []string{"oidc-client-id", "oidc-client-secret-file", "oidc-redirect-url", "oidc-scopes",
			"oidc-name-claim", "oidc-roles-claim", "oidc-role"} {
			bad.unless(s.sources[flag] == "", "%s has no effect without --oidc-issuer", s.said(flag))
		}
		return
	}
	bad.about(s.said("oidc-issuer"), oidc.CheckAddress(o.issuer))
	bad.unless(o.client != "", "--oidc-client-id is missing: the id that the provider %s knows this cluster by",
		o.issuer)
	if o.secretFile != "" {
		o.secret = s.readSecret(bad, "oidc-client-secret-file", o.secretFile)
	}
	if o.redirect != "" {
		bad.about(s.said("oidc-redirect-url"), oidc.CheckAddress(o.redirect))
	} else {
		address := cmp.Or(s.config.advertise, s.config.listen)
		bad.about("--oidc-redirect-url, by default that of --advertise",
			oidc.CheckAddress(callback(s.config.scheme(), address)))
	}
	for _, text := range o.roleTexts {
		role, err := oidc.ParseRole(text)
		if err != nil {
			bad.add("%s %q: %w", s.said("oidc-role"), text, err)
		}
		o.roles = append(o.roles, role)
	}
	bad.unless(len(o.roleTexts) > 0, "--oidc-role is missing: without one nobody whom the provider knows may do anything. One is, for instance, --oidc-role admins=admin")
}

// callback is where the provider sends browsers back to.
func callback(scheme, address string) string { return scheme + "://" + address + "/api/oidc/callback" }

// keys are what the servers of a cluster have in common: *auth.Access has them.
type keys interface {
	admission.Proofs
	access.Issuer
}

// useKeys has an API prove itself as one of the cluster's servers, and log people in by the OpenID provider of the
// flags, if there is one, which is looked up until the function that it returns is called.
func (c *config) useKeys(web *api.Options, k keys, log *slog.Logger) (end func()) {
	web.Proofs = k
	o := c.openID
	if o.issuer == "" {
		return func() {}
	}
	provider := oidc.New(oidc.Options{
		Issuer: o.issuer, Client: o.client, Secret: string(o.secret), Scopes: o.scopes,
		Redirect:  cmp.Or(o.redirect, callback(c.scheme(), web.Advertise)),
		NameClaim: o.nameClaim, RolesClaim: o.rolesClaim, Roles: o.roles, Sealer: k, Logger: log,
	})
	web.OpenID, web.Issuer = provider, k
	return background(provider.Run)
}
