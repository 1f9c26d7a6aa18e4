// Package sqldump returns the rows that the tables of an SQL dump have at its end, without a database.
//
// It applies the statements that fill and change tables: INSERT and REPLACE, including ON DUPLICATE KEY and ON
// CONFLICT, COPY, and UPDATE, DELETE, TRUNCATE and DROP TABLE if they consist of literals. It reads dumps of MySQL,
// MariaDB, PostgreSQL, Oracle and SQL Server. It lists every other statement that could change a row, so that the
// caller can report it.
package sqldump

import (
	"fmt"
	"slices"
	"strings"
)

// Table contains the rows of a table after the last statement.
type Table struct {
	Name    string   // in lower case, without database or schema
	Columns []string // in lower case, from CREATE TABLE and ALTER TABLE; nil without CREATE TABLE
	Rows    []*Row
}

// Row is a row of a table. A column that is NULL or was not given has no value.
type Row struct {
	Line   int // the line of the row in the statement that inserted it
	Values map[string]Value
}

// Ignored is a statement that was not applied.
type Ignored struct {
	Line      int
	Statement string // its beginning, in one line and without its string literals
	Why       string
}

// Dump is the content of a dump.
type Dump struct {
	Tables  map[string]*Table
	Ignored []Ignored
	// Guessed is true if the dump contains backslashes, and nothing in it shows its dialect. Backslashes in string
	// literals were then read as MySQL's escapes.
	Guessed bool

	source    string
	columnsOf func(table string, first []string) []string
}

