// Package route is what a route is: a path, who may use it, what answers it, and what the description of the API says of
// it.
package route

import (
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/limit"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/auth"
)

// Handler is a route's work: a value to answer as JSON, or an error.
type Handler func(c *gin.Context) (any, error)

// Route is one row of the table of all routes. Paths are written as in the
// documents, with variables in braces.
type Route struct {
	Method, Path string
	// Answer makes JSON.
	Answer Handler
	// Takes are the parameters of its query. Any other is refused, but with anyQuery, which is for probes.
	Takes    []request.Declared
	AnyQuery bool
	// tag is the group that the API's description has it in, does what that says of it beside its rule and its
	// parameters.
	tag  string
	Does Description
	// Raw, instead of answer, writes by itself.
	Raw gin.HandlerFunc
	// Lasts reports whether the answer lasts as long as its client likes, and streams counts those; nil for most.
	Lasts   func(*gin.Context) bool
	Streams *limit.Streams
	// Local is answered by every server itself, leader or not.
	Local bool
	// Rule says who may use it. A route without a whole one lets nobody in, and fails a test.
	Rule
}

// The rules of most routes.
var (
	Everybody      = Rule{Scope: Open}
	Themselves     = Rule{Scope: Oneself}
	Readers        = Rule{auth.Viewer, ByApp}
	Operators      = Rule{auth.Operator, ByApp}
	Publishers     = Rule{auth.Admin, ByApp}
	Scrapers       = Rule{auth.Metrics, Whole}
	ReadersOfAll   = Rule{auth.Viewer, Whole}
	OperatorsOfAll = Rule{auth.Operator, Whole}
	AdminsOfAll    = Rule{auth.Admin, Whole}
)

// Group puts routes into a group.
func Group(tag string, routes []Route) []Route {
	for i := range routes {
		routes[i].tag = tag
	}
	return routes
}

// ReservedNames are the literal segments that stand where other routes have the
// variable, after the same literals; whatever the method, so that a name stays
// usable when routes are added to its neighbours.
func ReservedNames(table []Route, variable string) []string {
	var names []string
	for _, r := range table {
		before, _, found := strings.Cut(r.Path, "{"+variable+"}")
		if !found {
			continue
		}
		for _, other := range table {
			rest, beside := strings.CutPrefix(other.Path, before)
			name, _, _ := strings.Cut(rest, "/")
			if beside && name != "" && name[0] != '{' {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Always is for routes all of whose answers last.
func Always(*gin.Context) bool { return true }
