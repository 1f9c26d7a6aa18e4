package route

import (
	"net/http"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/spelling"
)

// Nearest is the route that was most likely meant with a path that has none: one of the same method with a word
// written otherwise, left out, or too much. Nil when none is so near, or several are: an absurd guess would only
// mislead.
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

// pathDistance compares segment by segment. One of the path's may be missing or too many; every other is a variable's,
// or that of the template but for a letter in three. A word that is missing at the end counts more: which one of many
// would be a guess. Only those that share a word besides "api" are near.
func pathDistance(given, wanted []string) (distance int, near bool) {
	const aSegment = 4 // what a missing one, or one too many, counts
	consider := func(d int, ok bool) {
		if d += aSegment; ok && (!near || d < distance) {
			distance, near = d, true
		}
	}
	switch len(wanted) - len(given) {
	case 0:
		return sameLength(given, wanted)
	case 1:
		for i := range wanted {
			d, ok := sameLength(given, without(wanted, i))
			if i == len(wanted)-1 {
				d++
			}
			consider(d, ok)
		}
	case -1:
		for i := range given {
			consider(sameLength(without(given, i), wanted))
		}
	}
	return distance, near
}

func without(list []string, i int) []string { return slices.Delete(slices.Clone(list), i, i+1) }

func sameLength(given, wanted []string) (distance int, near bool) {
	for i, word := range wanted {
		switch {
		case word[0] == '{':
			if given[i] == "" {
				return 0, false
			}
			distance++ // so that a literal that matches wins
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
