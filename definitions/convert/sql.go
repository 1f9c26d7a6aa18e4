package convert

import (
	"slices"
	"strings"
)

// table has the rows of one table of a dump.
type table struct {
	name    string
	columns []string
	rows    []row
}

// row is a record: its fields by plainName of the column, and its line.
type row struct {
	line   int
	fields map[string]string
}

// plainName normalizes the name of a column or key: no case or '_', so that a table and the JSON of the same data
// agree.
func plainName(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// sqlToken is a word, a number, a quoted text or name, or one other character.
type sqlToken struct {
	text   string
	quoted bool // a text; names in backticks are plain words
	line   int
}

// sqlTokens splits a dump. It skips comments, including those that MySQL executes.
func sqlTokens(text string) (tokens []sqlToken) {
	line := 1
	for i := 0; i < len(text); {
		begin, from := i, line
		switch c := text[i]; {
		case strings.HasPrefix(text[i:], "--"), c == '#':
			i = endOf(text, i, "\n")
		case strings.HasPrefix(text[i:], "/*"):
			i = endOf(text, i, "*/")
		case c == '\'' || c == '"' || c == '`':
			var value string
			value, i = sqlQuoted(text, i)
			tokens = append(tokens, sqlToken{value, c == '\'', from})
		case isWord(c):
			for i < len(text) && isWord(text[i]) {
				i++
			}
			tokens = append(tokens, sqlToken{text[begin:i], false, from})
		default:
			i++
			if c > ' ' {
				tokens = append(tokens, sqlToken{text[begin:i], false, from})
			}
		}
		line += strings.Count(text[begin:i], "\n")
	}
	return tokens
}

func endOf(text string, from int, end string) int {
	if n := strings.Index(text[from:], end); n >= 0 {
		return from + n + len(end)
	}
	return len(text)
}

func isWord(c byte) bool {
	return c == '_' || c == '-' || c == '.' || c >= 0x80 || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' ||
		'a' <= c && c <= 'z'
}

var sqlEscapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', '0': 0}

// sqlQuoted reads a quoted text, in which quotes are doubled or preceded by '\'.
func sqlQuoted(text string, from int) (value string, end int) {
	var out strings.Builder
	quote := text[from]
	for i := from + 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quote != '`' && i+1 < len(text):
			i++
			if escaped, known := sqlEscapes[text[i]]; known {
				out.WriteByte(escaped)
			} else {
				out.WriteByte(text[i])
			}
		case c == quote && i+1 < len(text) && text[i+1] == quote:
			out.WriteByte(quote)
			i++
		case c == quote:
			return out.String(), i + 1
		default:
			out.WriteByte(c)
		}
	}
	return out.String(), len(text)
}

// sqlTables reads the tables that a dump fills with INSERT. The columns are those of the INSERT or of the CREATE
// TABLE. If a dump has neither, known returns them by the number of columns.
func sqlTables(text string, known func(table string, columns int) []string) map[string]*table {
	tables := map[string]*table{}
	tokens := sqlTokens(text)
	for from := 0; from < len(tokens); {
		end := from
		for end < len(tokens) && (tokens[end].text != ";" || tokens[end].quoted) {
			end++
		}
		readStatement(tokens[from:end], tables, known)
		from = end + 1
	}
	return tables
}

func readStatement(s []sqlToken, tables map[string]*table, known func(string, int) []string) {
	open := 0
	for open < len(s) && s[open].text != "(" && !s[open].is("VALUES") {
		open++
	}
	if open == len(s) || open == 0 {
		return
	}
	qualified := strings.Split(strings.ToLower(s[open-1].text), ".")
	name := qualified[len(qualified)-1]
	t := tables[name]
	if t == nil {
		t = &table{name: name}
	}
	switch {
	case s[0].is("CREATE"):
		t.columns = createdColumns(s[open:])
	case s[0].is("INSERT"), s[0].is("REPLACE"):
		t.insert(s[open:], known)
	default:
		return
	}
	tables[name] = t
}

func (t sqlToken) is(word string) bool { return !t.quoted && strings.EqualFold(t.text, word) }

// keyWords begin what is not a column in a CREATE TABLE.
var keyWords = []string{"PRIMARY", "KEY", "UNIQUE", "INDEX", "CONSTRAINT", "FOREIGN", "FULLTEXT", "CHECK"}

// createdColumns returns the names of the columns in the parentheses of a CREATE TABLE, without its keys.
func createdColumns(s []sqlToken) (columns []string) {
	depth, begins := 0, false
	for _, one := range s {
		switch {
		case one.is("("):
			depth++
			begins = depth == 1
		case one.is(")"):
			depth--
		case one.is(","):
			begins = depth == 1
		case begins:
			begins = false
			if !slices.ContainsFunc(keyWords, one.is) {
				columns = append(columns, plainName(one.text))
			}
		}
	}
	return columns
}

// insert reads ( columns ) VALUES ( … ), ( … ). The columns are optional.
func (t *table) insert(s []sqlToken, known func(string, int) []string) {
	columns, inValues := t.columns, s[0].is("VALUES")
	var tuple []string
	depth, line := 0, 0
	for _, one := range s {
		switch {
		case one.is("VALUES") && depth == 0:
			inValues = true
		case one.is("("):
			if depth++; depth == 1 {
				tuple, line = []string{""}, one.line
			}
		case one.is(")"):
			depth--
			switch {
			case depth == 0 && !inValues:
				columns = tuple
				for i := range columns {
					columns[i] = plainName(columns[i])
				}
			case depth == 0:
				if len(columns) != len(tuple) {
					columns = known(t.name, len(tuple))
				}
				t.rows = append(t.rows, newRow(line, columns, tuple))
			}
		case one.is(",") && depth == 1:
			tuple = append(tuple, "")
		case depth == 1 && !one.is("NULL"):
			tuple[len(tuple)-1] = one.text // in _binary 'text', the last token is the value
		}
	}
}

func newRow(line int, columns, tuple []string) row {
	r := row{line, map[string]string{}}
	for i := range min(len(columns), len(tuple)) {
		r.fields[columns[i]] = tuple[i]
	}
	return r
}
