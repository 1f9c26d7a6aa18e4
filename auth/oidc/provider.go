package oidc

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/internal/netproblem"
)

const (
	// LoginTimeout is the greatest time between Begin and Finish.
	LoginTimeout = 10 * time.Minute
	// requestTimeout is the timeout of each request to the provider.
	requestTimeout = 10 * time.Second
	// maxRetryInterval is the longest pause between two attempts to discover the provider.
	maxRetryInterval = 30 * time.Second
	// maxConcurrent is the greatest number of simultaneous exchanges of codes.
	maxConcurrent = 8
)

// The codes of Error.
const (
	Unavailable = "oidc_unavailable" // the provider can't be reached now
	BadLogin    = "bad_login"        // the response belongs to no login of this browser
	Refused     = "login_refused"    // the provider refused the login, or its token is not valid
	NoRole      = "no_role"          // the provider knows the user, but no role is granted
)

// Error says why a login failed. Its text is for the user, and contains no secrets.
type Error struct{ code, message string }

func (e *Error) Error() string { return e.message }

// Code returns Unavailable, BadLogin, Refused or NoRole.
func (e *Error) Code() string { return e.code }

func fail(code, format string, args ...any) error {
	return &Error{code: code, message: fmt.Sprintf(format, args...)}
}

// Sealer makes and verifies signatures of 32 bytes. Only the servers of the cluster can make them. *auth.Access
// implements it.
type Sealer interface {
	// Sign returns the signature of a message for a purpose; nil while the key is unknown.
	Sign(purpose string, message []byte) []byte
	// Verify reports whether Sign has made the signature with this purpose and message.
	Verify(purpose string, message, signature []byte) bool
}

// Options choose the provider and the grants of its users.
type Options struct {
	// Issuer is the address of the provider. Client and Secret are the credentials of this cluster there; a public
	// client has no secret.
	Issuer, Client, Secret string
	// Redirect is the address to which the provider sends browsers back: this cluster's /api/oidc/callback.
	Redirect string
	// Scopes are requested in addition to openid.
	Scopes []string
	// NameClaim is the claim with the user's name. A user gets the grant of the first of Roles whose Value is among the
	// values of the claim RolesClaim.
	NameClaim, RolesClaim string
	Roles                 []Role

	Sealer Sealer
	// HTTP connects to the provider; nil means Go's default client with a timeout.
	HTTP   *http.Client
	Now    func() time.Time
	Logger *slog.Logger
}

// Provider authenticates users. Its methods may be called concurrently.
type Provider struct {
	opts           Options
	discovery      atomic.Pointer[discovery] // nil until the provider has answered
	discoveryError atomic.Pointer[string]    // of the last failed attempt
	slots          chan struct{}             // has an element for each exchange in progress
}

// discovery is what the provider has published about itself.
type discovery struct {
	oauth    oauth2.Config
	verifier *oidc.IDTokenVerifier
	provider *oidc.Provider
}

// New creates a Provider. Its logins fail until Run has discovered the provider.
func New(opts Options) *Provider {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	opts.HTTP = cmp.Or(opts.HTTP, &http.Client{Timeout: requestTimeout})
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Provider{opts: opts, slots: make(chan struct{}, maxConcurrent)}
}

