package reason

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
)

// A file of words has one line "code: template" for each code. In a template, {name} stands for an argument,
// {name?words} for it or those words where it is missing, and {name|one|many} for one of two forms by whether it is 1,
// with # for the number. What stands in [] is left out where an argument in it is missing. An argument that is a reason
// in turn stands for its words.
var (
	//go:embed en.txt
	english string
	//go:embed zh.txt
	chinese string

	templates = [...]map[Code]string{English: parse(english), Chinese: parse(chinese)}
)

func parse(file string) map[Code]string {
	words := map[Code]string{}
	for line := range strings.Lines(file) {
		code, template, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		words[Code(code)] = template
	}
	return words
}

// Language is one that reasons can be said in.
type Language int

// English is the language of the API, the log and the command line, Chinese one of the console and of messages.
const (
	English Language = iota
	Chinese
)

// Words says a reason in one sentence, without a full stop. A code that this release does not know is said by its name.
func (r Reason) Words(in Language) string {
	if r.IsZero() {
		return ""
	}
	template, known := templates[in][r.code]
	if !known {
		return string(r.code)
	}
	var b strings.Builder
	for template != "" {
		plain, rest, optional := strings.Cut(template, "[")
		r.fill(&b, plain, in)
		if !optional {
			break
		}
		section, rest, _ := strings.Cut(rest, "]")
		var filled strings.Builder
		if r.fill(&filled, section, in) {
			b.WriteString(filled.String())
		}
		template = rest
	}
	return b.String()
}

// fill writes a template without optional sections, and reports whether all arguments that it names are there.
func (r Reason) fill(b *strings.Builder, template string, in Language) (complete bool) {
	complete = true
	for {
		plain, rest, found := strings.Cut(template, "{")
		b.WriteString(plain)
		if !found {
			return complete
		}
		var field string
		field, template, _ = strings.Cut(rest, "}")
		name, otherwise, hasDefault := strings.Cut(field, "?")
		name, forms, counted := strings.Cut(name, "|")
		a, known := r.arg(name)
		switch {
		case !known && hasDefault:
			b.WriteString(otherwise)
		case !known:
			complete = false
		case counted:
			one, many, _ := strings.Cut(forms, "|")
			if a.text == "1" {
				many = one
			}
			b.WriteString(strings.ReplaceAll(many, "#", a.text))
		case !a.inner.IsZero():
			b.WriteString(a.inner.Words(in))
		default:
			b.WriteString(a.text)
		}
	}
}

// Templates are those of all codes in one language. They are not to be changed.
func Templates(in Language) map[Code]string { return templates[in] }

// Codes are all codes, sorted.
func Codes() []Code { return slices.Sorted(maps.Keys(templates[English])) }
