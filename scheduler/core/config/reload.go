package config

import (
	"reflect"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Reloaded returns the events with which the core must be stepped because a path has changed: entry is stored there
// now or, if found is false, nothing is. It is for paths that external edits may change: documents of apps and jobs,
// and their disabled marks. It returns none if the core knows the entry already, for instance from its own commit. If
// a document cannot be used or read, the last good one stays in force ([D15]). A disabled mark that cannot be read
// counts as set.
func (k *Set) Reloaded(path string, entry registry.Entry, found bool) []step.Event {
	dir, name := store.Split(path)
	switch dir {
	case store.PathApps:
		return k.reloadedApp(path, name, entry, found)
	case store.PathJobs:
		return k.reloadedJob(path, name, entry, found)
	case store.PathAppDisabled, store.PathJobDisabled:
		return k.reloadedMark(path, entry, found)
	}
	return nil
}

func (k *Set) reloadedApp(path, name string, entry registry.Entry, found bool) []step.Event {
	a := k.apps[name]
	if !found {
		if a == nil && !k.HasFault(path) {
			return nil
		}
		return []step.Event{AppChanged{Name: name,
			Disabled: k.marked[store.Under(store.PathAppDisabled, name)].Disables()}}
	}
	cfg, notes, err := readApp(&k.shared.Opt, name, entry)
	if err != nil {
		return k.reloadedFault(path, entry, err)
	}
	if a != nil && a.version == entry.Version && a.cfg == cfg && !k.HasFault(path) {
		return nil
	}
	return []step.Event{AppChanged{Name: name, Config: &cfg, Version: entry.Version,
		Disabled: k.marked[store.Under(store.PathAppDisabled, name)].Disables(), Notes: notes,
		Bytes: len(entry.Value)}}
}

func (k *Set) reloadedJob(path, name string, entry registry.Entry, found bool) []step.Event {
	j := k.jobs[name]
	if !found {
		if (j == nil || j.cfg == nil) && !k.HasFault(path) {
			return nil
		}
		return []step.Event{k.withMark(JobChanged{Name: name})}
	}
	cfg, notes, err := readJob(&k.shared.Opt, name, entry, k.shared.Wall())
	if err != nil {
		return k.reloadedFault(path, entry, err)
	}
	if j != nil && j.cfg != nil && j.version == entry.Version && reflect.DeepEqual(*j.cfg, cfg) && !k.HasFault(path) {
		return nil
	}
	return []step.Event{k.withMark(JobChanged{Name: name, Config: &cfg, Version: entry.Version, Notes: notes,
		Bytes: len(entry.Value)})}
}

// withMark adds the present disabled mark to a change of a job's document, because the change leaves the mark as it
// is.
func (k *Set) withMark(e JobChanged) JobChanged {
	m := k.marked[store.Under(store.PathJobDisabled, e.Name)]
	e.Disabled, e.Shutdown = m.Disables(), m == markedShutdown
	return e
}

func (k *Set) reloadedMark(path string, entry registry.Entry, found bool) (events []step.Event) {
	readable := entry.Unreadable == ""
	now := notMarked
	switch was := k.marked[path]; {
	case found && readable:
		now = MarkOf(path, entry.Value)
	case found && was.Disables():
		now = was
	case found:
		now = MarkedDisabled
	}
	if k.marked[path] != now || readable && k.HasFault(path) {
		events = append(events, MarkChanged{Path: path, Disabled: now.Disables(), Shutdown: now == markedShutdown})
	}
	if !readable {
		events = append(events, k.reloadedFault(path, entry, MarkUnreadable(entry))...)
	}
	return events
}

func (k *Set) reloadedFault(path string, entry registry.Entry, err error) []step.Event {
	why := faultOf(err)
	if f := k.faulty[path]; f.why.Equal(why) && f.version == entry.Version {
		return nil
	}
	return []step.Event{DocumentFaulty{Path: path, Why: why, Version: entry.Version}}
}

// Edit is an external edit for the log. What says what happened at Path ("edited", "created" or "removed"); Kind
// ("app" or "job") and Name say to which app or job.
type Edit struct{ Path, What, Kind, Name string }

// EditOf returns the edit that an event of Reloaded describes; false for a document that cannot be used, which the
// core reports itself.
func EditOf(e step.Event) (Edit, bool) {
	what := func(exists bool) string {
		if exists {
			return "edited"
		}
		return "removed"
	}
	switch e := e.(type) {
	case AppChanged:
		return Edit{store.Under(store.PathApps, e.Name), what(e.Config != nil), "app", e.Name}, true
	case JobChanged:
		return Edit{store.Under(store.PathJobs, e.Name), what(e.Config != nil), "job", e.Name}, true
	case MarkChanged:
		edit := Edit{Path: e.Path, What: "removed", Kind: "job"}
		var dir string
		if dir, edit.Name = store.Split(e.Path); dir == store.PathAppDisabled {
			edit.Kind = "app"
		}
		if e.Disabled {
			edit.What = "created"
		}
		return edit, true
	}
	return Edit{}, false
}
