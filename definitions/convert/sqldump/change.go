package sqldump

import (
	"maps"
	"slices"
)

// assignment is column = value, in the SET of a statement.
type assignment struct {
	column string
	value  []token
}

func assignments(e []token) (list []assignment) {
	for _, one := range arguments(e) {
		column, rest := qualified(one)
		if column != "" && len(rest) > 1 && rest[0].is("=") {
			list = append(list, assignment{column, rest[1:]})
			continue
		}
		return nil
	}
	return list
}

// existing decides about a row whose id is in the table already. It returns the row that remains.
type existing func(old, new *Row) *Row

// onExisting reads the clauses behind the rows of an INSERT.
func (d *Dump) onExisting(e []token, replaces, ignores bool) (existing, string) {
	alias := ""
	if len(e) > 1 && e[0].is("AS") {
		alias, e = qualified(e[1:])
		alias += "."
	}
	if at := indexAtTop(e, func(i int) bool { return e[i].is("RETURNING") }); at >= 0 {
		e = e[:at]
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
		return d.updating(e[4:], alias)
	case len(e) > 1 && e[0].is("ON") && e[1].is("CONFLICT"):
		do := indexAtTop(e, func(i int) bool { return e[i].is("DO") })
		switch {
		case do > 0 && do+1 < len(e) && e[do+1].is("NOTHING"):
			return keepOld, ""
		case do > 0 && do+2 < len(e) && e[do+1].is("UPDATE") && e[do+2].is("SET"):
			return d.updating(e[do+3:], "excluded.")
		}
	}
	return nil, "the clause after its rows is not supported"
}

// updating returns what an upsert does to a row that exists. Its values are literals, or those of the new row, which are
// named VALUES(column), or column with the alias of the new row.
func (d *Dump) updating(e []token, alias string) (existing, string) {
	list := assignments(e)
	if list == nil {
		return nil, "its update of existing rows is not supported"
	}
	return func(old, new *Row) *Row {
		changed := &Row{Line: old.Line, Values: maps.Clone(old.Values)}
		for _, a := range list {
			if column, ok := ofNewRow(a.value, alias); ok {
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

func ofNewRow(e []token, alias string) (column string, ok bool) {
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

// add inserts a row. Tables whose rows have an id have it as their key.
func (t *Table) add(row *Row, decide existing) {
	id, given := row.Values["id"]
	at := slices.IndexFunc(t.Rows, func(r *Row) bool { return given && !id.Unknown && r.Values["id"] == id })
	switch {
	case at < 0:
		t.Rows = append(t.Rows, row)
	case decide == nil:
		t.Rows[at] = row // the database would have refused it; the later one is the newer one
	default:
		t.Rows[at] = decide(t.Rows[at], row)
	}
}

const noCondition = "its condition is not supported"

// matcher reads a WHERE that consists of column = literal and column IN (literals), joined by AND.
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
	for _, one := range split(e, "AND") {
		for len(one) > 2 && one[0].is("(") && closing(one, 0) == len(one)-1 {
			one = one[1 : len(one)-1]
		}
		column, rest := qualified(one)
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
		for _, one := range list {
			v, null := d.value(one)
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

func (d *Dump) update(e []token) (why string) {
	named, rest := qualified(after(e[1:], "ONLY", "LOW_PRIORITY", "IGNORE"))
	if len(rest) < 2 || !rest[0].is("SET") {
		return "its form is not supported"
	}
	where := indexAtTop(rest, func(i int) bool { return rest[i].is("WHERE", "ORDER", "LIMIT", "FROM", "RETURNING") })
	if where < 0 {
		where = len(rest)
	}
	list := assignments(rest[1:where])
	match, ok := d.matcher(rest[where:])
	switch t := d.Tables[named]; {
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

func (d *Dump) deleteRows(e []token) (why string) {
	named, rest := qualified(after(e[1:], "FROM", "ONLY", "LOW_PRIORITY", "QUICK", "IGNORE"))
	match, ok := d.matcher(rest)
	if !ok {
		return noCondition
	}
	if t := d.Tables[named]; t != nil {
		t.Rows = slices.DeleteFunc(t.Rows, match)
	}
	return ""
}