// Read reads a dump. It calls columnsOf if neither the statement nor a CREATE TABLE lists the columns of a table.
// columnsOf returns them, for a row with the values first; nil if it does not know the table.
func Read(source string, columnsOf func(table string, first []string) []string) *Dump {
	d := &Dump{Tables: map[string]*Table{}, source: source, columnsOf: columnsOf}
	dialect, shown := dialectOf(source)
	l := &lexer{dialect: dialect, source: source, line: 1, lineStart: true}
	for {
		s, ok := l.next()
		if !ok {
			break
		}
		if why := d.apply(s, l); why != "" {
			d.Ignored = append(d.Ignored, Ignored{s.tokens[0].line, s.beginning(), why})
		}
	}
	d.Guessed = !shown && strings.Contains(source, `\`)
	return d
}

// beginning returns the beginning of a statement in one line, without its string literals, because they may be
// secrets.
func (s statement) beginning() string {
	const limit = 80
	var out strings.Builder
	from := s.tokens[0].start
	for _, t := range s.tokens {
		if t.kind == text {
			out.WriteString(s.source[from-s.tokens[0].start:t.start-s.tokens[0].start] + "'…'")
			from = t.end
		}
	}
	out.WriteString(s.source[min(from-s.tokens[0].start, len(s.source)):])
	words := []rune(strings.Join(strings.Fields(out.String()), " "))
	if len(words) > limit {
		return string(words[:limit]) + "…"
	}
	return string(words)
}

// withoutEffect are the first words of statements that change no row.
var withoutEffect = []string{"SET", "LOCK", "UNLOCK", "USE", "BEGIN", "START", "COMMIT", "SELECT", "GRANT", "REVOKE",
	"COMMENT", "ANALYZE", "VACUUM", "PRINT", "SHOW", "PRAGMA", "CHECKPOINT", "REM", "PROMPT", "FLUSH", "OPTIMIZE", "END"}

// apply applies a statement. It returns why it could not, or "".
func (d *Dump) apply(s statement, l *lexer) (why string) {
	e := s.tokens
	switch first := e[0]; {
	case first.is(withoutEffect...):
		return ""
	case first.is("CREATE"):
		return d.create(e)
	case first.is("INSERT", "REPLACE"):
		return d.insert(e)
	case first.is("COPY"):
		return d.copyFrom(e, l)
	case first.is("UPDATE"):
		return d.update(e)
	case first.is("DELETE"):
		return d.deleteRows(e)
	case first.is("TRUNCATE"):
		table, _ := qualified(skipWords(e[1:], "TABLE", "ONLY"))
		if t := d.Tables[table]; t != nil {
			t.Rows = nil
		}
	case first.is("DROP"):
		if len(e) > 2 && e[1].is("TABLE") {
			for _, item := range arguments(skipWords(e[2:], "IF", "EXISTS")) {
				table, _ := qualified(item)
				delete(d.Tables, table)
			}
		}
	case first.is("ALTER"):
		return d.alter(e)
	default:
		return "the kind of statement is not supported"
	}
	return ""
}

// table returns the table with a name, and creates it if it does not exist.
func (d *Dump) table(name string) *Table {
	if d.Tables[name] == nil {
		d.Tables[name] = &Table{Name: name}
	}
	return d.Tables[name]
}

// nonColumnWords are the first words of entries of a CREATE TABLE that are not columns.
var nonColumnWords = []string{"PRIMARY", "KEY", "UNIQUE", "INDEX", "CONSTRAINT", "FOREIGN", "FULLTEXT", "SPATIAL",
	"CHECK", "PERIOD", "EXCLUDE", "LIKE"}

// create applies a CREATE TABLE. It returns why it could not, or "". For a CREATE of an object that may change rows,
// such as a trigger, it returns that the object is not executed.
func (d *Dump) create(e []token) (why string) {
	e = skipWords(e[1:], "TEMPORARY", "GLOBAL", "UNLOGGED", "OR", "REPLACE")
	if len(e) == 0 || !e[0].is("TABLE") {
		if len(e) > 0 && e[0].is("TRIGGER", "PROCEDURE", "FUNCTION", "VIEW", "RULE", "EVENT") {
			return "it is not executed"
		}
		return ""
	}
	tableName, rest := qualified(skipWords(e[1:], "IF", "NOT", "EXISTS"))
	t := d.table(tableName)
	if len(rest) == 0 || !rest[0].is("(") || closing(rest, 0) < 0 {
		return "it has no column list"
	}
	t.Columns = nil
	for _, item := range arguments(rest[1:closing(rest, 0)]) {
		if column, _ := qualified(item); column != "" && !item[0].is(nonColumnWords...) {
			t.Columns = append(t.Columns, column)
		}
	}
	return ""
}

// alter applies an ALTER TABLE that adds columns at the end. It returns why it could not apply another change of
// columns, or "". It ignores changes of keys and owners.
func (d *Dump) alter(e []token) (why string) {
	if len(e) < 3 || !e[1].is("TABLE") {
		return ""
	}
	tableName, rest := qualified(skipWords(e[2:], "ONLY", "IF", "EXISTS"))
	t := d.Tables[tableName]
	for _, change := range arguments(rest) {
		switch {
		case len(change) < 2, t == nil:
		case change[0].is("ADD") && !change[1].is(nonColumnWords...):
			column, _ := qualified(skipWords(change[1:], "COLUMN", "IF", "NOT", "EXISTS"))
			if slices.ContainsFunc(change, func(t token) bool { return t.is("AFTER", "FIRST") }) ||
				change[1].is("(") || t.Columns == nil {
				return "adding this column is not supported"
			}
			t.Columns = append(t.Columns, column)
		case change[0].is("CHANGE", "RENAME"), change[0].is("DROP") && !change[1].is(nonColumnWords...):
			return "renaming or dropping columns is not supported"
		}
	}
	return ""
}

// insert applies INSERT INTO t (columns) VALUES (…), (…), and MySQL's INSERT INTO t SET column = value. It returns why
// it could not, or "".
func (d *Dump) insert(e []token) (why string) {
	replaces := e[0].is("REPLACE")
	ignores := slices.ContainsFunc(e[:min(len(e), 4)], func(t token) bool { return t.is("IGNORE") })
	tableName, rest := qualified(skipWords(e[1:], "IGNORE", "INTO", "LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY",
		"OVERWRITE", "TABLE"))
	if tableName == "" {
		return "it names no table"
	}
	t := d.table(tableName)
	columns := t.Columns
	if len(rest) > 0 && rest[0].is("(") {
		end := closing(rest, 0)
		if end < 0 {
			return "it is incomplete"
		}
		columns = nil
		for _, item := range arguments(rest[1:end]) {
			column, _ := qualified(item)
			columns = append(columns, column)
		}
		rest = rest[end+1:]
	}
	var rows []*Row
	switch rest = skipWords(rest, "OVERRIDING", "SYSTEM", "USER"); {
	case len(rest) > 0 && rest[0].is("SET"):
		end := indexAtTop(rest, func(i int) bool { return i > 0 && rest[i].is("ON", "AS") })
		if end < 0 {
			end = len(rest)
		}
		row := &Row{Line: rest[0].line, Values: map[string]Value{}}
		for _, a := range assignments(rest[1:end]) {
			d.set(row, a.column, a.value)
		}
		rows, rest = append(rows, row), rest[end:]
	case len(rest) > 0 && rest[0].is("VALUES", "VALUE"): // MySQL has both
		rest = skipWords(rest, "VALUE", "VALUES")
		for len(rest) > 0 && rest[0].is("(") {
			end := closing(rest, 0)
			if end < 0 {
				return "it is incomplete"
			}
			row, why := d.row(t, columns, rest[0].line, arguments(rest[1:end]))
			if why != "" {
				return why
			}
			rows, rest = append(rows, row), skipWords(rest[end+1:], ",")
		}
	default:
		return "it has no VALUES or SET"
	}
	merge, why := d.readConflict(rest, replaces, ignores)
	if why != "" {
		return why
	}
	for _, row := range rows {
		t.add(row, merge)
	}
	return ""
}

// row returns a row with the values of expressions. If columns is nil, row takes the columns from columnsOf, or else
// numbers them. why says why there is no row, or is "".
func (d *Dump) row(t *Table, columns []string, line int, values [][]token) (r *Row, why string) {
	if columns == nil {
		var texts []string
		for _, expression := range values {
			v, _ := d.value(expression)
			texts = append(texts, v.Text)
		}
		if columns = d.columnsOf(t.Name, texts); columns == nil {
			columns = make([]string, len(values))
			for i := range columns {
				columns[i] = fmt.Sprintf("column %d", i+1)
			}
		}
	}
	if len(columns) != len(values) {
		return nil, fmt.Sprintf("a row has %d values for %d columns", len(values), len(columns))
	}
	row := &Row{Line: line, Values: map[string]Value{}}
	for i, column := range columns {
		d.set(row, column, values[i])
	}
	return row, ""
}

// set sets a column of a row to the value of an expression.
func (d *Dump) set(r *Row, column string, e []token) {
	v, null := d.value(e)
	if null {
		delete(r.Values, column)
		return
	}
	r.Values[column] = v
}
