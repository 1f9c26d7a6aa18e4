// Package route defines what a route is: its method and path, its rule of access, its handler and its entry in the
// API's description.
package route

import (
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/limit"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/auth"
)

// Handler does the work of a route. It returns a value to be answered as JSON, or an error.
type Handler func(c *gin.Context) (any, error)

// Route is one row of the table of all routes. Path is written as in the documents, with variables in braces.
type Route struct {
	Method, Path string
	// Answer is the handler of a route that answers with JSON.
	Answer Handler
	// Takes are the parameters of the query. A query with any other parameter is refused, unless AnyQuery is set, as
	// for probes.
	Takes    []request.Declared
	AnyQuery bool
	// tag is the route's group in the API's description. Does is the rest of the route's entry there, without its rule
	// and its parameters.
	tag  string
	Does Description
	// Raw is the handler of a route that writes its answer itself. A route has either Raw or Answer.
	Raw gin.HandlerFunc
	// IsStream reports whether the answer to a request lasts as long as the client wants. Streams counts such answers.
	// Both are nil for most routes.
	IsStream func(*gin.Context) bool
	Streams  *limit.Streams
	// Local is true for a route that every server answers itself. A follower forwards the requests of other routes to
	// the leader.
	Local bool
	// Rule says who may use the route. The zero value admits no caller; a test checks that no route has it.
	Rule
}

// These are the rules of most routes.
var (
	Public         = Rule{Scope: ScopePublic}
	Authenticated  = Rule{Scope: ScopeAuthenticated}
	Viewers        = Rule{auth.Viewer, ScopeByApp}
	Operators      = Rule{auth.Operator, ScopeByApp}
	Publishers     = Rule{auth.Admin, ScopeByApp}
	MetricsReaders = Rule{auth.Metrics, ScopeAllApps}
	ViewersOfAll   = Rule{auth.Viewer, ScopeAllApps}
	OperatorsOfAll = Rule{auth.Operator, ScopeAllApps}
	AdminsOfAll    = Rule{auth.Admin, ScopeAllApps}
)

// Group sets the tag of the routes and returns them.
func Group(tag string, routes []Route) []Route {
	for i := range routes {
		routes[i].tag = tag
	}
	return routes
}

// ReservedNames returns the literal path segments that other routes have in place of the variable. No app or job may
// have such a name. Routes count whatever their methods are. So a new method for an existing path makes no name
// unusable.
func ReservedNames(table []Route, variable string) []string {
	var names []string
	for _, r := range table {
		before, _, found := strings.Cut(r.Path, "{"+variable+"}")
		if !found {
			continue
		}
		for _, other := range table {
			rest, samePrefix := strings.CutPrefix(other.Path, before)
			name, _, _ := strings.Cut(rest, "/")
			if samePrefix && name != "" && name[0] != '{' {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Always is the IsStream of a route whose answers are all streams.
func Always(*gin.Context) bool { return true }
