// Package oidc lets people log in by an OpenID Connect provider: the authorization code flow with PKCE, for browsers.
//
//	Begin   ──▶ a cookie for the browser, and the provider's address to send it to
//	             (the provider asks who they are, and sends the browser back)
//	Finish  ──▶ the code for an ID token, its checks, its claims to a Principal
//
// A login that is under way is in its cookie alone: an id, signed, of which the state, the nonce and PKCE's verifier
// are made by the cluster's key. So it may begin at one server and end at another, nobody else can finish it, and
// nothing grows with logins that are never finished.
//
// The provider is looked up when Run begins, and again until it answers: a server starts without it. Tokens of the
// provider are taken from itself alone: no request may bring one.
package oidc
