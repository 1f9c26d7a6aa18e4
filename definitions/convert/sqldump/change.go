package sqldump

import (
	"maps"
	"slices"
)

// assignment is an assignment, column = value, in the SET of a statement.
type assignment struct {
	column string
	value  []token
}

// assignments parses a list of assignments. It returns nil if one of them has another form.
func assignments(e []token) (list []assignment) {
	for _, item := range arguments(e) {
		column, rest := qualified(item)
		if column != "" && len(rest) > 1 && rest[0].is("=") {
			list = append(list, assignment{column, rest[1:]})
			continue
		}
		return nil
	}
	return list
}

// mergeFunc returns the row that the table keeps if it already has a row with the id of the new one.
type mergeFunc func(old, new *Row) *Row

// readConflict reads the clauses after the rows of an INSERT. replaces and ignores say that the statement is a REPLACE
// or an INSERT IGNORE. The mergeFunc is nil if the database would refuse a row with an existing id. why says why the
// clauses are not supported; "" if they are.
func (d *Dump) readConflict(e []token, replaces, ignores bool) (merge mergeFunc, why string) {
	alias := ""
	if len(e) > 1 && e[0].is("AS") {
		alias, e = qualified(e[1:])
		alias += "."
	}
	if end := indexAtTop(e, func(i int) bool { return e[i].is("RETURNING") }); end >= 0 {
		e = e[:end]
	}
	keepOld := func(old, _ *Row) *Row { return old }
	keepNew := func(_, new *Row) *Row { return new }
	switch {
	case len(e) == 0 && ignores:
		return keepOld, ""
	case len(e) == 0 && replaces:
		return keepNew, ""
	case len(e) == 0:
		return nil, ""
	case len(e) > 4 && e[0].is("ON") && e[1].is("DUPLICATE"):
		return d.readConflictUpdate(e[4:], alias)
	case len(e) > 1 && e[0].is("ON") && e[1].is("CONFLICT"):
		do := indexAtTop(e, func(i int) bool { return e[i].is("DO") })
		switch {
		case do > 0 && do+1 < len(e) && e[do+1].is("NOTHING"):
			return keepOld, ""
		case do > 0 && do+2 < len(e) && e[do+1].is("UPDATE") && e[do+2].is("SET"):
			return d.readConflictUpdate(e[do+3:], "excluded.")
		}
	}
	return nil, "the clause after its rows is not supported"
}

// readConflictUpdate reads the assignments of an upsert, which change the row that exists. A value is a literal, or a
// value of the new row: VALUES(column), or the column after the alias of the new row.
func (d *Dump) readConflictUpdate(e []token, alias string) (merge mergeFunc, why string) {
	list := assignments(e)
	if list == nil {
		return nil, "its update of existing rows is not supported"
	}
	return func(old, new *Row) *Row {
		changed := &Row{Line: old.Line, Values: maps.Clone(old.Values)}
		for _, a := range list {
			if column, ok := columnOfNewRow(a.value, alias); ok {
				if v, given := new.Values[column]; given {
					changed.Values[a.column] = v
				} else {
					delete(changed.Values, a.column)
				}
				continue
			}
			d.set(changed, a.column, a.value)
		}
		return changed
	}, ""
}

// columnOfNewRow returns the column if an expression is the value of a column of the new row; false otherwise.
func columnOfNewRow(e []token, alias string) (column string, ok bool) {
	if len(e) == 4 && e[0].is("VALUES") && e[1].is("(") {
		column, _ = qualified(e[2:3])
		return column, true
	}
	if alias == "" || len(e) == 0 || e[0].kind != word || len(e[0].text) < len(alias) {
		return "", false
	}
	if column, rest := qualified(e); len(rest) == 0 && (token{kind: word, text: e[0].text[:len(alias)]}).is(alias) {
		return column, true
	}
	return "", false
}

