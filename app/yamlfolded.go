package app

import "strings"

// folded reads on where a value goes on in the next lines, as the original writes
// what is longer than 80 characters or has lines: plain, or in single quotes. Indent is that of the
// value's name. It returns what comes after the value; false says that there is a doubt.
func folded(line string, value scalar, ok bool, text string, indent int) (whole scalar, rest string, sure bool) {
	deeper := strings.Repeat(" ", indent+1)
	if ok && (!value.plain || value.text == "") {
		return value, text, true
	}
	if !ok {
		return foldedQuotes(line, text, deeper)
	}
	var b strings.Builder
	for text != "" {
		next, after, _ := strings.Cut(text, "\n")
		if !strings.HasPrefix(next, deeper) {
			break
		}
		if next = strings.TrimLeft(next, " "); !goesOn(next) {
			return value, text, false
		}
		if b.Len() == 0 {
			b.WriteString(value.text)
		}
		b.WriteByte(' ')
		b.WriteString(next)
		text = after
	}
	if b.Len() > 0 {
		value.text = b.String()
	}
	return value, text, true
}

// goesOn reports whether a line is a part of the plain text before it, and nothing else.
func goesOn(line string) bool {
	return line != "" && !strings.ContainsAny(line[:1], "-?:,[]{}#&*!|>'\"%@`") && !strings.Contains(line, ": ") && !strings.Contains(line, " #") &&
		!strings.HasSuffix(line, ":") && !strings.HasSuffix(line, " ") && !strings.ContainsFunc(line, isControl)
}

// foldedQuotes reads a text in single quotes that does not end with its first line.
func foldedQuotes(line, text, deeper string) (value scalar, rest string, sure bool) {
	_, after, ok := splitName(line)
	part, quoted := strings.CutPrefix(after, " '")
	if !ok || !quoted || part == "" {
		return value, text, false
	}
	var b strings.Builder
	quotes, blank := 0, 0
	for {
		if strings.HasSuffix(part, " ") || strings.ContainsFunc(part, isControl) {
			return value, text, false
		}
		quotes += strings.Count(part, "'")
		b.WriteString(part)
		if quotes%2 == 1 {
			break
		}
		for blank = 0; ; blank++ {
			if text == "" {
				return value, text, false
			}
			part, text, _ = strings.Cut(text, "\n")
			if part != "" {
				break
			}
		}
		if part, ok = strings.CutPrefix(part, deeper); !ok {
			return value, text, false
		}
		if part = strings.TrimLeft(part, " "); part == "" {
			return value, text, false
		}
		if b.WriteString(strings.Repeat("\n", blank)); blank == 0 {
			b.WriteByte(' ')
		}
	}
	inner, ends := strings.CutSuffix(b.String(), "'")
	if !ends || strings.Contains(strings.ReplaceAll(inner, "''", ""), "'") {
		return value, text, false
	}
	value.text = strings.ReplaceAll(inner, "''", "'")
	return value, text, true
}
