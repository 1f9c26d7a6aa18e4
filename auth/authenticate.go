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

// The formats of tokens. Each begins with its own prefix, by which scanners for leaked secrets recognize it.
//
//	ejt_<id, 16 hex digits>_<secret, 64 hex digits>        an API token
//	ejl_<claims, JSON in base64url>.<HMAC-SHA256 in base64url> a login token
const (
	apiTokenPrefix   = "ejt_"
	loginTokenPrefix = "ejl_"
	idHex, secretHex = 16, 64
	// maxToken is the greatest number of bytes of a token, so that it fits into a cookie. Longer tokens are neither
	// issued nor accepted.
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

// Authenticate returns the principal of an API token, of a login token, or of the token of --api-token-file. It
// accepts the token of the file even while the access document is unknown. Errors: *Refused with BadToken,
// TokenExpired or TokenRevoked; ErrUnavailable.
func (a *Access) Authenticate(token string) (Principal, error) {
	if sum := sha256.Sum256([]byte(token)); a.hasFile && subtle.ConstantTimeCompare(sum[:], a.fileToken[:]) == 1 {
		return Principal{Name: "api-token-file", Kind: TokenFile, Grant: Grant{Role: Admin}}, nil
	}
	s, err := a.current()
	if err != nil {
		return Principal{}, err
	}
	switch {
	case len(token) > maxToken:
		return Principal{}, errBadToken
	case strings.HasPrefix(token, apiTokenPrefix):
		return s.authenticateAPIToken(token, a.now())
	case strings.HasPrefix(token, loginTokenPrefix):
		return s.authenticateLogin(token, a.now())
	}
	return Principal{}, errBadToken
}

var (
	errBadToken = refused(BadToken,
		"this token is not valid here: it is incomplete, belongs to another cluster, or was removed")
	errTokenExpired = refused(TokenExpired, "this token has expired: log in again, or ask for another one")
	errTokenRevoked = refused(TokenRevoked,
		"this login has ended, by a logout or because its user was changed: log in again")
	errFromFuture = refused(BadToken,
		"this token was issued in the future: the clocks of the servers are more than a minute apart; correct them")
)

// authenticateAPIToken returns the principal of an API token that is in the document and has not expired.
func (s *snapshot) authenticateAPIToken(token string, now time.Time) (Principal, error) {
	id, ok := apiTokenID(token)
	if !ok {
		return Principal{}, errBadToken
	}
	t := s.tokens[id]
	stored := make([]byte, sha256.Size) // so that an unknown id takes as long as a wrong secret
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

// apiTokenID returns the id in an API token. ok is false if the token does not have the format of an API token.
func apiTokenID(token string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(token, apiTokenPrefix)
	if !ok || len(rest) != idHex+1+secretHex || rest[idHex] != '_' {
		return "", false
	}
	return rest[:idHex], isHex(rest[:idHex]) && isHex(rest[idHex+1:])
}

// isHex reports whether the text has only lower-case hexadecimal digits.
func isHex(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }

// newAPIToken returns a random token, with its id and its hash. Only the id and the hash are stored.
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
	// Grant is the grant of an OIDC login. It is nil for a user, whose grant is in the access document.
	Grant   *Grant `json:"r,omitempty"`
	Issued  int64  `json:"i"` // in milliseconds of Unix time
	Expires int64  `json:"e"` // likewise
	Session string `json:"s"`
}

var tokenBase64 = base64.RawURLEncoding.Strict()

const loginPurpose = "login token"

// sign returns the login token with these claims. It returns an error if the token would be longer than maxToken.
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

// readLogin returns the claims of a login token. ok is false if the token is malformed or its signature is wrong.
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

// authenticateLogin returns the principal of a login token that is neither expired nor revoked.
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
	case s.revoked[c.Session] || !issued.After(s.revokedUntil[subjectKey(c.Kind, c.Name)]):
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
