package master

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib"
)

// registry is what outlives a master's process, in one file that is replaced
// as a whole; without a path it is in memory only. Its methods write before they return; when that fails, nothing has changed.
type registry struct {
	path string
	// Frameworks by id, as protobuf.
	Frameworks map[string][]byte `json:"frameworks"`
	// Removed are the ids of frameworks that may not come back, oldest first.
	Removed []string `json:"removed"`
	// Agents are the ids of all agents that registered and were not given up.
	Agents []string `json:"agents"`
	// Unreachable are those that were given up, and when. The list is not bounded:
	// there is one agent per data folder, and few folders.
	Unreachable map[string]time.Time `json:"unreachable,omitempty"`
	// Gone are those that an operator marked gone. They may not come back.
	Gone []string `json:"gone,omitempty"`
	// Reserved is what operators reserved of agents, by agent id: an AgentInfo that has just these resources, as
	// protobuf. In Mesos the agents keep it themselves; here they and their master are one cluster.
	Reserved map[string][]byte `json:"reserved,omitempty"`
	// Maintenance is the schedule that operators made, as protobuf.
	Maintenance []byte `json:"maintenance,omitempty"`
}

// keptRemoved bounds the file; an id is never made twice anyway.
const keptRemoved = 1000

func openRegistry(path string) (*registry, error) {
	r := &registry{path: path, Frameworks: map[string][]byte{}}
	if path == "" {
		return r, nil
	}
	content, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(content, r)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the local master's registry %s: %w", path, err)
	}
	if r.Frameworks == nil {
		r.Frameworks = map[string][]byte{}
	}
	return r, nil
}

func (r *registry) addFramework(info *mesos.FrameworkInfo) error {
	encoded, err := info.Marshal()
	if err != nil {
		return fmt.Errorf("encode framework %s: %w", info.GetID().Value, err)
	}
	id := info.GetID().Value
	before, had := r.Frameworks[id]
	if had && string(before) == string(encoded) {
		return nil
	}
	r.Frameworks[id] = encoded
	if err := r.write(); err != nil {
		delete(r.Frameworks, id)
		if had {
			r.Frameworks[id] = before
		}
		return err
	}
	return nil
}

func (r *registry) removeFramework(id string) error {
	before, removed := r.Frameworks[id], r.Removed
	delete(r.Frameworks, id)
	r.Removed = append(slices.Clone(removed), id)
	if extra := len(r.Removed) - keptRemoved; extra > 0 {
		r.Removed = r.Removed[extra:]
	}
	if err := r.write(); err != nil {
		r.Frameworks[id], r.Removed = before, removed
		return err
	}
	return nil
}

func (r *registry) isRemoved(id string) bool { return slices.Contains(r.Removed, id) }

func (r *registry) addAgent(id string) error {
	if slices.Contains(r.Agents, id) {
		return nil
	}
	at, was := r.Unreachable[id]
	delete(r.Unreachable, id)
	r.Agents = append(r.Agents, id)
	if err := r.write(); err != nil {
		r.Agents = r.Agents[:len(r.Agents)-1]
		if was {
			r.Unreachable[id] = at
		}
		return err
	}
	return nil
}

// dropAgent forgets an agent that another one took the place of.
func (r *registry) dropAgent(id string) error {
	agents := r.Agents
	r.Agents = slices.DeleteFunc(slices.Clone(agents), func(a string) bool { return a == id })
	if err := r.write(); err != nil {
		r.Agents = agents
		return err
	}
	return nil
}

// markUnreachable moves an agent from those that are expected to those that were given up.
func (r *registry) markUnreachable(id string, at time.Time) error {
	agents := r.Agents
	r.Agents = slices.DeleteFunc(slices.Clone(agents), func(a string) bool { return a == id })
	if r.Unreachable == nil {
		r.Unreachable = map[string]time.Time{}
	}
	r.Unreachable[id] = at
	if err := r.write(); err != nil {
		r.Agents = agents
		delete(r.Unreachable, id)
		return err
	}
	return nil
}

func (r *registry) isGone(id string) bool { return slices.Contains(r.Gone, id) }

// markGone moves an agent to those that may not come back.
func (r *registry) markGone(id string) error {
	agents, gone := r.Agents, r.Gone
	at, was := r.Unreachable[id]
	r.Agents = slices.DeleteFunc(slices.Clone(agents), func(a string) bool { return a == id })
	r.Gone = append(slices.Clone(gone), id)
	delete(r.Unreachable, id)
	if err := r.write(); err != nil {
		r.Agents, r.Gone = agents, gone
		if was {
			r.Unreachable[id] = at
		}
		return err
	}
	return nil
}

func (r *registry) setMaintenance(schedule []byte) error {
	before := r.Maintenance
	r.Maintenance = schedule
	if err := r.write(); err != nil {
		r.Maintenance = before
		return err
	}
	return nil
}

// reserved is what operators reserved of an agent.
func (r *registry) reserved(agentID string) quantities {
	var info mesos.AgentInfo
	if info.Unmarshal(r.Reserved[agentID]) != nil {
		return nil
	}
	return parse(info.Resources)
}

func (r *registry) setReserved(agentID string, q quantities) error {
	encoded, err := (&mesos.AgentInfo{Resources: q.proto(nil)}).Marshal()
	if err != nil {
		return fmt.Errorf("encode what is reserved of agent %s: %w", agentID, err)
	}
	before := r.Reserved
	r.Reserved = maps.Clone(before)
	if r.Reserved == nil {
		r.Reserved = map[string][]byte{}
	}
	r.Reserved[agentID] = encoded
	if err := r.write(); err != nil {
		r.Reserved = before
		return err
	}
	return nil
}

func (r *registry) write() error {
	if r.path == "" {
		return nil
	}
	content, err := json.Marshal(r)
	if err == nil {
		err = replaceFile(r.path, content)
	}
	if err != nil {
		return fmt.Errorf("write the local master's registry %s: %w", r.path, err)
	}
	return nil
}

// replaceFile makes content durable under path, or leaves what was there.
func replaceFile(path string, content []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = temp.Write(content)
	if err == nil {
		err = temp.Sync()
	}
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes a rename in it durable.
func syncFolder(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
