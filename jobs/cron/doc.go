// Package cron says when jobs fire: it reads Quartz's dialect of cron, finds
// the instants an expression fires at, and keeps the plan of which names fire
// next.
//
// Text goes in at one end: Parse turns an expression and a zone into a
// Schedule, or into an error that says where the text is wrong and which
// rule it breaks. A Schedule answers Next and Latest by arithmetic on sets of
// field values, never by stepping through seconds, so an expression that
// fires once in four years, or never, costs about as much as one of every
// second. A Timetable holds many named schedules and gives back, instant by
// instant, the names that are due.
//
// Nothing here reads a clock. A Schedule doesn't change and may be used from
// everywhere; a Timetable belongs to one goroutine.
//
// # The dialect
//
// Six or seven fields, separated by blanks: seconds, minutes, hours, day of
// month, month, day of week and, optionally, year. Letters may be of either
// case.
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
// Exactly one of the two day fields is "?". A full name ("MONDAY") may stand
// by itself. A range whose end is before its start goes round ("FRI-MON",
// "22-3"), but not in years. "a/n" counts from a to the end of the field; "*/n"
// and "/n" count from its beginning; a step of 0 leaves the first value alone.
// In the day of week "L" by itself is SAT. "15W" is the weekday nearest to the
// 15th within the month. Years outside of 1970 to 2126 are read, but nothing
// fires in them.
//
// Answers are Quartz 2.3.2's, with these differences:
//
//   - An expression whose hours are "*", "*/1" or "0/1" fires in both passes of
//     an hour that a clock change doubles. Any other fires once, in the second
//     pass, which is all that Quartz does.
//   - "?" as the year is accepted and means any; so do seven fields with both
//     days "*", as in "0/5 * * * * * ?".
//   - Text that Quartz only overlooks is refused: garbage behind a value, empty
//     list entries, an eighth field, 98 and 99 as values, a step behind names
//     (Quartz drops it), "W" or "#" within a list (Quartz drops the rest).
//   - The last year is 2126, whatever the year is now.
package cron
