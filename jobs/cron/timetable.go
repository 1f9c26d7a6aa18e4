package cron

import (
	"container/heap"
	"maps"
	"slices"
	"time"
)

// Timetable is the plan of which names fire next. Names whose expression and
// zone are the same text form a group, which has one next instant and one
// place in a heap, so that a thousand jobs of every minute cost what one does.
//
// A group's instant may lie before the moment at which one of its names was
// set: the caller passes over a name whose own since isn't before the instant
// that Pop gives (rule F2).
//
// A Timetable has no clock, and is for one goroutine at a time.
type Timetable struct {
	groups map[groupKey]*group
	names  map[string]*group
	due    groupHeap
}

// NewTimetable is a timetable without names.
func NewTimetable() *Timetable {
	return &Timetable{groups: make(map[groupKey]*group), names: make(map[string]*group)}
}

// Len is the number of names, with those that never fire again.
func (t *Timetable) Len() int { return len(t.names) }

// Set gives a name its schedule, instead of any that it had. Its group goes on
// with the first instant after the given moment, unless its next one is earlier.
// Where there is none, the name is known but never pops.
func (t *Timetable) Set(name string, s *Schedule, after time.Time) {
	key := groupKey{expression: s.canonical, zone: s.zone.String()}
	g := t.groups[key]
	if g != nil && t.names[name] == g {
		return
	}
	t.Remove(name)
	if g == nil {
		g = &group{key: key, schedule: s, place: unplanned}
		t.groups[key] = g
		t.plan(g, after)
	} else if after.Before(g.after) {
		t.plan(g, after) // the clock has stepped back since the group was planned
	}
	g.members.add(name)
	t.names[name] = g
}

// Remove forgets a name; one that isn't known is fine.
func (t *Timetable) Remove(name string) {
	g := t.names[name]
	if g == nil {
		return
	}
	delete(t.names, name)
	g.members.remove(name)
	if g.members.count() > 0 {
		return
	}
	delete(t.groups, g.key)
	if g.place != unplanned {
		heap.Remove(&t.due, g.place)
	}
}

// NextAt is the earliest instant at which a name fires; false when none does
// any more.
func (t *Timetable) NextAt() (time.Time, bool) {
	if len(t.due) == 0 {
		return time.Time{}, false
	}
	return time.Unix(t.due[0].next, 0).UTC(), true
}

// Soon reports whether found says yes to a name that fires at an instant or before it. It is asked
// about them in no order, each once, with the first instant, until it does.
func (t *Timetable) Soon(limit time.Time, found func(name string, at time.Time) bool) bool {
	return t.soonBelow(0, limit.Unix(), found)
}

// soonBelow looks at a place in the heap and what is below it, none of which fires before it.
func (t *Timetable) soonBelow(place int, limit int64, found func(name string, at time.Time) bool) bool {
	if place >= len(t.due) || t.due[place].next > limit {
		return false
	}
	at := time.Unix(t.due[place].next, 0).UTC()
	return slices.ContainsFunc(t.due[place].members.inOrder(), func(name string) bool { return found(name, at) }) ||
		t.soonBelow(2*place+1, limit, found) || t.soonBelow(2*place+2, limit, found)
}

// Pop gives the earliest instant that isn't after now, in UTC, and every name
// that fires then, sorted, and moves their groups on to their next instant. It
// is called until ok is false: then nothing is due. Each call is one instant,
// so that fires come in the order of (time, name) (rule F1).
//
// The names stay as they are whatever happens to the timetable, and must not be
// changed. The cost is that of moving each group in the heap; sorting is done
// only for names set since, and merging only where several groups or changes meet.
func (t *Timetable) Pop(now time.Time) (at time.Time, names []string, ok bool) {
	at, ok = t.NextAt()
	if !ok || at.After(now) {
		return time.Time{}, nil, false
	}
	var lists [][]string
	for len(t.due) > 0 && t.due[0].next == at.Unix() {
		g := t.due[0]
		lists = append(lists, g.members.inOrder())
		t.plan(g, at)
	}
	return at, slices.Clip(mergeAll(lists)), true
}

