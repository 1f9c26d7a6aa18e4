// Package oidc implements logins through an OpenID Connect provider: the authorization code flow with PKCE, for
// browsers.
//
//	Begin   ──▶ a cookie for the browser, and the provider's address to send it to
//	             (the provider authenticates the user, and sends the browser back)
//	Finish  ──▶ the code for an ID token, its checks, its claims to a Principal
//
// The state of an unfinished login is only in its cookie: a signed id, from which the cluster's key derives the state,
// the nonce and PKCE's verifier. So a login may begin at one server and end at another, only the same browser can
// finish it, and unfinished logins use no memory.
//
// Run looks the provider up and retries until it answers, so that a server starts without it. Tokens are accepted only
// from the provider itself; a request can't present one.
package oidc
