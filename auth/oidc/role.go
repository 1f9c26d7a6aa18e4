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

// Role is the grant of users whose claim for roles has the Value.
type Role struct {
	Value string
	auth.Grant
}

// ParseRole parses VALUE=ROLE or VALUE=ROLE:APP,…, where each APP is a pattern of app names. The last equals sign ends
// VALUE, because distinguished names of directories contain some.
func ParseRole(text string) (Role, error) {
	equals := strings.LastIndexByte(text, '=')
	if equals < 1 {
		return Role{}, errors.New("must be VALUE=ROLE, or VALUE=ROLE:APP,… for some apps")
	}
	name, apps, restricted := strings.Cut(text[equals+1:], ":")
	role, err := auth.ParseRole(name)
	if err != nil {
		return Role{}, fmt.Errorf("the role %q %w", name, err)
	}
	r := Role{Value: text[:equals], Grant: auth.Grant{Role: role}}
	if restricted {
		r.Apps = strings.Split(apps, ",")
		if why := auth.CheckApps(r.Apps); why != "" {
			return Role{}, errors.New(why)
		}
	}
	return r, nil
}

// CheckAddress returns an error for an invalid address of an issuer or a redirect. Only a loopback address may have
// the scheme http.
func CheckAddress(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return err
	case u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "", u.User != nil, u.RawQuery != "",
		u.Fragment != "":
		return fmt.Errorf("%q: must be https://host/path, without user, query and fragment", u.Redacted())
	case u.Scheme == "http" && u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback():
		return fmt.Errorf("%q: must be https: without it anyone on the network path could log in as any user", text)
	}
	return nil
}

// claims are the claims of an ID token or of the userinfo endpoint.
type claims map[string]any

// find returns the value of a claim, or nil. The name may be a path of names separated by dots, such as
// realm_access.roles. The claim email counts only if the provider has verified the address.
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

// with returns a copy of the claims. It adds those of the named claims that c lacks and others has.
func (c claims) with(others claims, names ...string) claims {
	merged := maps.Clone(c)
	for _, name := range names {
		if value := others.find(name); c.find(name) == nil && value != nil {
			merged[name] = value
			if name == "email" {
				merged["email_verified"] = true // others.find has checked it
			}
		}
	}
	return merged
}

// isOmitted reports whether the provider has left the claim out because the token would be too long. Microsoft's Entra
// ID does so with more than 200 groups.
func (c claims) isOmitted(name string) bool {
	omitted, _ := c["_claim_names"].(map[string]any)
	hasGroups := c["hasgroups"]
	return omitted[name] != nil || name == "groups" && (hasGroups == true || hasGroups == "true")
}

// texts returns the value of a claim that is a string, or the strings in a claim that is a list.
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

// grant returns the grant of the first role whose Value is among the values of the claim.
func (c claims) grant(claim string, roles []Role) (auth.Grant, error) {
	values := c.texts(claim)
	for _, r := range roles {
		if slices.Contains(values, r.Value) {
			return r.Grant, nil
		}
	}
	if len(values) == 0 && c.isOmitted(claim) {
		return auth.Grant{}, fail(NoRole, "you are logged in at the provider, but you are in more groups than it puts into a token, so that it left out the claim %q: have the provider's administrator limit the claim to the groups that are assigned to this application, or define application roles there and use --oidc-roles-claim roles", claim)
	}
	if len(values) == 0 {
		return auth.Grant{}, fail(NoRole, "you are logged in at the provider, but neither its ID token nor its userinfo has the claim %q, which --oidc-role matches: have the provider add it, request its scope with --oidc-scopes, or name another claim with --oidc-roles-claim", claim)
	}
	return auth.Grant{}, fail(NoRole,
		"you are logged in at the provider, but no --oidc-role of this server matches your claim %q, which is %s",
		claim, list(values))
}

// list returns the first of the strings for a message, quoted, and the number of the others.
func list(texts []string) string {
	const maxShown = 10
	if len(texts) == 0 {
		return "nothing"
	}
	shown := make([]string, 0, maxShown)
	for _, t := range texts[:min(len(texts), maxShown)] {
		shown = append(shown, quoted(t))
	}
	more := ""
	if len(texts) > maxShown {
		more = fmt.Sprintf(" and %d more", len(texts)-maxShown)
	}
	return strings.Join(shown, ", ") + more
}

// quoted quotes and shortens a string of the provider for a message.
func quoted(text string) string {
	const maxBytes = 100
	if len(text) > maxBytes {
		text = strings.ToValidUTF8(text[:maxBytes], "") + "…"
	}
	return fmt.Sprintf("%q", text)
}

const maxName = 100 // in bytes

// name returns the user's name from a claim. It returns an error if the claim is missing or is no valid name.
func (c claims) name(claim string) (string, error) {
	text, _ := c.find(claim).(string)
	if text == "" || len(text) > maxName ||
		strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\ufffd' }) {
		return "", fail(NoRole, "the claim %q of the provider must be your name, of 1 to %d bytes without spaces, and is %s: another claim can be named with --oidc-name-claim", claim, maxName, quoted(text))
	}
	return text, nil
}
