package apihttp

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
)

// These are the realms that Mesos names in its challenges.
const (
	RealmScheduler = "mesos-master-scheduler"
	RealmOperator  = "mesos-master-readwrite"
	RealmExecutor  = "mesos-agent-executor"
	RealmFiles     = "mesos-agent-readonly"
)

// Credentials are for HTTP basic authentication: of frameworks, operators and agents to the master, and of readers of
// sandboxes to the agent. Formatting and logging them hides the secret.
type Credentials struct{ Principal, Secret string }

// String hides the secret.
func (c Credentials) String() string { return c.Principal + ":***" }

// GoString hides the secret.
func (c Credentials) GoString() string { return c.String() }

// LogValue hides the secret.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Guard returns a handler that passes requests with these credentials to next and answers others with 401. If c is nil,
// it returns next itself.
func (c *Credentials) Guard(realm string, next http.Handler) http.Handler {
	if c == nil {
		return next
	}
	principal, secret := sha256.Sum256([]byte(c.Principal)), sha256.Sum256([]byte(c.Secret))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if !strings.HasPrefix(r.Header.Get("Authorization"), "Basic ") {
			user, password = "", "" // Mesos accepts no other spelling
		}
		// Both are compared as hashes, in constant time, so that the duration reveals nothing.
		p, s := sha256.Sum256([]byte(user)), sha256.Sum256([]byte(password))
		if subtle.ConstantTimeCompare(p[:], principal[:])&subtle.ConstantTimeCompare(s[:], secret[:]) == 0 {
			challenge(w, fmt.Sprintf("Basic realm=%q", realm))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// challenge answers 401 and asks for authentication by this scheme.
func challenge(w http.ResponseWriter, scheme string) {
	w.Header().Set("WWW-Authenticate", scheme)
	Answer(w, http.StatusUnauthorized, "401 Unauthorized.")
}

// TokenKey signs the tokens that authenticate executors. An empty key means no authentication.
type TokenKey []byte

// Token returns the token of one executor's container. It does not expire, but an agent accepts it only while the
// container runs.
func (k TokenKey) Token(container string) string {
	mac := hmac.New(sha256.New, k)
	mac.Write([]byte(container)) // never fails
	return container + "." + hex.EncodeToString(mac.Sum(nil))
}

// Admit returns the container to which the request's token belongs. Without a valid token it answers 401 and returns
// false.
func (k TokenKey) Admit(w http.ResponseWriter, r *http.Request) (container string, admitted bool) {
	token, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	container, _, _ = strings.Cut(token, ".")
	if !isBearer || !hmac.Equal([]byte(token), []byte(k.Token(container))) {
		challenge(w, fmt.Sprintf("Bearer realm=%q", RealmExecutor))
		return "", false
	}
	return container, true
}
