package master

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/internal/wholefile"
)

// registry is the state that outlives a master's process. It is stored in one file, which is replaced as a whole.
// Without a path it is in memory only.
type registry struct {
	path string
	registryState
}

// registryState is the content of the registry.
type registryState struct {
	// Frameworks are FrameworkInfos in protobuf, by id.
	Frameworks map[string][]byte `json:"frameworks"`
	// Removed are the ids of removed frameworks, which cannot subscribe again, oldest first.
	Removed []string `json:"removed"`
	// Agents are all agents that ever registered, by id. Their number needs no limit, because each data folder has only
	// one agent.
	Agents map[string]agentRecord `json:"agents"`
}

// agentRecord is the registry's record of an agent. The zero record means that the agent is registered or expected
// back.
type agentRecord struct {
	// Unreachable is since when the agent is unreachable; zero if it is not.
	Unreachable time.Time `json:"unreachable,omitzero"`
	// Gone is set after an operator marked the agent gone. The agent cannot register again.
	Gone bool `json:"gone,omitempty"`
}

// maxRemoved limits the length of Removed. To forget an old id does no harm, because no id is generated twice.
const maxRemoved = 1000

// openRegistry reads the registry, which is empty if the file does not exist or path is empty.
func openRegistry(path string) (*registry, error) {
	r := &registry{path: path}
	r.Frameworks, r.Agents = map[string][]byte{}, map[string]agentRecord{}
	if path != "" {
		content, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(content, &r.registryState)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read the local master's registry %s: %w; "+
				"move it away to forget all frameworks and agents", path, err)
		}
	}
	return r, nil
}

// change applies do to the registry and writes the file before it returns. If the write fails, nothing has changed.
func (r *registry) change(do func(*registryState)) error {
	next := registryState{
		Frameworks: maps.Clone(r.Frameworks), Removed: slices.Clone(r.Removed), Agents: maps.Clone(r.Agents),
	}
	do(&next)
	if r.path != "" && !reflect.DeepEqual(next, r.registryState) {
		if err := wholefile.WriteJSON(r.path, next); err != nil {
			return fmt.Errorf("write the local master's registry %s: %w", r.path, err)
		}
	}
	r.registryState = next
	return nil
}

func (r *registry) addFramework(info *mesos.FrameworkInfo) error {
	id := info.GetID().Value
	encoded, err := info.Marshal()
	if err != nil {
		return fmt.Errorf("encode framework %s: %w", id, err)
	}
	return r.change(func(k *registryState) { k.Frameworks[id] = encoded })
}

func (r *registry) removeFramework(id string) error {
	return r.change(func(k *registryState) {
		delete(k.Frameworks, id)
		k.Removed = append(k.Removed, id)
		k.Removed = k.Removed[max(0, len(k.Removed)-maxRemoved):]
	})
}

func (r *registry) isRemoved(id string) bool { return slices.Contains(r.Removed, id) }

func (r *registry) setAgent(id string, record agentRecord) error {
	return r.change(func(k *registryState) { k.Agents[id] = record })
}
