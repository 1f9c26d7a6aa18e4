package sqldump

import (
	"strconv"
	"strings"
)

// copyFrom applies PostgreSQL's COPY t (columns) FROM stdin. The rows follow the statement, up to a line with \.
// copyFrom returns why it could not read all rows, or "".
func (d *Dump) copyFrom(e []token, l *lexer) (why string) {
	tableName, rest := qualified(e[1:])
	t := d.table(tableName)
	columns := t.Columns
	if len(rest) > 0 && rest[0].is("(") && closing(rest, 0) > 0 {
		end := closing(rest, 0)
		columns = nil
		for _, item := range arguments(rest[1:end]) {
			column, _ := qualified(item)
			columns = append(columns, column)
		}
		rest = rest[end+1:]
	}
	if len(rest) < 2 || !rest[0].is("FROM") || !rest[1].is("STDIN") {
		return "its rows are in another file"
	}
	if len(rest) > 2 {
		why = "only the text format of COPY is read"
	}
	if newline := strings.IndexByte(l.source[l.offset:], '\n'); newline >= 0 {
		l.move(newline + 1)
	}
	for l.offset < len(l.source) {
		lineNumber := l.line
		line, _, _ := strings.Cut(l.source[l.offset:], "\n")
		l.move(min(len(line)+1, len(l.source)-l.offset))
		line = strings.TrimSuffix(line, "\r")
		if line == `\.` {
			break
		}
		if why == "" {
			why = d.copyRow(t, columns, lineNumber, strings.Split(line, "\t"))
		}
	}
	return why
}

// copyRow adds a row of COPY. It returns why it could not, or "".
func (d *Dump) copyRow(t *Table, columns []string, line int, values []string) (why string) {
	if columns == nil {
		columns = d.columnsOf(t.Name, values)
	}
	if len(columns) != len(values) {
		return "a row has " + strconv.Itoa(len(values)) + " values for " + strconv.Itoa(len(columns)) + " columns"
	}
	row := &Row{Line: line, Values: map[string]Value{}}
	for i, value := range values {
		if value != `\N` {
			row.Values[columns[i]] = Value{Text: unescape(value)}
		}
	}
	t.add(row, nil)
	return ""
}

// unescape replaces the escapes of COPY's text format.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'n':
			out.WriteByte('\n')
		case 't':
			out.WriteByte('\t')
		case 'r':
			out.WriteByte('\r')
		case 'b':
			out.WriteByte('\b')
		case 'f':
			out.WriteByte('\f')
		case 'v':
			out.WriteByte('\v')
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}
