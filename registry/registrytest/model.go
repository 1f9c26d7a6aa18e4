package registrytest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/elasticjob-go/elasticjob/registry"
)

// world is the expected content of a registry.
type world map[string]registry.Entry

// apply is the specification of Commit. It returns the world after all writes or, if there is a conflict, the
// unchanged world and the path of the first conflict.
func (w world) apply(writes []registry.Write) (after world, conflict string) {
	after = maps.Clone(w)
	for _, write := range writes {
		e, exists := after[write.Path]
		if !write.If.Met(exists, e.Version) {
			return w, write.Path
		}
		switch {
		case write.Delete:
			delete(after, write.Path)
		case exists:
			after[write.Path] = entry(write.Path, string(write.Value), e.Version+1)
		default:
			after[write.Path] = entry(write.Path, string(write.Value), 0)
		}
	}
	return after, ""
}

func (w world) below(path string) (found []registry.Entry) {
	prefix := strings.TrimSuffix(path, "/") + "/"
	for _, p := range slices.Sorted(maps.Keys(w)) {
		if strings.HasPrefix(p, prefix) {
			found = append(found, w[p])
		}
	}
	return found
}

// model runs random commits in several terms and compares all reads with a world.
func model(t *testing.T, s Store) {
	var leaves []string
	for _, folder := range []string{"/m/a", "/m/a-b", "/m/ab", "/m/a/deep"} {
		for i := range 3 {
			leaves = append(leaves, fmt.Sprintf("%s/%d", folder, i))
		}
	}
	path := rapid.SampledFrom(leaves)
	condition := rapid.Custom(func(t *rapid.T) registry.Condition {
		switch rapid.IntRange(0, 5).Draw(t, "condition") {
		case 0:
			return registry.Absent()
		case 1:
			return registry.AtVersion(rapid.Int64Range(0, 2).Draw(t, "version"))
		default:
			return registry.Condition{}
		}
	})
	write := rapid.Custom(func(t *rapid.T) registry.Write {
		w := registry.Write{Path: path.Draw(t, "path"), If: condition.Draw(t, "if"),
			Delete: rapid.IntRange(0, 3).Draw(t, "delete") == 0}
		if !w.Delete {
			w.Value = rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "value")
		}
		return w
	})
	folders := rapid.SampledFrom([]string{"/", "/m", "/m/a", "/m/a-b", "/m/ab", "/m/a/deep", "/m/a/deep/1", "/n"})

	r, term := s.lead(t)
	rapid.Check(t, func(rt *rapid.T) {
		now := world{}
		var deletes []registry.Write
		for _, e := range list(t, term, "/") {
			deletes = append(deletes, del(e.Path))
		}
		if err := term.Commit(t.Context(), deletes); err != nil {
			rt.Fatal(err)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"commit": func(rt *rapid.T) {
				writes := rapid.SliceOfN(write, 0, 4).Draw(rt, "writes")
				after, conflict := now.apply(writes)
				err := term.Commit(t.Context(), writes)
				var c *registry.Conflict
				switch {
				case conflict == "" && err != nil:
					rt.Fatalf("commit: %v", err)
				case conflict != "" && (!errors.As(err, &c) || c.Path != conflict):
					rt.Fatalf("commit: got %v, want a conflict at %s", err, conflict)
				}
				now = after
			},
			"new term": func(rt *rapid.T) {
				if err := term.Resign(t.Context()); err != nil {
					rt.Fatal(err)
				}
				next, err := r.Campaign(t.Context(), "x")
				if err != nil {
					rt.Fatal(err)
				}
				term = next
			},
			"": func(rt *rapid.T) {
				folder := folders.Draw(rt, "folder")
				found, err := term.List(t.Context(), folder)
				if err != nil {
					rt.Fatal(err)
				}
				if diff := cmp.Diff(now.below(folder), found, cmpopts.EquateEmpty()); diff != "" {
					rt.Fatalf("list %s (-want +got):\n%s", folder, diff)
				}
				p := path.Draw(rt, "get")
				got, err := term.Get(t.Context(), p)
				want, exists := now[p]
				if !exists && errors.Is(err, registry.ErrNotFound) {
					return
				}
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || !exists || err != nil {
					rt.Fatalf("get %s: error %v (-want +got):\n%s", p, err, diff)
				}
			},
		})
	})
}