// Skip moves every group that fires at or before an instant to its first one
// after it, as after a long gap; nothing is given back for what lies between.
func (t *Timetable) Skip(to time.Time) {
	for len(t.due) > 0 && t.due[0].next <= to.Unix() {
		t.plan(t.due[0], to)
	}
}

// plan puts g where its first instant after a moment belongs in the heap.
func (t *Timetable) plan(g *group, after time.Time) {
	next := g.schedule.Next(after)
	g.after, g.next = after, next.Unix()
	switch planned := g.place != unplanned; {
	case next.IsZero() && planned:
		heap.Remove(&t.due, g.place)
	case next.IsZero():
	case planned:
		heap.Fix(&t.due, g.place)
	default:
		heap.Push(&t.due, g)
	}
}

// groupKey identifies a group. Zones are known by their names.
type groupKey struct{ expression, zone string }

// group is the names of one expression in one zone.
type group struct {
	key      groupKey
	schedule *Schedule
	members  members
	// next is the instant the group fires at, in seconds since 1970: its first after a moment.
	next  int64
	after time.Time
	// place is the group's index in the heap, or unplanned.
	place int
}

const unplanned = -1

// members is a set of names that gives them sorted without sorting them each
// time: changes wait beside the sorted names until those are asked for.
type members struct {
	// sorted is given away, so it is replaced and never changed.
	sorted      []string
	added, gone map[string]struct{}
}

func (m *members) count() int { return len(m.sorted) + len(m.added) - len(m.gone) }

// add puts in a name that isn't there.
func (m *members) add(name string) {
	if _, ok := m.gone[name]; ok {
		delete(m.gone, name)
		return
	}
	if m.added == nil {
		m.added = make(map[string]struct{})
	}
	m.added[name] = struct{}{}
}

// remove takes out a name that is there.
func (m *members) remove(name string) {
	if _, ok := m.added[name]; ok {
		delete(m.added, name)
		return
	}
	if m.gone == nil {
		m.gone = make(map[string]struct{})
	}
	m.gone[name] = struct{}{}
}

// inOrder is all names, sorted.
func (m *members) inOrder() []string {
	if len(m.gone) > 0 {
		m.sorted = slices.DeleteFunc(slices.Clone(m.sorted), func(name string) bool {
			_, gone := m.gone[name]
			return gone
		})
	}
	if len(m.added) > 0 {
		m.sorted = merge(m.sorted, slices.Sorted(maps.Keys(m.added)))
	}
	m.added, m.gone = nil, nil
	return m.sorted
}

// mergeAll merges sorted lists by pairs, so that each name is copied about as
// often as the number of lists can be halved. It uses lists up.
func mergeAll(lists [][]string) []string {
	for len(lists) > 1 {
		half := (len(lists) + 1) / 2
		for i := range len(lists) / 2 {
			lists[i] = merge(lists[i], lists[len(lists)-1-i])
		}
		lists = lists[:half]
	}
	return lists[0]
}

// merge is a new sorted list of two; one of them itself when the other is empty.
func merge(a, b []string) []string {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	all := make([]string, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0] < b[0] {
			all, a = append(all, a[0]), a[1:]
		} else {
			all, b = append(all, b[0]), b[1:]
		}
	}
	return append(append(all, a...), b...)
}

// groupHeap has the group that fires first in front.
type groupHeap []*group

func (h groupHeap) Len() int           { return len(h) }
func (h groupHeap) Less(i, j int) bool { return h[i].next < h[j].next }
func (h groupHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push is heap.Interface's.
func (h *groupHeap) Push(x any) {
	g := x.(*group)
	g.place = len(*h)
	*h = append(*h, g)
}

// Pop is heap.Interface's.
func (h *groupHeap) Pop() any {
	last := len(*h) - 1
	g := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	g.place = unplanned
	return g
}
