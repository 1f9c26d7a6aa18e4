// Package openid is a small OpenID Connect provider for tests. It logs every browser in at once, with the claims that
// the test sets.
package openid

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// The id and secret of clients.
const (
	Client = "elasticjob"
	Secret = "the-secret/of+elasticjob"
)

// Provider is a provider that listens on this machine.
type Provider struct {
	// URL is the issuer.
	URL string

	t   testing.TB
	key *rsa.PrivateKey

	mu     sync.Mutex
	down   bool
	claims map[string]any
	info   map[string]any // the claims at userinfo; nil without such an endpoint
	forge  func(token string) string
	codes  map[string]asked // not used yet
}

// asked are the parameters of a login.
type asked struct{ challenge, nonce, redirect string }

// Start starts a provider, which ends with the test.
func Start(t testing.TB) *Provider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &Provider{t: t, key: key, codes: map[string]asked{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /userinfo", p.userInfo)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.isDown() {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p.URL = server.URL
	return p
}

// Says sets additional claims of later logins; nil values remove the default ones.
func (p *Provider) Says(claims map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claims = claims
}

// Informs adds an endpoint userinfo with these claims, beside sub. It must be called before a server looks the provider
// up.
func (p *Provider) Informs(claims map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.info = claims
}

func (p *Provider) userInfo(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer access" || p.info == nil {
		answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_token"})
		return
	}
	claims := map[string]any{"sub": "4711"}
	maps.Copy(claims, p.info)
	answer(w, http.StatusOK, claims)
}

// Forge sets a function that changes ID tokens after they are signed.
func (p *Provider) Forge(forge func(token string) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forge = forge
}

// SetDown makes the provider unavailable, or available again.
func (p *Provider) SetDown(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
}

func (p *Provider) isDown() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.down
}

func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	found := map[string]any{}
	if p.info != nil {
		found["userinfo_endpoint"] = p.URL + "/userinfo"
	}
	p.mu.Unlock()
	maps.Copy(found, map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
		"jwks_uri":                              p.URL + "/keys",
		"id_token_signing_alg_values_supported": []string{"RS256", "none"}, "response_types_supported": []string{"code"},
		"subject_types_supported": []string{"public"}, "code_challenge_methods_supported": []string{"S256"},
	})
	answer(w, http.StatusOK, found)
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{"keys": []any{map[string]any{
		"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "one",
		"n": encode(p.key.N.Bytes()), "e": encode(big.NewInt(int64(p.key.E)).Bytes()),
	}}})
}

func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != Client || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" ||
		q.Get("state") == "" || q.Get("nonce") == "" {
		http.Error(w, "bad request: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	code := rand.Text()
	p.mu.Lock()
	p.codes[code] = asked{challenge: q.Get("code_challenge"), nonce: q.Get("nonce"), redirect: q.Get("redirect_uri")}
	p.mu.Unlock()
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(),
		http.StatusFound)
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, ok := r.BasicAuth()
	if !ok || id != Client || secret != url.QueryEscape(Secret) {
		answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	p.mu.Lock()
	was, ok := p.codes[r.FormValue("code")]
	delete(p.codes, r.FormValue("code"))
	says, forge := p.claims, p.forge
	p.mu.Unlock()
	verifier := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !ok || encode(verifier[:]) != was.challenge || r.FormValue("redirect_uri") != was.redirect {
		answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant", "error_description": "hush-hush"})
		return
	}
	claims := map[string]any{
		"iss": p.URL, "aud": Client, "sub": "4711", "nonce": was.nonce, "preferred_username": "alice",
		"iat": time.Now().Unix(), "exp": time.Now().Add(5 * time.Minute).Unix(),
	}
	maps.Copy(claims, says)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	token := p.sign(claims)
	if forge != nil {
		token = forge(token)
	}
	answer(w, http.StatusOK, map[string]any{"access_token": "access", "token_type": "Bearer", "expires_in": 300,
		"id_token": token})
}

func (p *Provider) sign(claims map[string]any) string {
	body, err := json.Marshal(claims)
	if err != nil {
		p.t.Error(err)
	}
	text := encode([]byte(`{"alg":"RS256","kid":"one","typ":"JWT"}`)) + "." + encode(body)
	digest := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, p.key, crypto.SHA256, digest[:])
	if err != nil {
		p.t.Error(err)
	}
	return text + "." + encode(signature)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may have disconnected
}
