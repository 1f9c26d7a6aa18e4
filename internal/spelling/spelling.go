// Package spelling finds the name that was probably meant with one that is not known: a field, a flag, a route or a
// file. It imports no other package of this repository.
package spelling

import "strings"

// Nearest is the candidate that differs from name in the fewest letters, or
// "" when more than a third of the letters of the longer of the two would have
// to change. Case, '_' and '-' make no difference.
func Nearest(name string, candidates []string) string {
	best, fewest := "", 0
	plain := strings.NewReplacer("_", "", "-", "")
	name = plain.Replace(strings.ToLower(name))
	for _, candidate := range candidates {
		other := plain.Replace(strings.ToLower(candidate))
		most := max(len(name), len(other)) / 3
		if max(len(name)-len(other), len(other)-len(name)) > most {
			continue
		}
		d := Distance(name, other)
		if d <= most && (best == "" || d < fewest) {
			best, fewest = candidate, d
		}
	}
	return best
}

// Distance is the number of letters to insert, remove or replace to get
// from a to b (Levenshtein). What is beyond 64 letters of either counts as different.
func Distance(a, b string) int {
	const most = 64
	extra := max(0, len(a)-most) + max(0, len(b)-most)
	a, b = a[:min(len(a), most)], b[:min(len(b), most)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)] + extra
}
