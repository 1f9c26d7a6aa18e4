package step

import (
	"maps"
	"slices"
)

// SortedKeys returns the keys of a map in ascending order, so that the same events give the same decisions.
func SortedKeys[K interface{ ~string | ~int }, V any](m map[K]V) []K {
	keys := slices.AppendSeq(make([]K, 0, len(m)), maps.Keys(m))
	slices.Sort(keys)
	return keys
}

// SortedValues returns the values of a map in the order of their keys.
func SortedValues[K interface{ ~string | ~int }, V any](m map[K]V) []V {
	values := make([]V, 0, len(m))
	for _, k := range SortedKeys(m) {
		values = append(values, m[k])
	}
	return values
}
