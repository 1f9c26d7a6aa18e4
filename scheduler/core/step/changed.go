package step

// Changed names the jobs, executions and apps that users may see differently after a step. It leaves out differences
// that are only due to the passing of time, such as how long ago an executor reported. It may name an object more than
// once, or name an object that users see as before.
type Changed struct {
	// Jobs are the jobs that were added or removed, or whose row, view or explanation differs; Executions and Apps
	// likewise.
	Jobs, Executions, Apps []string
	// Cluster is set if agents, offers, executors or the subscription differ.
	Cluster bool
	// All is set if the explanation of any job or execution may differ, because something has changed for which all of
	// them may wait, such as the subscription.
	All bool
}

// None reports whether nothing has changed.
func (v *Changed) None() bool {
	return !v.All && !v.Cluster && len(v.Jobs)+len(v.Executions)+len(v.Apps) == 0
}

// JobChanged records that users now see a job differently. Most of the visible state is stored, so that the writes of
// a step show what has changed. JobChanged, ExecutionChanged and AppChanged are for state that a part keeps in memory
// only: the part calls them where it changes that state.
func (s *Shared) JobChanged(name string) {
	s.effects.Changed.Jobs = AppendNew(s.effects.Changed.Jobs, name)
}

// ExecutionChanged records that users now see an execution, and so its job, differently.
func (s *Shared) ExecutionChanged(id, job string) {
	s.effects.Changed.Executions = AppendNew(s.effects.Changed.Executions, id)
	s.JobChanged(job)
}

// AppChanged records that users now see an app differently.
func (s *Shared) AppChanged(name string) {
	s.effects.Changed.Apps = AppendNew(s.effects.Changed.Apps, name)
}

// AppendNew appends a name unless it is the last one already. Writes are sorted, so this avoids most repetitions.
func AppendNew(names []string, name string) []string {
	if n := len(names); n > 0 && names[n-1] == name {
		return names
	}
	return append(names, name)
}
