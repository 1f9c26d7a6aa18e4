package convert

import (
	"maps"
	"slices"
	"strings"
)

// fillAll replaces Spring's variables in the values. It adds a remark about a variable without a value, because only
// the machine that runs the program knows its value.
func (r *liteJobReader) fillAll(values map[string]setting) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := values[name]
		filled, used := r.fill(value.text, 0)
		for _, v := range used {
			switch {
			case !v.known:
				r.toDo(value.line, "%s: ${%s} is a variable of Spring: write its value, or give the file that has it with --properties", value.key, v.name)
			case v.byDefault:
				r.note(value.line, r.d.Name(), "%s: the default of ${%s} was used", value.key, v.name)
			}
		}
		if strings.Contains(filled, "#{") {
			r.toDo(value.line, "%s: #{…} is an expression of Spring: write its value", value.key)
		}
		value.text = filled
		values[name] = value
	}
}

// variable is a ${name:default} in a text. known reports that it has a value, and byDefault that this is its default.
type variable struct {
	name             string
	known, byDefault bool
}

// fill replaces the variables in a text by their values: those of --properties, those of the file, or else their
// defaults. Values may contain variables too. depth is 0 for the text of a setting, 1 for the value of a variable in
// it, and so on.
func (l *lite) fill(text string, depth int) (out string, used []variable) {
	// A variable may contain itself. And each of a few variables may contain the next one twice, which doubles the
	// text.
	const maxDepth, maxUsed = 20, 1000
	for {
		begin := strings.Index(text, "${")
		end := closingBrace(text, begin)
		if begin < 0 || end < 0 || depth > maxDepth || len(used) > maxUsed {
			return out + text, used
		}
		name, defaultValue, hasDefault := strings.Cut(text[begin+2:end], ":")
		v := variable{name: name}
		var value string
		value, v.known = l.lookup(name)
		if !v.known && hasDefault {
			value, v.known, v.byDefault = defaultValue, true, true
		}
		if !v.known {
			value = text[begin : end+1]
		} else {
			var inner []variable
			value, inner = l.fill(value, depth+1)
			used = append(used, inner...)
		}
		used = append(used, v)
		out, text = out+text[:begin]+value, text[end+1:]
	}
}

// closingBrace returns the index of the brace that ends the variable at begin; -1 if there is none.
func closingBrace(text string, begin int) int {
	depth := 0
	for i := max(begin, 0); i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], "${"):
			depth++
		case text[i] == '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// lookup returns the value of a variable; false if it has none. As in Spring, names that differ only in case, '-' and
// '_' are the same.
func (l *lite) lookup(name string) (value string, known bool) {
	for _, values := range []map[string]string{l.options.Properties, l.values} {
		if value, known = values[name]; known {
			return value, true
		}
		for _, other := range slices.Sorted(maps.Keys(values)) {
			if plainKey(other) == plainKey(name) {
				return values[other], true
			}
		}
	}
	return "", false
}
