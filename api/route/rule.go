package route

import (
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/auth"
)

// scope says for whom a route is, beside the role that it needs. A route without one lets nobody in.
type scope int

const (
	_ scope = iota
	// Open is for everybody; nobody is asked who they are.
	Open
	// Oneself is for everybody who was let in: it is about themselves, whatever their role.
	Oneself
	// ByApp is for who has the role for all apps or for some: the scheduler shows them theirs (scope.go).
	ByApp
	// Whole is for who has the role for all apps.
	Whole
)

// Rule says who may use a route.
type Rule struct {
	Needs auth.Role
	Scope scope
}

// String is for whom the rule is, as docs/security.md says it.
func (r Rule) String() string {
	switch r.Scope {
	case Open:
		return "everybody"
	case Oneself:
		return "who is let in"
	case ByApp:
		return r.Needs.String() + " for the app"
	case Whole:
		return r.Needs.String() + " for all apps"
	}
	return "nobody"
}

// Check says why somebody is not allowed to use the route, or nothing.
func (r Rule) Check(p auth.Principal) error {
	switch {
	case r.Scope == Open, r.Scope == Oneself && p.Kind != "",
		r.Scope == ByApp && p.Includes(r.Needs), r.Scope == Whole && p.Includes(r.Needs) && p.Unrestricted():
		return nil
	}
	return caller.NotAllowed(p, "the role "+r.String())
}
