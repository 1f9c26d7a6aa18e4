package views

import (
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// FaultyView is a document in the registry that can't be used, and why ([D15]); or a disabled mark
// that can't be read and counts as set.
type FaultyView struct {
	Path string `json:"path"`
	Kind string `json:"kind"` // app or job
	Name string `json:"name"`
	// Why says what is wrong, or why it can't be read.
	Why
	// Since is when this leader found the path's document unusable: at the latest the begin of its term.
	Since time.Time `json:"since"`
	// LastGood is set when the last good document is in force. Without one, nothing new runs.
	LastGood bool `json:"lastGood"`
}

// FaultyDocuments lists all documents in the registry that can't be used, by path.
func (vs *Views) FaultyDocuments() []FaultyView {
	out := make([]FaultyView, 0, len(vs.st.Config.Faulty()))
	for _, path := range vs.st.Config.Faults() {
		f := vs.st.Config.FaultAt(path)
		dir, name := store.Split(path)
		v := FaultyView{Path: path, Kind: "job", Name: name, Why: WhyOf(f.Why()), Since: f.Since().Truncate(time.Millisecond)}
		switch j := vs.st.Config.Job(name); {
		case dir == store.PathApps:
			v.Kind, v.LastGood = "app", vs.st.Config.App(name) != nil
		case dir == store.PathAppDisabled:
			v.Kind = "app"
		case dir == store.PathJobs && j != nil:
			v.LastGood = j.Config() != nil
		}
		out = append(out, v)
	}
	return out
}
