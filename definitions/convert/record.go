package convert

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/document"
)

// setting is a value in the source, with its line and its name there.
type setting struct {
	text string
	line int
	key  string
	// unknown is true if text is an expression whose value is not in the source.
	unknown bool
}

// record has the settings of one object of the source, such as a row of a table, by the plainKey of their names. A
// converter takes what it uses; what remains must be reported.
type record struct {
	line     int
	settings map[string]setting
}

// plainKey normalizes the name of a column, key or attribute: no case, '-', '_' or blank. XXL-JOB's tables and JSON then
// agree, and so do shardingTotalCount and sharding-total-count in Spring's configuration.
func plainKey(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(name))
}

// take returns the first of the settings that is given, and removes all of them.
func (r record) take(names ...string) (first setting) {
	for _, name := range names {
		if first.key == "" || first.text == "" {
			first = cmp.Or(r.settings[name], first)
		}
		delete(r.settings, name)
	}
	return first
}

// leave takes settings that nothing here needs. They are named once for the whole source.
func (b *builder) leave(r record, names ...string) {
	for _, name := range names {
		if s := r.take(name); s.text != "" {
			b.left[s.key] = true
		}
	}
}

// leftovers collects settings that no converter has taken, over all records of a source.
type leftovers struct {
	kind   string // what they are: "column", "key"
	values map[string]*leftover
}

type leftover struct {
	setting
	values []string
}

// add notes the settings that remain in a record of the named job.
func (l *leftovers) add(job string, r record) {
	for _, name := range slices.Sorted(maps.Keys(r.settings)) {
		one := r.settings[name]
		if one.text == "" {
			continue
		}
		if l.values == nil {
			l.values = map[string]*leftover{}
		}
		if l.values[name] == nil {
			l.values[name] = &leftover{setting: one}
		}
		l.values[name].values = append(l.values[name].values, strings.TrimPrefix(job+" ", " ")+shownValue(one))
	}
}

// report makes a remark for each name, with the values of the first jobs.
func (l *leftovers) report(b *builder) {
	const limit = 5
	for _, name := range slices.Sorted(maps.Keys(l.values)) {
		one := l.values[name]
		examples, more := one.values, ""
		if len(examples) > limit {
			examples, more = examples[:limit], fmt.Sprintf(" and %d more", len(one.values)-limit)
		}
		b.lost(one.line, "", "the %s %s is not known, and is left out: %s%s", l.kind, one.key,
			strings.Join(examples, ", "), more)
	}
}

// shownValue returns a value for a remark: short, and not a secret.
func shownValue(s setting) string {
	shown := document.Text{Value: s.text}.Shown(s.key).Value
	const limit = 60
	if cut := []rune(shown); len(cut) > limit {
		shown = string(cut[:limit]) + "…"
	}
	return fmt.Sprintf("%q", shown)
}
