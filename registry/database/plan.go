package database

import (
	"slices"

	"github.com/elasticjob-go/elasticjob/registry"
)

// plan is a commit as statements make it: all deletes, then all puts, each path at most once in each.
type plan struct {
	writes []registry.Write
	// conditional are the paths that some write has a condition for.
	conditional []string
	deletes     []string
	puts        []put
}

// put stores a value. Before says how often the path was put in the same commit before, after its last delete there:
// so many versions are between the one that was there and the new one.
type put struct {
	path   string
	before int64
	value  []byte
}

func (p put) bytes() int { return len(p.path) + len(p.value) }

func newPlan(writes []registry.Write) plan {
	p := plan{writes: writes}
	conditional, deleted, at := map[string]bool{}, map[string]bool{}, map[string]int{}
	for _, w := range writes {
		if !w.If.Any() && !conditional[w.Path] {
			conditional[w.Path] = true
			p.conditional = append(p.conditional, w.Path)
		}
		i, there := at[w.Path]
		switch {
		case w.Delete:
			if !deleted[w.Path] {
				deleted[w.Path] = true
				p.deletes = append(p.deletes, w.Path)
			}
			if there {
				p.puts[i].path = "" // undone
				delete(at, w.Path)
			}
		case there:
			p.puts[i].before++
			p.puts[i].value = w.Value
		default:
			at[w.Path] = len(p.puts)
			p.puts = append(p.puts, put{path: w.Path, value: w.Value})
		}
	}
	p.puts = slices.DeleteFunc(p.puts, func(x put) bool { return x.path == "" })
	return p
}

// conflict is the path of the first write whose condition does not hold, of the versions that the conditional paths
// have; empty if all hold.
func (p plan) conflict(versions map[string]int64) string {
	for _, w := range p.writes {
		version, there := versions[w.Path]
		switch {
		case !w.If.Met(there, version):
			return w.Path
		case w.Delete:
			delete(versions, w.Path)
		case there:
			versions[w.Path]++
		default:
			versions[w.Path] = 0 // which is wrong where nobody asks for it
		}
	}
	return ""
}
