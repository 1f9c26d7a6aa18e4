package route

import (
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/auth"
)

// scope says for which callers a route is, in addition to the role that it needs. The zero value admits no caller.
type scope int

const (
	_ scope = iota
	// ScopePublic routes need no login.
	ScopePublic
	// ScopeAuthenticated routes are for every authenticated caller, whatever the role: they are about the caller.
	ScopeAuthenticated
	// ScopeByApp routes are for callers with the role for all apps or for some. The scheduler shows them only those apps
	// (caller.ScopeOf).
	ScopeByApp
	// ScopeAllApps routes are for callers with the role for all apps.
	ScopeAllApps
)

// Rule says which callers may use a route.
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

// Check returns an error that says why the caller may not use the route, or nil.
func (r Rule) Check(p auth.Principal) error {
	switch {
	case r.Scope == ScopePublic, r.Scope == ScopeAuthenticated && p.Kind != "",
		r.Scope == ScopeByApp && p.Includes(r.Needs), r.Scope == ScopeAllApps && p.Includes(r.Needs) && p.Unrestricted():
		return nil
	}
	return caller.NotAllowed(p, "the role "+r.String())
}
