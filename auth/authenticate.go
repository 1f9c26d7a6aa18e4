package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// The formats of tokens. They differ in their first characters, so that scanners for leaked secrets recognize them.
//
//	ejt_<id, 16 hex digits>_<secret, 64 hex digits>        an API token
//	ejl_<claims, JSON in base64url>.<HMAC-SHA256, the same>    a login token
const (
	apiTokenPrefix   = "ejt_"
	loginTokenPrefix = "ejl_"
	idHex, secretHex = 16, 64
	// maxToken is the greatest length of an accepted or issued token, so that it fits into a cookie.
	maxToken = 3800
	// clockSlack is the tolerated difference between the clocks of servers.
	clockSlack = time.Minute
)

// The default and the bounds of the lifetime of logins.
const (
	DefaultLoginLifetime = 12 * time.Hour
	MinLoginLifetime     = time.Minute
	MaxLoginLifetime     = 7 * 24 * time.Hour
)

// CheckLoginLifetime returns an error for a lifetime out of bounds.
func CheckLoginLifetime(d time.Duration) error {
	if d < MinLoginLifetime || d > MaxLoginLifetime {
		return fmt.Errorf("must be %s to %s, not %s", MinLoginLifetime, MaxLoginLifetime, d)
	}
	return nil
}

// Authenticate returns the principal of an API token, a login token, or the token of the token file. The latter is
// accepted even while the access document is unknown. Errors: *Refused with BadToken, TokenExpired or TokenRevoked;
// ErrUnavailable.
func (d *Access) Authenticate(token string) (Principal, error) {
	if sum := sha256.Sum256([]byte(token)); d.hasFile && subtle.ConstantTimeCompare(sum[:], d.fileToken[:]) == 1 {
		return Principal{Name: "api-token-file", Kind: TokenFile, Grant: Grant{Role: Admin}}, nil
	}
	s, err := d.current()
	if err != nil {
		return Principal{}, err
	}
	switch {
	case len(token) > maxToken:
		return Principal{}, errBadToken
	case strings.HasPrefix(token, apiTokenPrefix):
		return s.authenticateAPIToken(token, d.now())
	case strings.HasPrefix(token, loginTokenPrefix):
		return s.authenticateLogin(token, d.now())
	}
	return Principal{}, errBadToken
}

var (
	errBadToken     = refused(BadToken, "this token is not valid here: it is incomplete, belongs to another cluster, or was removed")
	errTokenExpired = refused(TokenExpired, "this token has expired: log in again, or ask for another one")
	errTokenRevoked = refused(TokenRevoked,
		"this login has ended, by a logout or because its user was changed: log in again")
	errFromFuture = refused(BadToken, "this token was issued in the future: the clocks of the servers are more than a minute apart; correct them")
)

func (s *snapshot) authenticateAPIToken(token string, now time.Time) (Principal, error) {
	id, ok := apiTokenID(token)
	if !ok {
		return Principal{}, errBadToken
	}
	t := s.tokens[id]
	stored := make([]byte, sha256.Size)
	if t != nil {
		stored = t.Hash
	}
	sum := sha256.Sum256([]byte(token))
	switch {
	case subtle.ConstantTimeCompare(sum[:], stored) != 1 || t == nil:
		return Principal{}, errBadToken
	case !t.Expires.IsZero() && !now.Before(t.Expires):
		return Principal{}, errTokenExpired
	}
	return Principal{Name: t.Name, Kind: Token, Grant: t.Grant, Expires: t.Expires}, nil
}

// apiTokenID returns the id in a token that has the format of an API token.
func apiTokenID(token string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(token, apiTokenPrefix)
	if !ok || len(rest) != idHex+1+secretHex || rest[idHex] != '_' {
		return "", false
	}
	return rest[:idHex], isHex(rest[:idHex]) && isHex(rest[idHex+1:])
}

func isHex(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }

// newAPIToken creates a token, its id, and the hash that is stored of it.
func newAPIToken() (token, id string, hash []byte) {
	id = randomHex(idHex / 2)
	token = apiTokenPrefix + id + "_" + randomHex(secretHex/2)
	sum := sha256.Sum256([]byte(token))
	return token, id, sum[:]
}

// claims are the content of a login token.
type claims struct {
	Name string `json:"n"`
	Kind Kind   `json:"k"`
	// Generation is the user's generation when the token was issued.
	Generation string `json:"g,omitempty"`
	// Grant is the grant for an OIDC login. The grant of a user is in the document instead.
	Grant   *Grant `json:"r,omitempty"`
	Issued  int64  `json:"i"` // in milliseconds of Unix time
	Expires int64  `json:"e"`
	Session string `json:"s"`
}

var tokenBase64 = base64.RawURLEncoding.Strict()

const loginPurpose = "login token"

func (c *claims) sign(k key) (string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("write a login token: %w", err)
	}
	payload := tokenBase64.EncodeToString(text)
	token := loginTokenPrefix + payload + "." + tokenBase64.EncodeToString(mac(k, loginPurpose, []byte(payload)))
	if len(token) > maxToken {
		return "", fmt.Errorf("the login token has %d bytes, more than the maximum of %d: grant fewer patterns of apps",
			len(token), maxToken)
	}
	return token, nil
}

// readLogin reads a login token and verifies its signature.
func readLogin(token string, k key) (c claims, ok bool) {
	payload, signature, ok := strings.Cut(strings.TrimPrefix(token, loginTokenPrefix), ".")
	if !ok || !strings.HasPrefix(token, loginTokenPrefix) {
		return c, false
	}
	given, err := tokenBase64.DecodeString(signature)
	if err != nil || !hmac.Equal(given, mac(k, loginPurpose, []byte(payload))) {
		return c, false
	}
	text, err := tokenBase64.DecodeString(payload)
	return c, err == nil && json.Unmarshal(text, &c) == nil
}

func (s *snapshot) authenticateLogin(token string, now time.Time) (Principal, error) {
	c, ok := readLogin(token, s.Keys.Login)
	if !ok {
		return Principal{}, errBadToken
	}
	issued, expires := time.UnixMilli(c.Issued), time.UnixMilli(c.Expires)
	p := Principal{Name: c.Name, Kind: c.Kind, Session: c.Session, Expires: expires.UTC()}
	switch {
	case !now.Before(expires):
		return Principal{}, errTokenExpired
	case issued.After(now.Add(clockSlack)):
		return Principal{}, errFromFuture
	case s.revoked[c.Session] || !issued.After(s.ended[subjectKey(c.Kind, c.Name)]):
		return Principal{}, errTokenRevoked
	}
	switch {
	case c.Kind == User:
		u := s.users[c.Name]
		if u == nil || u.Generation != c.Generation {
			return Principal{}, errTokenRevoked
		}
		p.Grant = u.Grant
	case c.Kind == OIDC && c.Grant != nil:
		p.Grant = *c.Grant
	default:
		return Principal{}, errBadToken
	}
	return p, nil
}
