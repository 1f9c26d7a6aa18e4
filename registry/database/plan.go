package database

import (
	"slices"

	"github.com/elasticjob-go/elasticjob/registry"
)

// plan is a commit in the form of its statements: first all deletes, then all puts, each path at most once in each
// list.
type plan struct {
	writes []registry.Write
	// conditional are the paths of the writes that have a condition.
	conditional []string
	deletes     []string
	puts        []put
}

// put stores a value. before counts the earlier puts of the path in the same commit, after its last delete there: the
// version grows by so many additional steps.
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
				p.puts[i].path = "" // the delete cancels the put
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

// conflict returns the path of the first write whose condition does not hold, given the versions of the conditional
// paths. It returns "" if all hold.
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
			versions[w.Path] = 0 // a wrong version, but only conditional paths are read
		}
	}
	return ""
}
