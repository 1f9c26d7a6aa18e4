package local

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The recordings in testdata/mesos are what Apache Mesos 1.12.0 answered: each
// file is a map from a situation to a request, the answer, or the events that came.
// The replay brings cluster/local into the same situations and compares every field.
//
// normalise makes two runs comparable. It maps, on both sides alike,
//
//	ids            of frameworks, agents, offers, and all other UUIDs, wherever they stand in a text,
//	               numbered by their first appearance: what was equal stays equal
//	uuid           of updates, likewise
//	times          timestamp, mtime, nanoseconds, t, at, after_s
//	executor_pid   numbered likewise
//	ports          the number in "port", and what follows 127.0.0.1:
//	paths          of the work folder, the executor and its log, to the names that the recording gives them
//	owners         uid and gid of files: whoever runs the test
//
// and nothing else. What is different all the same is in the table of differences.
type normaliser struct {
	paths  *strings.Replacer
	labels map[string]string
	counts map[string]int
}

var (
	identity = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(-[OS]?\d+)?`)
	portOf   = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	mapped   = map[string]string{
		"timestamp": "TIME", "mtime": "TIME", "nanoseconds": "TIME", "t": "TIME", "at": "TIME", "after_s": "TIME",
		"port": "PORT", "uid": "OWNER", "gid": "OWNER",
	}
	numbered = map[string]bool{"uuid": true, "executor_pid": true}
)

func (n *normaliser) label(kind, value string) string {
	key := kind + " " + value
	if n.labels[key] == "" {
		n.counts[kind]++
		n.labels[key] = fmt.Sprintf("<%s %d>", kind, n.counts[kind])
	}
	return n.labels[key]
}

func (n *normaliser) text(s string) string {
	s = n.paths.Replace(s)
	s = portOf.ReplaceAllString(s, "127.0.0.1:PORT")
	return identity.ReplaceAllStringFunc(s, func(id string) string {
		switch rest := id[36:]; {
		case strings.HasPrefix(rest, "-O"):
			return n.label("offer", id)
		case strings.HasPrefix(rest, "-S"):
			return n.label("agent", id)
		case rest != "":
			return n.label("framework", id)
		}
		return n.label("id", id)
	})
}

func (n *normaliser) value(value any) any {
	switch value := value.(type) {
	case string:
		return n.text(value)
	case []any:
		list := make([]any, len(value))
		for i := range value {
			list[i] = n.value(value[i])
		}
		return list
	case map[string]any:
		fields := make(map[string]any, len(value))
		for _, name := range slices.Sorted(maps.Keys(value)) {
			switch field := value[name]; {
			case numbered[name]:
				fields[name] = n.label(name, fmt.Sprint(field))
			case mapped[name] != "":
				fields[name] = standIn(mapped[name], field)
			default:
				fields[name] = n.value(field)
			}
		}
		return fields
	}
	return value
}

// standIn replaces a value, or each in a list; an object is no time or port, and stays.
func standIn(name string, value any) any {
	switch value := value.(type) {
	case map[string]any:
		return value
	case []any:
		list := make([]any, len(value))
		for i := range value {
			list[i] = standIn(name, value[i])
		}
		return list
	}
	return name
}

// difference is a part of the recordings that cluster/local does not repeat, or not to the letter.
type difference struct {
	// situation is "file: name"; a name of * is every situation of the file, a
	// file of * all files.
	situation string
	reason    string
	// drop takes it out of a normalised value, on both sides.
	drop func(any) any
}

var differences = []difference{
	{"*: *", "Content-Length depends on the ids and paths in the body; it was held against the body's length when it came",
		func(v any) any { return each(v, func(m object) { delete(m, "Content-Length") }) }},
	{"*: *", "when heartbeats come within the recorded time depends on the interval; subscribe.json has one, which is compared",
		func(v any) any {
			return filter(v, func(e any) bool { return field(e, "type") == "HEARTBEAT" && len(e.(object)) == 1 })
		}},
	{"*: *", "what an executor calls its program: in the recording a script, here the test itself",
		func(v any) any {
			return each(v, func(m object) {
				if argv, is := m["argv"].([]any); is {
					m["argv"] = argv[1:]
				}
			})
		}},
	{"*: *", "how often an executor tries to find its agent follows the time that it is away, and one try may meet the very moment of its end: of tries in a row the last counts",
		func(v any) any {
			failed := func(e any) bool { return field(e, "kind") == "resubscribe failed" }
			return each(v, func(m object) {
				if log, is := m["log"].([]any); is {
					var kept []any
					for i, e := range log {
						if !failed(e) || i+1 == len(log) || !failed(log[i+1]) {
							kept = append(kept, e)
						}
					}
					m["log"] = kept
				}
			})
		}},
	{"files.json: *", "the recording has the answer's JSON as text; it is compared field by field", bodyAsJSON},
	{"updates.json: launch on an unknown offer", "null is the recorder's note that no RESCIND came; the replay waits for none either", nil},
	{"updates.json: two tasks with one id", "null is the recorder's note that a third event did not come, since the second was not acknowledged; the replay waits for none either",
		func(v any) any { return filter(v, func(e any) bool { return e == nil }) }},
	{"offers.json: offers event", "the order of resources in an offer is that of a hash map in Mesos", sortResources},
	{"offers.json: offer after use", "as above", sortResources},
	{"executor.json: offer while the executor runs (executor_ids)", "as above", sortResources},
	{"master-restart.json: offer with the running executor", "as above", sortResources},
	{"master-restart.json: subscribe again with the id", "Mesos tells tasks of one agent in the order of a hash map", sortUpdates},
	{"master-restart.json: implicit reconcile", "as above", sortUpdates},
	{"teardown.json: stream", "as above", sortUpdates},
}

// each calls do for every object in v, which may change it, and returns v.
func each(v any, do func(object)) any {
	switch v := v.(type) {
	case object:
		do(v)
		for _, field := range v {
			each(field, do)
		}
	case []any:
		for _, item := range v {
			each(item, do)
		}
	}
	return v
}

// filter takes items out of every list in v.
func filter(v any, out func(any) bool) any {
	return each(v, func(m object) {
		for name, field := range m {
			if list, is := field.([]any); is {
				m[name] = slices.DeleteFunc(slices.Clone(list), out)
			}
		}
	})
}

func bodyAsJSON(v any) any {
	return each(v, func(m object) {
		var body any
		if text, is := m["body"].(string); is && json.Unmarshal([]byte(text), &body) == nil {
			m["body"] = body
		}
	})
}

func sortBy(v any, list string, key func(any) string) any {
	return each(v, func(m object) {
		if l, is := m[list].([]any); is {
			slices.SortFunc(l, func(a, b any) int { return strings.Compare(key(a), key(b)) })
		}
	})
}

func sortResources(v any) any {
	return sortBy(v, "resources", func(r any) string { return fmt.Sprint(field(r, "name")) })
}

// sortUpdates leaves other events where they are: before the updates.
func sortUpdates(v any) any {
	return sortBy(v, "events", func(e any) string {
		if field(e, "type") != "UPDATE" {
			return ""
		}
		return fmt.Sprint(field(e, "update", "status", "task_id", "value"))
	})
}

func field(value any, path ...string) any {
	for _, name := range path {
		m, _ := value.(object)
		value = m[name]
	}
	return value
}

// recordings are all files, and which of their situations were replayed.
type recordings struct {
	files map[string]object

	mu       sync.Mutex
	replayed map[string]bool
}

func loadRecordings(t *testing.T) *recordings {
	t.Helper()
	r := &recordings{files: map[string]object{}, replayed: map[string]bool{}}
	entries, err := os.ReadDir("testdata/mesos")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		content, err := os.ReadFile("testdata/mesos/" + entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		var file object
		if err := json.Unmarshal(content, &file); err != nil {
			t.Fatalf("%s: %v", entry.Name(), err)
		}
		r.files[entry.Name()] = file
	}
	return r
}

// get returns a situation as it was recorded.
func (r *recordings) get(t *testing.T, file, situation string) object {
	t.Helper()
	recorded, is := r.files[file+".json"][situation].(object)
	if !is {
		t.Fatalf("%s.json has no %q", file, situation)
	}
	return recorded
}

// compare holds what came against a situation: all its parts but the request.
func (r *recordings) compare(t *testing.T, paths *strings.Replacer, file, situation string, got object) {
	t.Helper()
	want := maps.Clone(r.get(t, file, situation))
	delete(want, "request")
	r.mu.Lock()
	r.replayed[file+".json: "+situation] = true
	r.mu.Unlock()
	sides := [2]any{want, got}
	for i := range sides {
		// Numbers, lists and objects as JSON has them; and a copy of our own.
		encoded, err := json.Marshal(sides[i])
		if err != nil {
			t.Fatal(err)
		}
		var side any
		if err := json.Unmarshal(encoded, &side); err != nil {
			t.Fatal(err)
		}
		for _, d := range differences {
			if d.applies(file+".json: "+situation) && d.drop != nil {
				side = d.drop(side)
			}
		}
		n := &normaliser{paths: paths, labels: map[string]string{}, counts: map[string]int{}}
		sides[i] = n.value(side)
	}
	if diff := cmp.Diff(sides[0], sides[1]); diff != "" {
		t.Errorf("%s.json: %s: (-Mesos +here)\n%s", file, situation, diff)
	}
}

func (d *difference) applies(situation string) bool {
	file, _, _ := strings.Cut(situation, ": ")
	return d.situation == "*: *" || d.situation == file+": *" || d.situation == situation
}

// complete fails for each situation that was not replayed.
func (r *recordings) complete(t *testing.T) {
	t.Helper()
	for file, situations := range r.files {
		for situation := range situations {
			if name := file + ": " + situation; !r.replayed[name] {
				t.Errorf("not replayed: %s", name)
			}
		}
	}
}
