package settings

import (
	"cmp"

	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/auth/oidc"
)

// OpenID are the settings of an OpenID provider whose users may log in.
type OpenID struct {
	// Issuer is the address of the provider; empty if there is none. Client is the client id of this cluster.
	Issuer, Client string
	Secret         Secret
	Scopes         []string
	// NameClaim is the claim with the name of a user. RolesClaim is the claim whose values Roles maps to roles.
	NameClaim, RolesClaim string
	Roles                 []oidc.Role

	secretFile, redirect string
	roleTexts            []string
}

// RedirectURL returns the URL to which the provider redirects browsers. By default it is a path of this server, whose
// URL is server.
func (o *OpenID) RedirectURL(server string) string {
	return cmp.Or(o.redirect, server+"/api/oidc/callback")
}

func (o *OpenID) flags(f *pflag.FlagSet) {
	f.StringVar(&o.Issuer, "oidc-issuer", "",
		"address of an OpenID Connect provider whose users may log in with a browser, at /api/oidc/login, as --oidc-role says")
	f.StringVar(&o.Client, "oidc-client-id", "", "with --oidc-issuer: the client id of this cluster at the provider")
	f.StringVar(&o.secretFile, "oidc-client-secret-file", "",
		"with --oidc-issuer: file with the secret that goes with the id, readable by its owner only (default: none, for a public client)")
	f.StringVar(&o.redirect, "oidc-redirect-url", "",
		"with --oidc-issuer: where the provider redirects browsers, as registered there: https://HOST:PORT/api/oidc/callback (default: that of --advertise)")
	f.StringSliceVar(&o.Scopes, "oidc-scopes", []string{"profile"},
		"with --oidc-issuer: the scopes to ask for beside openid, repeated or separated by commas")
	f.StringVar(&o.NameClaim, "oidc-name-claim", "preferred_username",
		"with --oidc-issuer: the claim of the ID token with the user's name")
	f.StringVar(&o.RolesClaim, "oidc-roles-claim", "groups",
		"with --oidc-issuer: the claim that --oidc-role matches; a.b is b within a")
	f.StringArrayVar(&o.roleTexts, "oidc-role", nil,
		"with --oidc-issuer: VALUE=ROLE or VALUE=ROLE:APP,…: users with VALUE in the claim are admin, operator, viewer or metrics, for all apps or for those that the patterns name; repeatable, the first match counts")
}

// check checks the settings of the provider, and that there is at least one --oidc-role. server is the URL of this
// server.
func (o *OpenID) check(r *report, server string) {
	if o.Issuer == "" {
		r.require(false, "--oidc-issuer", "oidc-client-id", "oidc-client-secret-file", "oidc-redirect-url",
			"oidc-scopes", "oidc-name-claim", "oidc-roles-claim", "oidc-role")
		return
	}
	r.About(r.source("oidc-issuer"), oidc.CheckAddress(o.Issuer))
	r.Unless(o.Client != "", "--oidc-client-id is missing: the client id of this cluster at the provider %s", o.Issuer)
	if o.secretFile != "" {
		o.Secret = r.secret("oidc-client-secret-file", o.secretFile)
	}
	if o.redirect != "" {
		r.About(r.source("oidc-redirect-url"), oidc.CheckAddress(o.redirect))
	} else {
		r.About("--oidc-redirect-url, by default that of --advertise", oidc.CheckAddress(o.RedirectURL(server)))
	}
	for _, text := range o.roleTexts {
		role, err := oidc.ParseRole(text)
		if err != nil {
			r.Add("%s %q: %w", r.source("oidc-role"), text, err)
		}
		o.Roles = append(o.Roles, role)
	}
	r.Unless(len(o.roleTexts) > 0, "--oidc-role is missing: without one the provider's users have no role. "+
		"An example is --oidc-role admins=admin")
}
