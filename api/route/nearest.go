package route

import (
	"net/http"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/spelling"
)

// Nearest returns the route that a client most likely meant by a path that matches no route. Only routes with the same
// method count, and only those that are near to the path (pathDistance). It returns nil if no route is near, or if
// several are equally near, because a wrong guess would mislead.
func Nearest(table []Route, method, path string) *Route {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	var best *Route
	bestDistance, tied := 0, false
	for i := range table {
		r := &table[i]
		if r.Method != method || r.Path == "/" {
			continue
		}
		if d, near := pathDistance(segments(path), segments(r.Path)); near && (best == nil || d <= bestDistance) {
			tied = best != nil && d == bestDistance
			best, bestDistance = r, d
		}
	}
	if tied {
		return nil
	}
	return best
}

func segments(path string) []string { return strings.Split(strings.Trim(path, "/"), "/") }

// pathDistance compares the segments of a given path with those of a route's template. The given path may lack one
// segment or have one too many. Every other segment must match a variable, or equal the literal of the template with
// at most one wrong letter in three. A missing last segment costs more, because there are many candidates for it. Two
// paths are near only if they share a literal other than "api".
func pathDistance(given, template []string) (distance int, near bool) {
	const segmentCost = 4 // the cost of a missing or superfluous segment
	consider := func(d int, ok bool) {
		if d += segmentCost; ok && (!near || d < distance) {
			distance, near = d, true
		}
	}
	switch len(template) - len(given) {
	case 0:
		return substitutionDistance(given, template)
	case 1:
		for i := range template {
			d, ok := substitutionDistance(given, without(template, i))
			if i == len(template)-1 {
				d++
			}
			consider(d, ok)
		}
	case -1:
		for i := range given {
			consider(substitutionDistance(without(given, i), template))
		}
	}
	return distance, near
}

func without(list []string, i int) []string { return slices.Delete(slices.Clone(list), i, i+1) }

// substitutionDistance is pathDistance for a path and a template with the same number of segments.
func substitutionDistance(given, template []string) (distance int, near bool) {
	for i, segment := range template {
		switch {
		case segment[0] == '{':
			if given[i] == "" {
				return 0, false
			}
			distance++ // so that a route with a matching literal wins
			continue
		case given[i] != segment:
			if segment == "api" || given[i] == "api" || spelling.Nearest(given[i], []string{segment}) == "" {
				return 0, false
			}
			distance += 2 * spelling.Distance(given[i], segment)
		}
		near = near || segment != "api"
	}
	return distance, near
}
