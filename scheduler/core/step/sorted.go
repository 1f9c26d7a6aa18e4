package step

import "slices"

// SortedKeys returns the keys of a map in ascending order, so that the same events give the same decisions.
func SortedKeys[K interface{ ~string | ~int }, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
