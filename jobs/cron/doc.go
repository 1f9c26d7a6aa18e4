// Package cron computes when jobs fire. It parses Quartz's dialect of cron, finds the instants at which an expression
// fires, and plans which names fire next.
//
// Parse turns an expression and a zone into a Schedule. If the text is wrong, the error says where, and which rule it
// breaks. A Schedule computes Next and Latest from sets of field values, never by stepping through seconds. So an
// expression that fires once in four years, or never, costs about as much as one that fires every second. A Timetable
// contains many named schedules and returns, instant by instant, the names that are due.
//
// Nothing here reads a clock. A Schedule is immutable and may be used concurrently; a Timetable belongs to one
// goroutine.
//
// # The dialect
//
// An expression has six or seven fields, separated by blanks: seconds, minutes, hours, day of month, month, day of
// week and, optionally, year. Case is ignored.
//
//	field         values            also
//	seconds       0-59              * , - /
//	minutes       0-59              * , - /
//	hours         0-23              * , - /
//	day of month  1-31              * , - / ? L L-3 LW L-3W 15W
//	month         1-12 or JAN-DEC   * , - /
//	day of week   1-7 or SUN-SAT    * , - / ? L 6L FRIL 6#3 FRI#3
//	year          1970-2126         * , - / ?
//
// Exactly one of the two day fields is "?". A full name ("MONDAY") is allowed only alone. A range whose end is before
// its start wraps around ("FRI-MON", "22-3"), except in years. "a/n" counts from a to the end of the field; "*/n" and
// "/n" count from its beginning; a step of 0 means only the first value. In the day of week, "L" alone is SAT. "15W"
// is the weekday nearest to the 15th within the month. Years outside 1970 to 2126 are accepted, but nothing fires in
// them.
//
// The results are those of Quartz 2.3.2, with these differences:
//
//   - An expression whose hours are "*", "*/1" or "0/1" fires in both passes of
//     an hour that a clock change repeats. All others fire in the second pass
//     only, as all expressions do in Quartz.
//   - "?" as the year is accepted and means any year. With seven fields, both
//     day fields may be "*", as in "0/5 * * * * * ?".
//   - Text that Quartz ignores is refused: garbage after a value, empty
//     list entries, an eighth field, 98 and 99 as values, a step after names
//     (Quartz drops it), "W" or "#" within a list (Quartz drops the rest).
//   - The last year is 2126, whatever the current year is.
package cron
