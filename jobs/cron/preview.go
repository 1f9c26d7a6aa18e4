package cron

import (
	"fmt"
	"time"
)

// Fire is one instant at which a schedule fires. It also says how clock changes affect it.
type Fire struct {
	At time.Time
	// Pass is 1 or 2 if the clock shows the time of At twice, and At is the first or second of these instants;
	// otherwise 0. Both is set if the schedule fires at both instants.
	Pass int
	Both bool
	// Skipped is a matching wall time that does not exist, because a clock change skipped it; zero if there is none.
	// It is the last one between the previous fire and this one, and is expressed in UTC.
	Skipped time.Time
}

// Preview returns the first n fires after an instant; fewer if the schedule then ends.
func (s *Schedule) Preview(after time.Time, n int) []Fire {
	var all []Fire
	for at := s.Next(after); !at.IsZero() && len(all) < n; at = s.Next(at) {
		f := Fire{At: at, Skipped: s.skipped(after.Unix(), at.Unix())}
		if f.Pass = passOf(at.Unix(), s.zone); f.Pass > 0 {
			f.Both = s.bothPasses
		}
		all = append(all, f)
		after = at
	}
	return all
}

// skipped returns the last matching wall time that a clock change skipped between two instants; zero if there is none.
// It returns zero for a schedule that fires in every hour, because such a schedule loses no fire.
func (s *Schedule) skipped(after, until int64) (last time.Time) {
	if s.bothPasses {
		return last
	}
	for at := max(after, 0); ; {
		p := periodAt(at, s.zone)
		if p.end > until {
			return last
		}
		next := periodAt(p.end, s.zone)
		from, to := p.end+p.offset, p.end+next.offset
		for wall := from; wall < to; wall++ {
			found, ok := s.wallFrom(wall)
			if !ok || found >= to {
				break
			}
			wall, last = found, time.Unix(found, 0).UTC()
		}
		at = p.end
	}
}

// passOf returns 1 or 2 for the first or second of two instants at which the clock shows the same time; 0 if the clock
// shows the time of the instant only once.
func passOf(at int64, zone *time.Location) int {
	p := periodAt(at, zone)
	if p.showsAgain(at) {
		return 1
	}
	start, _ := time.Unix(at, 0).In(zone).ZoneBounds()
	if start.IsZero() || at-start.Unix() > maxShift {
		return 0
	}
	if before := periodAt(start.Unix()-1, zone); at+p.offset < start.Unix()+before.offset {
		return 2
	}
	return 0
}

// Note describes how a clock change affects the fire; "" if it does not.
func (f Fire) Note(in Language) string {
	if in == Chinese {
		return f.noteChinese()
	}
	clock := f.At.Format(time.TimeOnly)
	switch {
	case !f.Skipped.IsZero():
		return fmt.Sprintf("the clock moves forward: there is no %s, and no fire at it",
			f.Skipped.Format("15:04:05 on 2006-01-02"))
	case f.Pass == 1:
		return fmt.Sprintf("the clock moves back: %s comes twice on this day, this is the first time, "+
			"and it fires at both", clock)
	case f.Pass == 2 && f.Both:
		return fmt.Sprintf("the clock moves back: %s comes twice on this day, this is the second time, "+
			"and it fires at both", clock)
	case f.Pass == 2:
		return fmt.Sprintf("the clock moves back: %s comes twice on this day, and it fires the second time only",
			clock)
	}
	return ""
}

// noteChinese is Note in Chinese.
func (f Fire) noteChinese() string {
	clock := f.At.Format(time.TimeOnly)
	switch {
	case !f.Skipped.IsZero():
		return fmt.Sprintf("时钟拨快：%s 不存在，那时不触发", f.Skipped.Format("2006-01-02 15:04:05"))
	case f.Pass == 1:
		return fmt.Sprintf("时钟拨慢：当天 %s 出现两次，这是第一次，两次都触发", clock)
	case f.Pass == 2 && f.Both:
		return fmt.Sprintf("时钟拨慢：当天 %s 出现两次，这是第二次，两次都触发", clock)
	case f.Pass == 2:
		return fmt.Sprintf("时钟拨慢：当天 %s 出现两次，只在第二次触发", clock)
	}
	return ""
}
