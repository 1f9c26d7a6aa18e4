package step

// Changed names what people see otherwise after a step than before it. A name may stand in it more than once, and without a
// difference; what differs is never left out, but for texts that only count time, such as how long ago an executor was heard.
type Changed struct {
	// Jobs are those of which Job or Explain differ, or that are new or gone; Executions and Apps likewise.
	Jobs, Executions, Apps []string
	// Cluster is set when agents, offers, executors or the subscription differ.
	Cluster bool
	// All is set when what everything waits for has changed, as with the subscription: any explanation may differ.
	All bool
}

// None reports whether nothing has changed.
func (v *Changed) None() bool {
	return !v.All && !v.Cluster && len(v.Jobs)+len(v.Executions)+len(v.Apps) == 0
}

// Most of what people see is stored, so that the writes of a step name it. The parts name what they keep in memory only:
// seeJob, seeExecution and seeApp are called for that, where it changes.

func (s *Shared) SeeJob(name string) { s.out.Changed.Jobs = AppendNew(s.out.Changed.Jobs, name) }

func (s *Shared) SeeExecution(id, job string) {
	s.out.Changed.Executions = AppendNew(s.out.Changed.Executions, id)
	s.SeeJob(job)
}

func (s *Shared) SeeApp(name string) { s.out.Changed.Apps = AppendNew(s.out.Changed.Apps, name) }

// AppendNew appends a name that is not the last one: writes come sorted, so that those of one job follow one another.
func AppendNew(names []string, name string) []string {
	if n := len(names); n > 0 && names[n-1] == name {
		return names
	}
	return append(names, name)
}
