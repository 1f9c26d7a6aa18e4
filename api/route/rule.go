package route

import (
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/auth"
)

// scope says for which apps a caller must have the role that a route needs. The zero value admits no caller.
type scope int

const (
	_ scope = iota
	// ScopePublic admits every caller, without a login.
	ScopePublic
	// ScopeAuthenticated admits every authenticated caller, whatever the role. Such routes are about the caller.
	ScopeAuthenticated
	// ScopeByApp admits callers with the role for all apps or for some apps. The scheduler then shows a caller only
	// the apps of the grant (caller.ScopeOf).
	ScopeByApp
	// ScopeAllApps admits callers with the role for all apps.
	ScopeAllApps
)

// Rule says which callers may use a route. Needs is the lowest sufficient role, for ScopeByApp and ScopeAllApps.
type Rule struct {
	Needs auth.Role
	Scope scope
}

// String returns the rule in the words of docs/security.md.
func (r Rule) String() string {
	switch r.Scope {
	case ScopePublic:
		return "everybody"
	case ScopeAuthenticated:
		return "any user or token"
	case ScopeByApp:
		return r.Needs.String() + " for the app"
	case ScopeAllApps:
		return r.Needs.String() + " for all apps"
	}
	return "nobody"
}

// Check returns nil if the caller may use the route, and otherwise an error that says what the caller lacks.
func (r Rule) Check(p auth.Principal) error {
	allowed := false
	switch r.Scope {
	case ScopePublic:
		allowed = true
	case ScopeAuthenticated:
		allowed = p.Kind != ""
	case ScopeByApp:
		allowed = p.Includes(r.Needs)
	case ScopeAllApps:
		allowed = p.Includes(r.Needs) && p.Unrestricted()
	}
	if allowed {
		return nil
	}
	return caller.NotAllowed(p, "the role "+r.String())
}
