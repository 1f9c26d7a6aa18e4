package views

import (
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// FaultyView is a document in the registry that cannot be used, with the reason ([D15]), or a disabled mark that
// cannot be read and counts as set.
type FaultyView struct {
	Path string `json:"path"`
	Kind string `json:"kind"` // app or job
	Name string `json:"name"`
	// Why says what is wrong with the document, or why it cannot be read.
	Why
	// Since is when this leader found it unusable. It may have been unusable before the leader's term.
	Since time.Time `json:"since"`
	// LastGood is set if the last good document is in force. Otherwise nothing of the app or job is launched.
	LastGood bool `json:"lastGood"`
}

// FaultyDocuments returns all documents and disabled marks in the registry that cannot be used, sorted by path.
func (vs *Views) FaultyDocuments() []FaultyView {
	out := make([]FaultyView, 0, vs.st.Config.NumFaults())
	for _, path := range vs.st.Config.Faults() {
		f := vs.st.Config.FaultAt(path)
		dir, name := store.Split(path)
		v := FaultyView{Path: path, Kind: "job", Name: name, Why: WhyOf(f.Why()),
			Since: f.Since().Truncate(time.Millisecond)}
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
