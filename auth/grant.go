package auth

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Role is a set of permissions. Each role includes the lower ones.
type Role int

// The roles. The zero Role permits nothing.
const (
	NoRole   Role = iota
	Metrics       // reads /metrics, and nothing else
	Viewer        // reads
	Operator      // triggers, pauses, enables, disables and kills; publishes nothing
	Admin         // everything, including users and tokens if it is for all apps
)

var roleNames = []string{NoRole: "", Metrics: "metrics", Viewer: "viewer", Operator: "operator", Admin: "admin"}

// String returns the name of the role.
func (r Role) String() string {
	if r < NoRole || int(r) >= len(roleNames) {
		return fmt.Sprintf("role %d", int(r))
	}
	return roleNames[r]
}

// ParseRole parses the name of a role.
func ParseRole(name string) (Role, error) {
	if i := slices.Index(roleNames, name); i > int(NoRole) {
		return Role(i), nil
	}
	return NoRole, fmt.Errorf("must be one of %s",
		strings.Join([]string{"admin", "operator", "viewer", "metrics"}, ", "))
}

// MarshalText returns the name of the role.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText parses the name of a role.
func (r *Role) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRole(string(text))
	return err
}

// Grant is a role for all apps or for some.
type Grant struct {
	Role Role `json:"role"`
	// Apps are patterns of app names in the syntax of path.Match, such as billing-*. Empty means all apps.
	Apps []string `json:"apps,omitempty"`
}

const (
	// MaxPatterns is the greatest number of patterns in a grant.
	MaxPatterns = 100
	// maxPattern is the greatest number of bytes of a pattern.
	maxPattern = 200
)

// CheckApps returns what is wrong with the patterns, or "" if they are valid.
func CheckApps(patterns []string) string {
	if len(patterns) > MaxPatterns {
		return fmt.Sprintf("has %d patterns; the maximum is %d", len(patterns), MaxPatterns)
	}
	notInName := func(r rune) bool { return r <= ' ' || r > '~' || r == '/' || r == ',' }
	for _, p := range patterns {
		_, err := path.Match(p, "")
		if err != nil || p == "" || len(p) > maxPattern || strings.ContainsFunc(p, notInName) {
			return fmt.Sprintf("%q is not a pattern of app names, such as billing-* or an app's name", p)
		}
	}
	return ""
}

// Unrestricted reports whether the grant is for all apps.
func (g Grant) Unrestricted() bool { return len(g.Apps) == 0 }

// Covers reports whether the grant applies to the app. It does not consider the role.
func (g Grant) Covers(app string) bool {
	return g.Unrestricted() || slices.ContainsFunc(g.Apps,
		func(p string) bool { ok, err := path.Match(p, app); return ok && err == nil })
}

// Includes reports whether the role of the grant includes r.
func (g Grant) Includes(r Role) bool { return r != NoRole && g.Role >= r }
