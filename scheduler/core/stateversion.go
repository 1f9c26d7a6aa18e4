package core

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// StateVersion is the version of the state that this release keeps below /scheduler. It grows with each change that
// earlier releases could not handle: they would misread the state, or drop fields that matter at their next write of
// the entry.
//
//	0  no version is stored (the first releases)
//	1  the version itself
//	2  reasons are codes with arguments, not sentences
//	3  attempts and orphans of exclusive jobs have leases (rule K5)
const StateVersion = 3

// stateVersion is the stored record of the version. The first leader of a newer release writes it in its first commit,
// together with the first state of that release. From then on earlier releases refuse the state.
type stateVersion struct {
	Version int `json:"version"`
	// Release is the release that wrote the record. Only error messages use it.
	Release string `json:"release"`

	changed bool
}

// load reads the record, if there is one, and marks it to be written if its version is older than StateVersion. A
// newer version is an error, because this release might misread the state and lose or repeat work.
func (v *stateVersion) load(entries []registry.Entry, release string) error {
	for _, e := range entries {
		if e.Path != store.PathStateVersion {
			continue
		}
		if e.Unreadable != "" {
			return fmt.Errorf("read %s: %s; the scheduler can't lead without it: grant it read permission", e.Path,
				e.Unreadable)
		}
		if err := json.Unmarshal(e.Value, v); err != nil || v.Version < 1 {
			return fmt.Errorf("read %s: it is not a state version (%w): restore the registry from a backup",
				e.Path, cmp.Or(err, errors.New("the version is below 1")))
		}
	}
	if v.Version > StateVersion {
		return fmt.Errorf("the state in the registry has version %d, written by release %s; this release, %s, knows versions up to %d: "+
			"start release %s or a later one here, or restore a backup of before the upgrade",
			v.Version, v.Release, release, StateVersion, v.Release)
	}
	if v.Version < StateVersion {
		v.Version, v.Release, v.changed = StateVersion, release, true
	}
	return nil
}

func (v *stateVersion) write(r *store.Commit) {
	if v.changed {
		r.Put(store.PathStateVersion, v)
	}
	v.changed = false
}
