package convert

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/document"
)

// setting is a value in the source. line and key are its line and its name in the source.
type setting struct {
	text string
	line int
	key  string
	// unknown is true if text is an expression, and its value is not in the source.
	unknown bool
}

// record contains the settings of one object of the source, such as a row of a table, by the plainKey of their names.
// A converter takes the settings that it uses. The other settings must be reported.
type record struct {
	line     int
	settings map[string]setting
}

// plainKey returns the name of a column, key or attribute in lower case, without '-', '_' and blanks. So the names in
// XXL-JOB's tables and JSON become the same, and also shardingTotalCount and sharding-total-count in Spring's
// configuration.
func plainKey(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(name))
}

// take removes the named settings, and returns the first of them that is not empty. If all are empty, it returns the
// last one that is given, or a zero setting.
func (r record) take(names ...string) (first setting) {
	for _, name := range names {
		if first.key == "" || first.text == "" {
			first = cmp.Or(r.settings[name], first)
		}
		delete(r.settings, name)
	}
	return first
}

// leave removes settings that this scheduler does not need. finish adds one note that names all of them.
func (b *builder) leave(r record, names ...string) {
	for _, name := range names {
		if s := r.take(name); s.text != "" {
			b.unneeded[s.key] = true
		}
	}
}

// leftovers collects the settings of all records of a source that no converter has taken.
type leftovers struct {
	kind   string // the word for a setting: "column" or "key"
	byName map[string]*leftover
}

// leftover is a setting, as it was found first, and its values for all jobs.
type leftover struct {
	setting
	values []string
}

// add adds the settings that remain in a record of the named job.
func (l *leftovers) add(job string, r record) {
	for _, name := range slices.Sorted(maps.Keys(r.settings)) {
		s := r.settings[name]
		if s.text == "" {
			continue
		}
		if l.byName == nil {
			l.byName = map[string]*leftover{}
		}
		if l.byName[name] == nil {
			l.byName[name] = &leftover{setting: s}
		}
		l.byName[name].values = append(l.byName[name].values, strings.TrimPrefix(job+" ", " ")+shownValue(s))
	}
}

// report adds a remark for each name, with the values of the first jobs.
func (l *leftovers) report(b *builder) {
	const limit = 5
	for _, name := range slices.Sorted(maps.Keys(l.byName)) {
		s := l.byName[name]
		examples, more := s.values, ""
		if len(examples) > limit {
			examples, more = examples[:limit], fmt.Sprintf(" and %d more", len(s.values)-limit)
		}
		b.toDo(s.line, "", "the %s %s is not known, and is left out: %s%s", l.kind, s.key,
			strings.Join(examples, ", "), more)
	}
}

// shownValue returns a value for a remark: shortened, and without secrets.
func shownValue(s setting) string {
	shown := document.Text{Value: s.text}.Shown(s.key).Value
	const limit = 60
	if cut := []rune(shown); len(cut) > limit {
		shown = string(cut[:limit]) + "…"
	}
	return fmt.Sprintf("%q", shown)
}
