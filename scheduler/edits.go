package scheduler

// logExternalEdits writes into the log what somebody else has changed in the registry and is in force
// now. What can't be used is told by the core (NoteFaulty).
func (r *termRunner) logExternalEdits(edits []Event) {
	tell := func(path, how, kind, name string) {
		r.s.opt.Logger.Info("taken over: "+path+", "+how+" by another", kind, name)
	}
	edited := func(there bool) string {
		if there {
			return "edited"
		}
		return "removed"
	}
	for _, e := range edits {
		switch e := e.(type) {
		case AppChanged:
			tell(under(pathApps, e.Name), edited(e.Config != nil), "app", e.Name)
		case JobChanged:
			tell(under(pathJobs, e.Name), edited(e.Config != nil), "job", e.Name)
		case MarkChanged:
			kind, how := "job", "removed"
			dir, name := splitPath(e.Path)
			if dir == pathAppDisabled {
				kind = "app"
			}
			if e.Disabled {
				how = "made"
			}
			tell(e.Path, how, kind, name)
		}
	}
}
