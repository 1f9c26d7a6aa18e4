package cron

import (
	"container/heap"
	"maps"
	"slices"
	"time"
)

// Timetable plans which names fire next. Names with the same expression and zone, compared as text, form a group,
// which has one next instant and one place in a heap, so that a thousand jobs that fire every minute cost as much as
// one.
//
// The instant of a group may be before the moment at which one of its names was set. The caller must ignore a name
// whose own start is not before the instant that Pop returns (rule F2).
//
// A Timetable has no clock, and is not safe for concurrent use.
type Timetable struct {
	groups map[groupKey]*group
	names  map[string]*group
	due    groupHeap
}

// NewTimetable returns a timetable without names.
func NewTimetable() *Timetable {
	return &Timetable{groups: make(map[groupKey]*group), names: make(map[string]*group)}
}

// Len returns the number of names, including those that never fire again.
func (t *Timetable) Len() int { return len(t.names) }

// Set sets the schedule of a name, and replaces an earlier one. The name's group continues with the first instant
// after the given moment, unless its next one is earlier. If there is none, the name is known but never popped.
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
		t.plan(g, after) // the clock was set back since the group was planned
	}
	g.members.add(name)
	t.names[name] = g
}

// Remove removes a name. An unknown name is ignored.
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

// NextAt returns the earliest instant at which a name fires; false if there is none.
func (t *Timetable) NextAt() (time.Time, bool) {
	if len(t.due) == 0 {
		return time.Time{}, false
	}
	return time.Unix(t.due[0].next, 0).UTC(), true
}

// Soon reports whether found returns true for any name that fires at or before limit. It calls found once per name, in
// no particular order, with the name's first instant, until found returns true.
func (t *Timetable) Soon(limit time.Time, found func(name string, at time.Time) bool) bool {
	return t.soonBelow(0, limit.Unix(), found)
}

// soonBelow examines a place in the heap and its descendants, none of which fires earlier.
func (t *Timetable) soonBelow(place int, limit int64, found func(name string, at time.Time) bool) bool {
	if place >= len(t.due) || t.due[place].next > limit {
		return false
	}
	at := time.Unix(t.due[place].next, 0).UTC()
	return slices.ContainsFunc(t.due[place].members.inOrder(), func(name string) bool { return found(name, at) }) ||
		t.soonBelow(2*place+1, limit, found) || t.soonBelow(2*place+2, limit, found)
}

// Pop returns the earliest instant that is not after now, in UTC, with all names that fire then, sorted. It moves
// their groups to their next instant. The caller repeats it until ok is false, when nothing more is due. Each call
// handles one instant, so that fires come in the order of (time, name) (rule F1).
//
// The returned names stay valid whatever happens to the timetable, and must not be modified. The cost is that of
// moving each group in the heap; sorting is needed only for names set since the last call, and merging only when
// several groups fire or names have changed.
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

// Skip moves every group that fires at or before an instant to its first one after it, as after a long gap. It does
// not return the skipped fires.
func (t *Timetable) Skip(to time.Time) {
	for len(t.due) > 0 && t.due[0].next <= to.Unix() {
		t.plan(t.due[0], to)
	}
}

// plan moves g to its place in the heap for its first instant after a moment.
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

// groupKey identifies a group. Zones are compared by name.
type groupKey struct{ expression, zone string }

// group is the names with one expression in one zone.
type group struct {
	key      groupKey
	schedule *Schedule
	members  members
	// next is the next fire of the group, in seconds since 1970: its first one after the moment after.
	next  int64
	after time.Time
	// place is the group's index in the heap, or unplanned.
	place int
}

const unplanned = -1

// members is a set of names that can be returned sorted without sorting it each time: changes are kept separately
// until the sorted names are requested.
type members struct {
	// sorted was returned to callers, so it is replaced and never modified.
	sorted      []string
	added, gone map[string]struct{}
}

func (m *members) count() int { return len(m.sorted) + len(m.added) - len(m.gone) }

// add adds a name that is not a member.
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

// remove removes a name that is a member.
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

// inOrder returns all names, sorted.
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

// mergeAll merges sorted lists in pairs, so that each name is copied about log2(len(lists)) times. It modifies lists.
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

// merge returns a new sorted list of two; if one is empty, it returns the other.
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

// groupHeap is a heap by the next fire.
type groupHeap []*group

func (h groupHeap) Len() int           { return len(h) }
func (h groupHeap) Less(i, j int) bool { return h[i].next < h[j].next }
func (h groupHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push implements heap.Interface.
func (h *groupHeap) Push(x any) {
	g := x.(*group)
	g.place = len(*h)
	*h = append(*h, g)
}

// Pop implements heap.Interface.
func (h *groupHeap) Pop() any {
	last := len(*h) - 1
	g := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	g.place = unplanned
	return g
}
