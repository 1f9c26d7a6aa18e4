package oidc

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/auth"
)

// Role is a grant for users that have a value in the claim for roles.
type Role struct {
	Value string
	auth.Grant
}

// ParseRole parses VALUE=ROLE or VALUE=ROLE:APP,…, where APP are patterns of app names. VALUE may contain further
// equals signs, as names in directories do.
func ParseRole(text string) (Role, error) {
	at := strings.LastIndexByte(text, '=')
	if at < 1 {
		return Role{}, errors.New("must be VALUE=ROLE, or VALUE=ROLE:APP,… for some apps")
	}
	name, apps, some := strings.Cut(text[at+1:], ":")
	role, err := auth.ParseRole(name)
	if err != nil {
		return Role{}, fmt.Errorf("the role %q %w", name, err)
	}
	r := Role{Value: text[:at], Grant: auth.Grant{Role: role}}
	if some {
		r.Apps = strings.Split(apps, ",")
		if wrong := auth.CheckApps(r.Apps); wrong != "" {
			return Role{}, errors.New(wrong)
		}
	}
	return r, nil
}

// CheckAddress returns an error for an invalid address of an issuer or a redirect. Without TLS only loopback addresses
// are allowed.
func CheckAddress(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return err
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "":
		return fmt.Errorf("%q: must be https://host/path, without user, query and fragment", u.Redacted())
	case u.Scheme == "http" && u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback():
		return fmt.Errorf("%q: must be https: without it anyone on the network path could log in as any user", text)
	}
	return nil
}

// claims are the claims of an ID token.
type claims map[string]any

// find returns a claim by its name, or by a path of names separated by dots, such as realm_access.roles. The claim
// email counts only if the provider has verified the address.
func (c claims) find(name string) any {
	if name == "email" && c["email_verified"] != true && c["email_verified"] != "true" {
		return nil
	}
	if value, ok := c[name]; ok {
		return value
	}
	head, rest, nested := strings.Cut(name, ".")
	if inner, ok := c[head].(map[string]any); nested && ok {
		return claims(inner).find(rest)
	}
	return nil
}

// with returns the claims, and for each name that they lack the claim of that name among others.
func (c claims) with(others claims, names ...string) claims {
	all := maps.Clone(c)
	for _, name := range names {
		if value := others.find(name); c.find(name) == nil && value != nil {
			all[name] = value
			if name == "email" {
				all["email_verified"] = true // others.find has checked it
			}
		}
	}
	return all
}

// overage reports whether the provider has left a claim out of the token because it would be too long. Microsoft's
// Entra ID does so with more than 200 groups.
func (c claims) overage(name string) bool {
	elsewhere, _ := c["_claim_names"].(map[string]any)
	has := c["hasgroups"]
	return elsewhere[name] != nil || name == "groups" && (has == true || has == "true")
}

// texts returns the strings of a claim, which may be a string or a list.
func (c claims) texts(name string) (found []string) {
	switch value := c.find(name).(type) {
	case string:
		found = append(found, value)
	case []any:
		for _, v := range value {
			if text, ok := v.(string); ok {
				found = append(found, text)
			}
		}
	}
	return found
}

// grant returns the grant of the first role, in the given order, whose value is in the claim.
func (c claims) grant(claim string, roles []Role) (auth.Grant, error) {
	has := c.texts(claim)
	for _, r := range roles {
		if slices.Contains(has, r.Value) {
			return r.Grant, nil
		}
	}
	if len(has) == 0 && c.overage(claim) {
		return auth.Grant{}, fail(NoRole, "you are logged in at the provider, but you are in more groups than it puts into a token, so that it left out the claim %q: have the provider's administrator limit the claim to the groups that are assigned to this application, or define application roles there and use --oidc-roles-claim roles", claim)
	}
	if len(has) == 0 {
		return auth.Grant{}, fail(NoRole, "you are logged in at the provider, but neither its ID token nor its userinfo has the claim %q, which --oidc-role matches: have the provider add it, request its scope with --oidc-scopes, or name another claim with --oidc-roles-claim", claim)
	}
	return auth.Grant{}, fail(NoRole, "you are logged in at the provider, but no --oidc-role of this server matches your claim %q, which is %s", claim, list(has))
}

// list formats the strings of a claim for a message, shortened.
func list(texts []string) string {
	const most = 10
	if len(texts) == 0 {
		return "nothing"
	}
	shown := make([]string, 0, most)
	for _, t := range texts[:min(len(texts), most)] {
		shown = append(shown, quoted(t))
	}
	more := ""
	if len(texts) > most {
		more = fmt.Sprintf(" and %d more", len(texts)-most)
	}
	return strings.Join(shown, ", ") + more
}

// quoted quotes and shortens a foreign string for a message.
func quoted(text string) string {
	const most = 100
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return fmt.Sprintf("%q", text)
}

const maxName = 100

// name returns the user's name from a claim.
func (c claims) name(claim string) (string, error) {
	text, _ := c.find(claim).(string)
	if text == "" || len(text) > maxName ||
		strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\ufffd' }) {
		return "", fail(NoRole, "the claim %q of the provider must be your name, of 1 to %d bytes without spaces, and is %s: another claim can be named with --oidc-name-claim", claim, maxName, quoted(text))
	}
	return text, nil
}