// add inserts a row. A column id, if there is one, is the key of the table. merge may be nil.
func (t *Table) add(row *Row, merge mergeFunc) {
	id, given := row.Values["id"]
	i := slices.IndexFunc(t.Rows, func(r *Row) bool { return given && !id.Unknown && r.Values["id"] == id })
	switch {
	case i < 0:
		t.Rows = append(t.Rows, row)
	case merge == nil:
		t.Rows[i] = row // the database would have refused the row, but the later row is the newer one
	default:
		t.Rows[i] = merge(t.Rows[i], row)
	}
}

// noCondition says why a statement with an unsupported WHERE is not applied.
const noCondition = "its condition is not supported"

// matcher reads a WHERE that consists of column = literal and column IN (literals), joined by AND. Without tokens, all
// rows match. ok is false if the WHERE has another form.
func (d *Dump) matcher(e []token) (match func(*Row) bool, ok bool) {
	if len(e) == 0 {
		return func(*Row) bool { return true }, true
	}
	if !e[0].is("WHERE") {
		return nil, false
	}
	e = e[1:]
	for len(e) > 2 && e[0].is("(") && closing(e, 0) == len(e)-1 {
		e = e[1 : len(e)-1]
	}
	wanted := map[string][]Value{}
	for _, condition := range split(e, "AND") {
		for len(condition) > 2 && condition[0].is("(") && closing(condition, 0) == len(condition)-1 {
			condition = condition[1 : len(condition)-1]
		}
		column, rest := qualified(condition)
		var list [][]token
		switch {
		case column == "" || len(rest) < 2:
			return nil, false
		case rest[0].is("="):
			list = append(list, rest[1:])
		case rest[0].is("IN") && rest[1].is("(") && closing(rest, 1) == len(rest)-1:
			list = arguments(rest[2 : len(rest)-1])
		default:
			return nil, false
		}
		for _, literal := range list {
			v, null := d.value(literal)
			if v.Unknown || null {
				return nil, false
			}
			wanted[column] = append(wanted[column], v)
		}
	}
	return func(r *Row) bool {
		for column, values := range wanted {
			if v, given := r.Values[column]; !given || !slices.Contains(values, v) {
				return false
			}
		}
		return true
	}, true
}

// update applies an UPDATE. It returns why it could not, or "".
func (d *Dump) update(e []token) (why string) {
	tableName, rest := qualified(skipWords(e[1:], "ONLY", "LOW_PRIORITY", "IGNORE"))
	if len(rest) < 2 || !rest[0].is("SET") {
		return "its form is not supported"
	}
	where := indexAtTop(rest, func(i int) bool { return rest[i].is("WHERE", "ORDER", "LIMIT", "FROM", "RETURNING") })
	if where < 0 {
		where = len(rest)
	}
	list := assignments(rest[1:where])
	match, ok := d.matcher(rest[where:])
	switch t := d.Tables[tableName]; {
	case list == nil:
		return "its assignments are not supported"
	case !ok:
		return noCondition
	case t == nil:
		return "its table has no row here"
	default:
		return d.updateRows(t, list, match)
	}
}

// updateRows changes the rows that match. It returns why there are none, or "".
func (d *Dump) updateRows(t *Table, list []assignment, match func(*Row) bool) (why string) {
	found := false
	for _, row := range t.Rows {
		if !match(row) {
			continue
		}
		found = true
		for _, a := range list {
			d.set(row, a.column, a.value)
		}
	}
	if !found {
		return "no row here matches its condition"
	}
	return ""
}

// deleteRows applies a DELETE. It returns why it could not, or "".
func (d *Dump) deleteRows(e []token) (why string) {
	tableName, rest := qualified(skipWords(e[1:], "FROM", "ONLY", "LOW_PRIORITY", "QUICK", "IGNORE"))
	match, ok := d.matcher(rest)
	if !ok {
		return noCondition
	}
	if t := d.Tables[tableName]; t != nil {
		t.Rows = slices.DeleteFunc(t.Rows, match)
	}
	return ""
}
