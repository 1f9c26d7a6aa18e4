package reason

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
)

// A file of words has one line "code: template" for each code. In a template, {name} stands for an argument,
// {name?words} for it or those words where it is missing, and {name|one|many} for one of two forms by whether it is 1,
// with # for the number. What stands in [] is left out where an argument in it is missing. An argument that is a
// reason in turn stands for its words.
var (
	//go:embed en.txt
	english string
	//go:embed zh.txt
	chinese string

	templates = [...]map[Code]template{English: parse(english), Chinese: parse(chinese)}
)

// template is a line of such a file: sections, of which those at odd places are optional.
type template struct {
	text     string
	sections [][]piece
}

// piece is a text and the argument behind it, if that has a name.
type piece struct {
	plain, name string
	one, many   string // where counted is set
	otherwise   string // where optional is set
	counted     bool
	optional    bool
}

func parse(file string) map[Code]template {
	words := map[Code]template{}
	for line := range strings.Lines(file) {
		code, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		t := template{text: text}
		for rest, found := text, true; found; {
			var section string
			section, rest, found = strings.Cut(rest, [...]string{"[", "]"}[len(t.sections)%2])
			t.sections = append(t.sections, pieces(section))
		}
		words[Code(code)] = t
	}
	return words
}

func pieces(section string) (all []piece) {
	for {
		var p piece
		var found bool
		p.plain, section, found = strings.Cut(section, "{")
		if !found {
			return append(all, p)
		}
		field, rest, _ := strings.Cut(section, "}")
		section = rest
		p.name, p.otherwise, p.optional = strings.Cut(field, "?")
		p.name, p.one, p.counted = strings.Cut(p.name, "|")
		p.one, p.many, _ = strings.Cut(p.one, "|")
		all = append(all, p)
	}
}

// Language is one that reasons can be said in.
type Language int

// English is the language of the API, the log, messages and the command line, Chinese another one of the console.
const (
	English Language = iota
	Chinese
)

// Words says a reason in one sentence, without a full stop. A code that this release does not know is said by its
// name.
func (r Reason) Words(in Language) string {
	if r.IsZero() {
		return ""
	}
	return string(r.appendWords(make([]byte, 0, 200), in))
}

func (r Reason) appendWords(b []byte, in Language) []byte {
	t, known := templates[in][r.code]
	if !known {
		return append(b, r.code...)
	}
	for i, section := range t.sections {
		if i%2 == 0 || r.hasAll(section) {
			b = r.fill(b, section, in)
		}
	}
	return b
}

func (r Reason) hasAll(section []piece) bool {
	for i := range section {
		if p := &section[i]; p.name != "" && !p.optional && r.arg(p.name) == nil {
			return false
		}
	}
	return true
}

func (r Reason) fill(b []byte, section []piece, in Language) []byte {
	for i := range section {
		p := &section[i]
		b = append(b, p.plain...)
		switch a := r.arg(p.name); {
		case a == nil:
			b = append(b, p.otherwise...)
		case p.counted && a.text == "1":
			b = append(b, p.one...)
		case p.counted:
			b = append(b, strings.ReplaceAll(p.many, "#", a.text)...)
		case !a.inner.IsZero():
			b = a.inner.appendWords(b, in)
		default:
			b = append(b, a.text...)
		}
	}
	return b
}

// Codes are all codes, sorted.
func Codes() []Code { return slices.Sorted(maps.Keys(templates[English])) }
