package auth

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Role says what somebody may do; each includes the ones before it, but for Metrics, which is included in Viewer only.
type Role int

// The roles. The zero Role may do nothing.
const (
	NoRole   Role = iota
	Metrics       // reads /metrics, and nothing else
	Viewer        // reads
	Operator      // triggers, pauses, enables and disables, kills; publishes nothing
	Admin         // all, users and tokens included if it is for all apps
)

var roleNames = []string{NoRole: "", Metrics: "metrics", Viewer: "viewer", Operator: "operator", Admin: "admin"}

// String is the role's name as people write it.
func (r Role) String() string {
	if r < NoRole || int(r) >= len(roleNames) {
		return fmt.Sprintf("role %d", int(r))
	}
	return roleNames[r]
}

// ParseRole reads a role's name.
func ParseRole(name string) (Role, error) {
	if i := slices.Index(roleNames, name); i > int(NoRole) {
		return Role(i), nil
	}
	return NoRole, fmt.Errorf("must be one of %s",
		strings.Join([]string{"admin", "operator", "viewer", "metrics"}, ", "))
}

// MarshalText writes the role's name.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the role's name.
func (r *Role) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRole(string(text))
	return err
}

// Grant is a role, for all apps or for some.
type Grant struct {
	Role Role `json:"role"`
	// Apps are patterns of app names as path.Match has them, such as billing-*. None means all apps.
	Apps []string `json:"apps,omitempty"`
}

// MaxPatterns is how many patterns a grant may have.
const MaxPatterns = 100

// CheckApps says what is wrong with patterns, or nothing.
func CheckApps(patterns []string) string {
	if len(patterns) > MaxPatterns {
		return fmt.Sprintf("has %d patterns; %d are the most", len(patterns), MaxPatterns)
	}
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil || p == "" || len(p) > 200 ||
			strings.ContainsFunc(p, func(r rune) bool { return r <= ' ' || r > '~' || r == '/' || r == ',' }) {
			return fmt.Sprintf("%q is no pattern of app names; one is for instance billing-*, or an app's name", p)
		}
	}
	return ""
}

// Unrestricted reports whether the grant is for all apps.
func (g Grant) Unrestricted() bool { return len(g.Apps) == 0 }

// Covers reports whether the grant is for an app, whatever its role.
func (g Grant) Covers(app string) bool {
	return g.Unrestricted() || slices.ContainsFunc(g.Apps,
		func(p string) bool { ok, err := path.Match(p, app); return ok && err == nil })
}

// Includes reports whether the grant's role includes another.
func (g Grant) Includes(r Role) bool { return r != NoRole && g.Role >= r }
