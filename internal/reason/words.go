package reason

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
)

// A file of words has one line "code: template" per code. In a template, {name} is replaced by an argument,
// {name?words} by the argument or, without it, the words, and {name|one|many} by one of two forms depending on whether
// the argument is 1, with # for the number. A part in [] is left out if an argument in it is missing. A nested reason
// is replaced by its words.
var (
	//go:embed en.txt
	english string
	//go:embed zh.txt
	chinese string

	templates = [...]map[Code]template{English: parse(english), Chinese: parse(chinese)}
)

// template is a line of a file of words. Its sections at odd indexes are optional.
type template struct {
	text     string
	sections [][]piece
}

// piece is a text and, if name is not empty, the argument after it.
type piece struct {
	plain, name string
	// counted says that the argument is a number, which is replaced by one of two forms.
	counted   bool
	one, many string
	// optional says that the argument may be missing. It is then replaced by otherwise.
	optional  bool
	otherwise string
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

// Language is a language of the templates.
type Language int

// English is the language of the API, the log, messages and the command line; Chinese is also available in the
// console.
const (
	English Language = iota
	Chinese
)

// Words returns the reason as one sentence without a full stop. For an unknown code, which a later release has
// written, it returns the code.
func (r Reason) Words(in Language) string {
	if r.IsZero() {
		return ""
	}
	return string(r.appendWords(make([]byte, 0, 200), in))
}

func (r Reason) appendWords(b []byte, in Language) []byte {
	t, ok := templates[in][r.code]
	if !ok {
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

// Codes returns all codes, sorted.
func Codes() []Code { return slices.Sorted(maps.Keys(templates[English])) }
