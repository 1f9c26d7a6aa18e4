package apihttp

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
)

// The realms that Mesos names in its challenges.
const (
	RealmScheduler = "mesos-master-scheduler"
	RealmOperator  = "mesos-master-readwrite"
	RealmExecutor  = "mesos-agent-executor"
	RealmFiles     = "mesos-agent-readonly"
)

// Credentials are for HTTP basic authentication: of frameworks at the master,
// and of who reads sandboxes at the agent. They never show in logs.
type Credentials struct{ Principal, Secret string }

// String hides the secret.
func (c Credentials) String() string { return c.Principal + ":***" }

// GoString hides the secret.
func (c Credentials) GoString() string { return c.String() }

// LogValue hides the secret.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Guard lets only those requests through to next that carry the credentials; others
// are answered with 401. Without credentials (nil) it lets all through.
func (c *Credentials) Guard(realm string, next http.Handler) http.Handler {
	if c == nil {
		return next
	}
	principal, secret := sha256.Sum256([]byte(c.Principal)), sha256.Sum256([]byte(c.Secret))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if !strings.HasPrefix(r.Header.Get("Authorization"), "Basic ") {
			user, password = "", "" // Mesos takes no other spelling
		}
		// Both are compared, as hashes, so that the time tells nothing.
		p, s := sha256.Sum256([]byte(user)), sha256.Sum256([]byte(password))
		if subtle.ConstantTimeCompare(p[:], principal[:])&subtle.ConstantTimeCompare(s[:], secret[:]) == 0 {
			challenge(w, fmt.Sprintf("Basic realm=%q", realm))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func challenge(w http.ResponseWriter, scheme string) {
	w.Header().Set("WWW-Authenticate", scheme)
	Refuse(w, http.StatusUnauthorized, "401 Unauthorized.")
}

// Claims are what an executor's token says of it: its framework, its id and its container.
type Claims struct {
	Framework string `json:"fid"`
	Executor  string `json:"eid"`
	Container string `json:"cid"`
}

// Fault says in Mesos' words why the claims are not those of this executor;
// it is empty when they are.
func (c Claims) Fault(framework, executor, container string) string {
	missing := func(claim string) string {
		// Mesos quotes the claims in the order of their names.
		of, err := json.Marshal(map[string]string{"fid": c.Framework, "eid": c.Executor, "cid": c.Container})
		if err != nil {
			of = nil // strings can be encoded
		}
		return fmt.Sprintf(`Authenticated principal '{"claims":%s}' does not contain %s`, of, claim)
	}
	switch {
	case c.Framework != framework:
		return missing("an 'fid' claim with the framework ID " + framework + ", which is set in the call")
	case c.Executor != executor:
		return missing("an 'eid' claim with the executor ID " + executor + ", which is set in the call")
	case c.Container != container:
		return missing("a 'cid' claim with the correct active ContainerID")
	}
	return ""
}

// TokenKey signs the tokens by which executors are known: JSON web tokens with
// HS256, as Mesos makes them. An empty key stands for no authentication.
type TokenKey []byte

var tokenHeader = base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`))

// Token is the token of one executor's container. It never ends by itself: only
// while the container runs does an agent take it.
func (k TokenKey) Token(c Claims) string {
	payload, err := json.Marshal(c)
	if err != nil {
		return "" // strings can be encoded
	}
	signed := tokenHeader + "." + base64.RawURLEncoding.EncodeToString(payload)
	return signed + "." + base64.RawURLEncoding.EncodeToString(k.sign(signed))
}

func (k TokenKey) sign(text string) []byte {
	mac := hmac.New(sha256.New, k)
	mac.Write([]byte(text)) // never fails
	return mac.Sum(nil)
}

// Admit returns the claims of the request's token, or answers with 401 and returns false.
func (k TokenKey) Admit(w http.ResponseWriter, r *http.Request) (Claims, bool) {
	header := r.Header.Get("Authorization")
	if header == "" {
		challenge(w, fmt.Sprintf("Bearer realm=%q", RealmExecutor))
		return Claims{}, false
	}
	claims, fault := k.parse(header)
	if fault != "" {
		challenge(w, fmt.Sprintf("Bearer realm=%q, error=\"invalid_token\", error_description=\"%s\"", RealmExecutor, fault))
		return Claims{}, false
	}
	return claims, true
}

func (k TokenKey) parse(header string) (c Claims, fault string) {
	scheme, token, found := strings.Cut(header, " ")
	switch {
	case !found || strings.Contains(token, " "):
		return c, "Malformed 'Authorization' header"
	case scheme != "Bearer":
		return c, "Scheme '" + scheme + "' unsupported"
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return c, fmt.Sprintf("Invalid JWT: Expected 3 components in token, got %d", len(parts))
	}
	if parts[0] != tokenHeader {
		var of struct{ Alg string }
		text, err := base64.RawURLEncoding.DecodeString(parts[0])
		if err == nil {
			err = json.Unmarshal(text, &of)
		}
		if err == nil && of.Alg != "HS256" {
			return c, fmt.Sprintf("Invalid JWT: Token 'alg' value \"%s\" does not match, expected \"HS256\"", of.Alg)
		}
		return c, "Invalid JWT: Token header is not of this agent"
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || !hmac.Equal(signature, k.sign(parts[0]+"."+parts[1])) {
		return c, "Invalid JWT: Token signature does not match"
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(payload, &c)
	}
	if err != nil {
		return c, "JWT claims missing"
	}
	return c, ""
}