// Run discovers the provider. It retries until the provider answers or ctx ends.
func (p *Provider) Run(ctx context.Context) {
	reported := ""
	for wait := time.Second; ; wait = min(2*wait, maxRetryInterval) {
		err := p.discover(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			p.opts.Logger.Info("OpenID provider found", "issuer", p.opts.Issuer)
			return
		}
		text := err.Error() + netproblem.Advice(err)
		p.discoveryError.Store(&text)
		if text != reported {
			reported = text
			p.opts.Logger.Error("OpenID provider not found, retrying: its users cannot log in until then", "issuer",
				p.opts.Issuer, "error", text)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// discover reads the configuration that the provider publishes.
func (p *Provider) discover(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, p.opts.HTTP), p.opts.Issuer)
	if err != nil {
		return err
	}
	endpoint := found.Endpoint()
	if p.opts.Secret == "" {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	p.discovery.Store(&discovery{
		oauth: oauth2.Config{
			ClientID: p.opts.Client, ClientSecret: p.opts.Secret, Endpoint: endpoint, RedirectURL: p.opts.Redirect,
			Scopes: slices.Concat([]string{oidc.ScopeOpenID}, p.opts.Scopes),
		},
		verifier: found.Verifier(&oidc.Config{ClientID: p.opts.Client, Now: p.opts.Now}),
		provider: found,
	})
	return nil
}

// discovered returns the discovery, or an error if the provider has not answered yet.
func (p *Provider) discovered() (*discovery, error) {
	if d := p.discovery.Load(); d != nil {
		return d, nil
	}
	why := "it is being looked up"
	if lastError := p.discoveryError.Load(); lastError != nil {
		why = *lastError
	}
	return nil, fail(Unavailable, "the OpenID provider %s has not been found yet, and is looked up again: %s",
		p.opts.Issuer, why)
}

// The purposes of signatures.
const (
	loginPurpose    = "oidc-login"
	statePurpose    = "oidc-state"
	noncePurpose    = "oidc-nonce"
	verifierPurpose = "oidc-verifier"
)

// login is an unfinished login.
type login struct {
	id      string
	expires int64 // in seconds of Unix time
}

func (l login) text() string { return l.id + "." + strconv.FormatInt(l.expires, 10) }

// sign returns the signature of the login for a purpose, in base64url.
func (p *Provider) sign(l login, purpose string) (string, error) {
	signature := p.opts.Sealer.Sign(purpose, []byte(l.text()))
	if signature == nil {
		return "", fail(Unavailable, "the key that logins are signed with is not known yet: try again")
	}
	return base64.RawURLEncoding.EncodeToString(signature), nil
}

// derive returns the state, the nonce and PKCE's verifier of the login. Each is a signature of the login, so that only
// servers of this cluster can compute it.
func (p *Provider) derive(l login) (state, nonce, verifier string, err error) {
	var errs [3]error
	state, errs[0] = p.sign(l, statePurpose)
	nonce, errs[1] = p.sign(l, noncePurpose)
	verifier, errs[2] = p.sign(l, verifierPurpose)
	return state, nonce, verifier, cmp.Or(errs[0], errs[1], errs[2])
}

// Begin begins a login. The browser must store the cookie and go to the address.
func (p *Provider) Begin() (address, cookie string, err error) {
	d, err := p.discovered()
	if err != nil {
		return "", "", err
	}
	l := login{id: rand.Text(), expires: p.opts.Now().Add(LoginTimeout).Unix()}
	state, nonce, verifier, err := p.derive(l)
	if err != nil {
		return "", "", err
	}
	signature, err := p.sign(l, loginPurpose)
	if err != nil {
		return "", "", err
	}
	address = d.oauth.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier))
	return address, l.text() + "." + signature, nil
}

// parseCookie returns the login of a cookie from Begin. It returns an error if the signature is wrong or the login has
// expired.
func (p *Provider) parseCookie(cookie string) (login, error) {
	id, rest, _ := strings.Cut(cookie, ".")
	until, encoded, _ := strings.Cut(rest, ".")
	expires, err := strconv.ParseInt(until, 10, 64)
	signature, err2 := base64.RawURLEncoding.DecodeString(encoded)
	l := login{id: id, expires: expires}
	switch {
	case cookie == "":
		return l, fail(BadLogin, "this browser has not begun a login: begin at /api/oidc/login")
	case err != nil, err2 != nil, !p.opts.Sealer.Verify(loginPurpose, []byte(l.text()), signature):
		return l, fail(BadLogin, "the cookie of the login is not this cluster's: begin again at /api/oidc/login")
	case p.opts.Now().Unix() > expires:
		return l, fail(BadLogin, "the login took more than %s: begin again at /api/oidc/login", LoginTimeout)
	}
	return l, nil
}

// Finish completes a login and returns its principal. query is that of the request with which the provider has sent
// the browser back. Errors have the type *Error.
func (p *Provider) Finish(ctx context.Context, cookie string, query url.Values) (auth.Principal, error) {
	d, err := p.discovered()
	if err != nil {
		return auth.Principal{}, err
	}
	l, err := p.parseCookie(cookie)
	if err != nil {
		return auth.Principal{}, err
	}
	state, nonce, verifier, err := p.derive(l)
	if err != nil {
		return auth.Principal{}, err
	}
	code, err := p.checkResponse(query, state)
	if err != nil {
		return auth.Principal{}, err
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return auth.Principal{}, fail(Unavailable, "too many logins are in progress: try again")
	}
	token, err := p.exchange(ctx, d, code, verifier)
	if err != nil {
		return auth.Principal{}, err
	}
	raw, _ := token.Extra("id_token").(string)
	c, err := p.verify(ctx, d, raw, nonce)
	if err != nil {
		return auth.Principal{}, err
	}
	if c.find(p.opts.NameClaim) == nil || c.find(p.opts.RolesClaim) == nil {
		info, err := p.userInfo(ctx, d, token, c["sub"])
		if err != nil {
			return auth.Principal{}, err
		}
		c = c.with(info, p.opts.NameClaim, p.opts.RolesClaim)
	}
	principal := auth.Principal{Kind: auth.OIDC}
	if principal.Name, err = c.name(p.opts.NameClaim); err == nil {
		principal.Grant, err = c.grant(p.opts.RolesClaim, p.opts.Roles)
	}
	return principal, err
}

