package database

import (
	"slices"

	"github.com/elasticjob-go/elasticjob/registry"
)

// plan is a commit in the form of its statements: first all deletes, then all puts. conditional, deletes and puts have
// a path at most once; writes are the commit's own, in their order.
type plan struct {
	writes []registry.Write
	// conditional are the paths of the writes that have a condition.
	conditional []string
	deletes     []string
	puts        []put
}

// put stores a value. If a commit writes a path several times after the path's last delete, one put with the last
// value stands for all of these writes. earlier is the number of writes before the last one. A stored version grows by
// earlier and one more, and a new path begins at the version earlier.
type put struct {
	path    string
	earlier int64
	value   []byte
}

func (p put) bytes() int { return len(p.path) + len(p.value) }

func newPlan(writes []registry.Write) plan {
	p := plan{writes: writes}
	conditional, deleted := map[string]bool{}, map[string]bool{}
	putIndex := map[string]int{} // by path
	for _, w := range writes {
		if !w.If.IsZero() && !conditional[w.Path] {
			conditional[w.Path] = true
			p.conditional = append(p.conditional, w.Path)
		}
		i, hasPut := putIndex[w.Path]
		switch {
		case w.Delete:
			if !deleted[w.Path] {
				deleted[w.Path] = true
				p.deletes = append(p.deletes, w.Path)
			}
			if hasPut {
				p.puts[i].path = "" // the delete cancels the put
				delete(putIndex, w.Path)
			}
		case hasPut:
			p.puts[i].earlier++
			p.puts[i].value = w.Value
		default:
			putIndex[w.Path] = len(p.puts)
			p.puts = append(p.puts, put{path: w.Path, value: w.Value})
		}
	}
	p.puts = slices.DeleteFunc(p.puts, func(x put) bool { return x.path == "" })
	return p
}

// conflict returns the path of the first write whose condition does not hold, or "" if all conditions hold. versions
// are the stored versions of the conditional paths; conflict changes the map.
func (p plan) conflict(versions map[string]int64) string {
	for _, w := range p.writes {
		version, exists := versions[w.Path]
		switch {
		case !w.If.Met(exists, version):
			return w.Path
		case w.Delete:
			delete(versions, w.Path)
		case exists:
			versions[w.Path]++
		default:
			versions[w.Path] = 0 // for a path without conditions this may be wrong, but has no effect
		}
	}
	return ""
}
