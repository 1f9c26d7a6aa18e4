// Package spelling finds the known name that is most similar to an unknown name, such as that of a field, a flag or a
// route. It imports no other package of this repository.
package spelling

import "strings"

// Nearest returns the candidate with the smallest Distance to name. It ignores candidates whose distance exceeds a
// third of the longer name, and returns "" if none remains. Case, '_' and '-' do not count.
func Nearest(name string, candidates []string) string {
	nearest, smallest := "", 0
	plain := strings.NewReplacer("_", "", "-", "")
	name = plain.Replace(strings.ToLower(name))
	for _, candidate := range candidates {
		other := plain.Replace(strings.ToLower(candidate))
		limit := max(len(name), len(other)) / 3
		if max(len(name)-len(other), len(other)-len(name)) > limit {
			continue
		}
		d := Distance(name, other)
		if d <= limit && (nearest == "" || d < smallest) {
			nearest, smallest = candidate, d
		}
	}
	return nearest
}

// Distance returns the number of bytes to insert, remove or replace to get from a to b (Levenshtein). Bytes beyond the
// 64th of either count as different.
func Distance(a, b string) int {
	const limit = 64
	extra := max(0, len(a)-limit) + max(0, len(b)-limit)
	a, b = a[:min(len(a), limit)], b[:min(len(b), limit)]
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
