package core

import (
	"reflect"

	"github.com/elasticjob-go/elasticjob/registry"
)

// Reloaded says what it means for the core that entry is at path now, or, with
// found false, that nothing is: the events to step with. It is for paths that somebody
// else may have changed: documents of apps and jobs and their disabled marks. What the
// core knows already, such as its own commits, gives none. A document that can't be
// used, or not be read, leaves the last good one in force ([D15]). A disabled mark that can't be read counts as set.
func (c *Core) Reloaded(path string, entry registry.Entry, found bool) []Event {
	dir, name := splitPath(path)
	switch dir {
	case pathApps:
		return c.reloadedApp(path, name, entry, found)
	case pathJobs:
		return c.reloadedJob(path, name, entry, found)
	case pathAppDisabled, pathJobDisabled:
		return c.reloadedMark(path, entry, found)
	}
	return nil
}

func (c *Core) reloadedApp(path, name string, entry registry.Entry, found bool) []Event {
	a := c.apps[name]
	if !found {
		if a == nil && !c.hasFault(path) {
			return nil
		}
		return []Event{AppChanged{Name: name, Disabled: c.marked[under(pathAppDisabled, name)]}}
	}
	cfg, notes, err := readApp(&c.opt, name, entry)
	if err != nil {
		return c.reloadedFault(path, entry, err)
	}
	if a != nil && a.version == entry.Version && a.cfg == cfg && !c.hasFault(path) {
		return nil
	}
	return []Event{AppChanged{Name: name, Config: &cfg, Version: entry.Version, Disabled: c.marked[under(pathAppDisabled, name)], Notes: notes}}
}

func (c *Core) reloadedJob(path, name string, entry registry.Entry, found bool) []Event {
	j := c.jobs[name]
	if !found {
		if (j == nil || j.cfg == nil) && !c.hasFault(path) {
			return nil
		}
		return []Event{JobChanged{Name: name, Disabled: c.marked[under(pathJobDisabled, name)]}}
	}
	cfg, notes, err := readJob(&c.opt, name, entry, c.wall)
	if err != nil {
		return c.reloadedFault(path, entry, err)
	}
	if j != nil && j.cfg != nil && j.version == entry.Version && reflect.DeepEqual(*j.cfg, cfg) && !c.hasFault(path) {
		return nil
	}
	return []Event{JobChanged{Name: name, Config: &cfg, Version: entry.Version, Disabled: c.marked[under(pathJobDisabled, name)], Notes: notes}}
}

func (c *Core) reloadedMark(path string, entry registry.Entry, found bool) (events []Event) {
	readable := entry.Unreadable == ""
	if c.marked[path] != found || readable && c.hasFault(path) {
		events = append(events, MarkChanged{Path: path, Disabled: found})
	}
	if !readable {
		events = append(events, c.reloadedFault(path, entry, markUnreadable(entry))...)
	}
	return events
}

func (c *Core) reloadedFault(path string, entry registry.Entry, err error) []Event {
	if f := c.faulty[path]; f.why == err.Error() && f.version == entry.Version {
		return nil
	}
	return []Event{DocumentFaulty{Path: path, Why: err.Error(), Version: entry.Version}}
}

// markChanged follows a disabled mark that an external edit has set or removed
// (rule F6). A mark may be there before its document is.
func (c *Core) markChanged(e MarkChanged) {
	c.needChanged()
	c.mark(e.Path, e.Disabled)
	delete(c.faulty, e.Path) // the event about one that can't be read follows
	dir, name := splitPath(e.Path)
	if dir == pathAppDisabled {
		if a := c.apps[name]; a != nil && a.disabled != e.Disabled {
			a.disabled = e.Disabled
			c.applyJobStates(a)
		}
		return
	}
	if j := c.jobs[name]; j != nil && j.disabled != e.Disabled {
		j.disabled = e.Disabled
		c.applyJobState(j)
	}
}

// mark remembers which disabled marks are in the registry.
func (c *Core) mark(path string, disabled bool) {
	if disabled {
		c.marked[path] = true
		return
	}
	delete(c.marked, path)
	delete(c.faulty, path)
}

// Edit is an external edit, for the log: What was done at Path, to the app or job (Kind) of that name.
type Edit struct{ Path, What, Kind, Name string }

// EditOf is the edit that an event of Reloaded stands for; false for a document that can't be used, which the core reports
// itself.
func EditOf(e Event) (Edit, bool) {
	what := func(there bool) string {
		if there {
			return "edited"
		}
		return "removed"
	}
	switch e := e.(type) {
	case AppChanged:
		return Edit{under(pathApps, e.Name), what(e.Config != nil), "app", e.Name}, true
	case JobChanged:
		return Edit{under(pathJobs, e.Name), what(e.Config != nil), "job", e.Name}, true
	case MarkChanged:
		edit := Edit{Path: e.Path, What: "removed", Kind: "job"}
		var dir string
		if dir, edit.Name = splitPath(e.Path); dir == pathAppDisabled {
			edit.Kind = "app"
		}
		if e.Disabled {
			edit.What = "made"
		}
		return edit, true
	}
	return Edit{}, false
}
