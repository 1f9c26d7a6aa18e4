// Package oidc implements logins through an OpenID Connect provider: the authorization code flow with PKCE, for
// browsers.
//
//	Begin   ──▶ sets a cookie, and redirects the browser to the provider
//	             (the provider authenticates the user, and sends the browser back with a code)
//	Finish  ──▶ exchanges the code for an ID token, verifies it, and maps its claims to a Principal
//
// The server stores nothing of an unfinished login. Its cookie has a signed id, from which the cluster's key derives
// the state, the nonce and PKCE's verifier. So a login may begin at one server and end at another, only the same
// browser can finish it, and unfinished logins use no memory.
//
// Run discovers the provider, and retries until it answers, so that a server starts without it. ID tokens are accepted
// only from the provider itself; a client can't present one in a request.
package oidc
