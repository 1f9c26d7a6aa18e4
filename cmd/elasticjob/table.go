package main

import (
	"slices"
	"strings"
)

// column is one column of a table.
type column struct {
	title string
	// right aligns the column to the right, for numbers.
	right bool
	// minWidth is the width to which the column may be narrowed; 0 means that the column keeps its width.
	minWidth int
}

// cell is a text in a table, on one line.
type cell struct {
	text  string
	style style
}

func text(s string) cell { return cell{text: oneLine(s)} }

func state(s string) cell { return cell{text: oneLine(s), style: styleOf(s)} }

// table is a table with a row of titles.
type table struct {
	columns []column
	rows    [][]cell
}

func (t *table) add(cells ...cell) { t.rows = append(t.rows, cells) }

// drop removes the column with the title, which must exist.
func (t *table) drop(title string) {
	i := slices.IndexFunc(t.columns, func(c column) bool { return c.title == title })
	t.columns = slices.Delete(t.columns, i, i+1)
	for r := range t.rows {
		t.rows[r] = slices.Delete(t.rows[r], i, i+1)
	}
}

const gap = "  "

// lines returns the lines of the table. They are at most width columns wide, unless width is 0 or the minimum widths
// of the columns do not allow it.
func (t *table) lines(width int, coloured bool) []string {
	widths := t.fit(width)
	titles := make([]cell, len(t.columns))
	for i, c := range t.columns {
		titles[i] = cell{text: c.title, style: dim}
	}
	lines := make([]string, 0, len(t.rows)+1)
	for _, row := range append([][]cell{titles}, t.rows...) {
		var line strings.Builder
		for i, c := range row {
			shown := cut(c.text, widths[i])
			space := strings.Repeat(" ", max(0, widths[i]-columns(shown)))
			switch {
			case t.columns[i].right:
				line.WriteString(space + c.style.paint(shown, coloured))
			case i == len(row)-1:
				line.WriteString(c.style.paint(shown, coloured))
			default:
				line.WriteString(c.style.paint(shown, coloured) + space)
			}
			if i < len(row)-1 {
				line.WriteString(gap)
			}
		}
		lines = append(lines, strings.TrimRight(line.String(), " "))
	}
	return lines
}

// fit returns the widths of the columns. If the table is too wide, it repeatedly narrows the widest column that may
// be narrower.
func (t *table) fit(width int) []int {
	widths := make([]int, len(t.columns))
	total := len(gap) * (len(t.columns) - 1)
	for i, c := range t.columns {
		widths[i] = columns(c.title)
		for _, row := range t.rows {
			widths[i] = max(widths[i], columns(row[i].text))
		}
		total += widths[i]
	}
	for width > 0 && total > width {
		widest := -1
		for i, c := range t.columns {
			if c.minWidth > 0 && widths[i] > c.minWidth && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
		total--
	}
	return widths
}

// print prints a table, or the text ifEmpty if the table has no rows.
func (a *cli) print(t *table, ifEmpty string) error {
	if len(t.rows) == 0 {
		a.printf("%s", ifEmpty)
		return nil
	}
	for _, line := range t.lines(widthOf(a.out), a.coloured()) {
		a.printf("%s", line)
	}
	return nil
}