// checkResponse checks the provider's response, and returns the code in it. state is that of the login.
func (p *Provider) checkResponse(query url.Values, state string) (code string, err error) {
	for _, name := range []string{"state", "code", "iss", "error"} {
		if len(query[name]) > 1 {
			return "", fail(BadLogin, "the parameter %s is given %d times: begin again at /api/oidc/login", name,
				len(query[name]))
		}
	}
	switch {
	case subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(state)) != 1:
		return "", fail(BadLogin, "the state is not that of this browser's login: begin again at /api/oidc/login")
	case query.Has("iss") && query.Get("iss") != p.opts.Issuer:
		return "", fail(BadLogin, "the answer is of another issuer than %s: begin again at /api/oidc/login",
			p.opts.Issuer)
	case query.Has("error"):
		return "", fail(Refused, "the OpenID provider has not logged you in: %s %s", quoted(query.Get("error")),
			quoted(query.Get("error_description")))
	case query.Get("code") == "":
		return "", fail(BadLogin, "the OpenID provider gave no code: begin again at /api/oidc/login")
	}
	return query.Get("code"), nil
}

// userInfo returns the claims of the provider's userinfo endpoint, because many providers have some claims only there.
// It returns nil if the provider has no such endpoint. subject is that of the ID token, and must be the same.
func (p *Provider) userInfo(ctx context.Context, d *discovery, token *oauth2.Token, subject any) (claims, error) {
	if d.provider.UserInfoEndpoint() == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.opts.HTTP), requestTimeout)
	defer cancel()
	info, err := d.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		p.opts.Logger.Warn("OpenID provider gave no userinfo", "endpoint", d.provider.UserInfoEndpoint())
		return nil, fail(Unavailable, "the ID token of the OpenID provider lacks the claim %q or %q, and its userinfo at %s could not be read: try again, or have the provider put both into the ID token",
			p.opts.NameClaim, p.opts.RolesClaim, d.provider.UserInfoEndpoint())
	}
	var c claims
	if err := info.Claims(&c); err != nil || info.Subject == "" || info.Subject != subject {
		return nil, fail(Refused, "the userinfo of the OpenID provider is not that of the user of its ID token: begin again at /api/oidc/login")
	}
	return c, nil
}

// exchange exchanges a code for tokens, and returns an error if they don't include an ID token.
func (p *Provider) exchange(ctx context.Context, d *discovery, code, verifier string) (*oauth2.Token, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.opts.HTTP), requestTimeout)
	defer cancel()
	token, err := d.oauth.Exchange(ctx, code, oauth2.VerifierOption(verifier))
	if refused := (*oauth2.RetrieveError)(nil); errors.As(err, &refused) && refused.Response.StatusCode < 500 {
		p.opts.Logger.Warn("OpenID provider refused a code", "status", refused.Response.StatusCode, "error",
			refused.ErrorCode)
		return nil, fail(Refused, "the OpenID provider did not accept the code of this login (%s): begin again at /api/oidc/login; if that lasts, check --oidc-client-id, --oidc-client-secret-file and --oidc-redirect-url",
			quoted(refused.ErrorCode))
	}
	if err != nil {
		p.opts.Logger.Warn("OpenID provider gave no token", "error", withoutBody(err))
		return nil, fail(Unavailable, "the OpenID provider %s could not be reached: try again", p.opts.Issuer)
	}
	if raw, _ := token.Extra("id_token").(string); raw == "" {
		return nil, fail(Refused, "the OpenID provider gave no ID token: register this server's client there as one of OpenID Connect")
	}
	return token, nil
}

// withoutBody returns the error without the body of the provider's answer, because the body may contain a token.
func withoutBody(err error) error {
	if refused := (*oauth2.RetrieveError)(nil); errors.As(err, &refused) {
		return fmt.Errorf("it answered %s", refused.Response.Status)
	}
	return err
}

// verify returns the claims of an ID token. It verifies the issuer, the audience, the signature, the expiry, and by
// the nonce that the token belongs to this login.
func (p *Provider) verify(ctx context.Context, d *discovery, raw, nonce string) (claims, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.opts.HTTP), requestTimeout)
	defer cancel()
	var c claims
	token, err := d.verifier.Verify(ctx, raw)
	if err == nil {
		err = token.Claims(&c)
	}
	if err == nil && subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(nonce)) != 1 {
		err = errors.New("its nonce is not that of this login")
	}
	if err == nil && len(token.Audience) > 1 && c["azp"] != p.opts.Client {
		err = errors.New("it is for several clients, and was not made for this one")
	}
	if err != nil {
		p.opts.Logger.Warn("ID token refused", "error", err)
		return nil, fail(Refused, "the ID token of the OpenID provider is not accepted: %v", err)
	}
	return c, nil
}
