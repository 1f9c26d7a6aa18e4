package route

import (
	"net/http"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/spelling"
)

// Nearest returns the route that a client most likely meant by a path that matches no route: one of the same method in
// which one segment is misspelled, missing or too many. It returns nil if no route is near, or if several are equally
// near, because a wrong guess would mislead.
func Nearest(table []Route, method, path string) *Route {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	var best *Route
	fewest, tied := 0, false
	for i := range table {
		r := &table[i]
		if r.Method != method || r.Path == "/" {
			continue
		}
		if d, near := pathDistance(segments(path), segments(r.Path)); near && (best == nil || d <= fewest) {
			tied = best != nil && d == fewest
			best, fewest = r, d
		}
	}
	if tied {
		return nil
	}
	return best
}

func segments(path string) []string { return strings.Split(strings.Trim(path, "/"), "/") }

// pathDistance compares two paths segment by segment. One segment of the given path may be missing or too many. Every
// other segment must match a variable, or equal the literal of the template with at most one wrong letter in three. A
// missing last segment costs more, because there are many candidates for it. Two paths are near only if they share a
// segment other than "api".
func pathDistance(given, wanted []string) (distance int, near bool) {
	const segmentCost = 4 // the cost of a missing or superfluous segment
	consider := func(d int, ok bool) {
		if d += segmentCost; ok && (!near || d < distance) {
			distance, near = d, true
		}
	}
	switch len(wanted) - len(given) {
	case 0:
		return substitutionDistance(given, wanted)
	case 1:
		for i := range wanted {
			d, ok := substitutionDistance(given, without(wanted, i))
			if i == len(wanted)-1 {
				d++
			}
			consider(d, ok)
		}
	case -1:
		for i := range given {
			consider(substitutionDistance(without(given, i), wanted))
		}
	}
	return distance, near
}

func without(list []string, i int) []string { return slices.Delete(slices.Clone(list), i, i+1) }

func substitutionDistance(given, wanted []string) (distance int, near bool) {
	for i, word := range wanted {
		switch {
		case word[0] == '{':
			if given[i] == "" {
				return 0, false
			}
			distance++ // so that a route with a matching literal wins
			continue
		case given[i] != word:
			if word == "api" || given[i] == "api" || spelling.Nearest(given[i], []string{word}) == "" {
				return 0, false
			}
			distance += 2 * spelling.Distance(given[i], word)
		}
		near = near || word != "api"
	}
	return distance, near
}
