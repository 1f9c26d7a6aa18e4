package cron

import (
	"container/heap"
	"maps"
	"slices"
	"time"
)

// Timetable plans which names fire next. Names with the same expression and zone, compared as text, form a group. A
// group has one next instant and one entry in a heap, so that a thousand jobs that fire every minute cost as much as
// one.
//
// The next instant of a group may be before the moment for which one of its names was set. So the caller must ignore a
// name if its own start is not before the instant that Pop returns (rule F2).
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

// Set sets or replaces the schedule of a name; it does nothing if the name has the same schedule already. If the name
// is the first of its group, the group's next instant is the first one after the given moment. Otherwise the group's
// next instant stays, unless the group was planned for a later moment. A name whose schedule never fires again is
// contained in the timetable, but never popped.
func (t *Timetable) Set(name string, s *Schedule, after time.Time) {
	key := groupKey{expression: s.canonical, zone: s.zone.String()}
	g := t.groups[key]
	if g != nil && t.names[name] == g {
		return
	}
	t.Remove(name)
	if g == nil {
		g = &group{key: key, schedule: s, heapIndex: unplanned}
		t.groups[key] = g
		t.plan(g, after)
	} else if after.Before(g.after) {
		t.plan(g, after) // the clock was set back since the group was planned
	}
	g.members.add(name)
	t.names[name] = g
}

// Remove removes a name. It does nothing if the timetable does not contain the name.
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
	if g.heapIndex != unplanned {
		heap.Remove(&t.due, g.heapIndex)
	}
}

// NextAt returns the earliest instant at which a name fires; false if there is none.
func (t *Timetable) NextAt() (time.Time, bool) {
	if len(t.due) == 0 {
		return time.Time{}, false
	}
	return time.Unix(t.due[0].next, 0).UTC(), true
}

// Soon reports whether matches returns true for any name that fires at or before limit. It calls matches once per
// name, in no particular order, with the name's next instant, until matches returns true.
func (t *Timetable) Soon(limit time.Time, matches func(name string, at time.Time) bool) bool {
	return t.soonBelow(0, limit.Unix(), matches)
}

// soonBelow is Soon for the group at an index of the heap and its descendants, none of which fires before that group.
func (t *Timetable) soonBelow(index int, limit int64, matches func(name string, at time.Time) bool) bool {
	if index >= len(t.due) || t.due[index].next > limit {
		return false
	}
	g := t.due[index]
	at := time.Unix(g.next, 0).UTC()
	return slices.ContainsFunc(g.members.sortedNames(), func(name string) bool { return matches(name, at) }) ||
		t.soonBelow(2*index+1, limit, matches) || t.soonBelow(2*index+2, limit, matches)
}

// Pop returns the earliest instant that is not after now, in UTC, with all names that fire at that instant, sorted. It
// moves the groups of these names to their next instant. The caller repeats Pop until ok is false, because then no
// more names are due. Each call handles one instant, so that fires come in the order of (time, name) (rule F1).
//
// Later changes of the timetable do not change the returned names; the caller must not modify them. Each group costs a
// move in the heap. Names are sorted only if they were set since the last call, and merged only if several groups fire
// or names were set or removed.
func (t *Timetable) Pop(now time.Time) (at time.Time, names []string, ok bool) {
	at, ok = t.NextAt()
	if !ok || at.After(now) {
		return time.Time{}, nil, false
	}
	var lists [][]string
	for len(t.due) > 0 && t.due[0].next == at.Unix() {
		g := t.due[0]
		lists = append(lists, g.members.sortedNames())
		t.plan(g, at)
	}
	return at, slices.Clip(mergeAll(lists)), true
}

// Skip moves every group whose next instant is at or before to, to its first instant after to. It is for long gaps,
// and does not return the fires that it skips.
func (t *Timetable) Skip(to time.Time) {
	for len(t.due) > 0 && t.due[0].next <= to.Unix() {
		t.plan(t.due[0], to)
	}
}

// plan sets the next instant of g, the first one after a moment, and moves g in the heap accordingly. It removes g
// from the heap if there is no such instant.
func (t *Timetable) plan(g *group, after time.Time) {
	next := g.schedule.Next(after)
	g.after, g.next = after, next.Unix()
	switch planned := g.heapIndex != unplanned; {
	case next.IsZero() && planned:
		heap.Remove(&t.due, g.heapIndex)
	case next.IsZero():
	case planned:
		heap.Fix(&t.due, g.heapIndex)
	default:
		heap.Push(&t.due, g)
	}
}

// groupKey identifies a group. Zones are compared by name.
type groupKey struct{ expression, zone string }

// group contains the names with the same expression and zone.
type group struct {
	key      groupKey
	schedule *Schedule
	members  members
	// next is the next instant of the group, in seconds since 1970: the first one after the moment after.
	next  int64
	after time.Time
	// heapIndex is the group's index in the heap, or unplanned.
	heapIndex int
}

// unplanned is the index of a group that is not in the heap, because it never fires again.
const unplanned = -1

// members is a set of names that is not sorted again each time when the sorted names are requested. It keeps changes
// separately until then.
type members struct {
	// sorted was returned to callers, so it is replaced and never modified.
	sorted         []string
	added, removed map[string]struct{}
}

func (m *members) count() int { return len(m.sorted) + len(m.added) - len(m.removed) }

// add adds a name that is not a member.
func (m *members) add(name string) {
	if _, ok := m.removed[name]; ok {
		delete(m.removed, name)
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
	if m.removed == nil {
		m.removed = make(map[string]struct{})
	}
	m.removed[name] = struct{}{}
}

// sortedNames returns all names, sorted.
func (m *members) sortedNames() []string {
	if len(m.removed) > 0 {
		m.sorted = slices.DeleteFunc(slices.Clone(m.sorted), func(name string) bool {
			_, removed := m.removed[name]
			return removed
		})
	}
	if len(m.added) > 0 {
		m.sorted = merge(m.sorted, slices.Sorted(maps.Keys(m.added)))
	}
	m.added, m.removed = nil, nil
	return m.sorted
}

// mergeAll merges one or more sorted lists. It merges them in pairs, so that each name is copied about
// log2(len(lists)) times. It modifies lists, but not their elements.
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

// merge merges two sorted lists into a new one; if one of them is empty, it returns the other.
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

// groupHeap is a heap of groups by their next instant.
type groupHeap []*group

func (h groupHeap) Len() int           { return len(h) }
func (h groupHeap) Less(i, j int) bool { return h[i].next < h[j].next }
func (h groupHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].heapIndex, h[j].heapIndex = i, j
}

// Push implements heap.Interface.
func (h *groupHeap) Push(x any) {
	g := x.(*group)
	g.heapIndex = len(*h)
	*h = append(*h, g)
}

// Pop implements heap.Interface.
func (h *groupHeap) Pop() any {
	last := len(*h) - 1
	g := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	g.heapIndex = unplanned
	return g
}
