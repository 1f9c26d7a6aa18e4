package database

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
)

// seen is how far a registry was when somebody looked.
type seen struct {
	// Lineage tells registries apart: one that was restored or accepted has another.
	Lineage string `json:"lineage"`
	Term    int64  `json:"term"`
	// Holder is who began the term: two databases that went apart may both have a term of a number.
	Holder string `json:"holder"`
	// Changes counts commits and terms from the registry's beginning on.
	Changes int64 `json:"changes"`
}

// lacks says what a registry that was seen lacks of one that is remembered; empty if it is the same one, or later.
func (s seen) lacks(remembered seen) string {
	switch {
	case s.Lineage != remembered.Lineage:
		return ""
	case s.Changes < remembered.Changes:
		return fmt.Sprintf("it is at change %d of term %d, and this server has seen change %d of term %d", s.Changes,
			s.Term, remembered.Changes, remembered.Term)
	case s.Term < remembered.Term, s.Term == remembered.Term && s.Holder != remembered.Holder:
		return fmt.Sprintf("its term %d is not the term %d that this server has seen", s.Term, remembered.Term)
	}
	return ""
}

// memory is the latest that this server has seen of its registry, with a file that outlives the process.
type memory struct {
	path string // empty: nothing outlives the process

	// writing is held by who writes the file, whose disk may be slow: a commit waits for mu only.
	writing sync.Mutex
	kept    seen // what the file holds

	mu     sync.Mutex
	latest seen
	left   []string // lineages that were left for others, which must not come back

	behind string // the lineage that was found to lack something
	what   string // which is this
}

// mostLeft is more than anybody accepts or restores while the first of them may come back.
const mostLeft = 20

// record is the file.
type record struct {
	seen
	Left []string `json:"left,omitempty"`
}

// openMemory reads the file, which need not be there.
func openMemory(path string) (*memory, error) {
	m := &memory{path: path}
	if path == "" {
		return m, nil
	}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(text) == 0: // a machine that failed may leave it empty
		return m, nil
	case err == nil:
		var r record
		if err = json.Unmarshal(text, &r); err == nil && r.Lineage == "" {
			err = errors.New("it names no registry")
		}
		m.latest, m.left = r.seen, r.Left
	}
	if err != nil {
		return nil, fmt.Errorf("read what this server has seen of the registry: %s: %w; if the database is the one that it was, remove that file", path, err)
	}
	m.kept = m.latest
	return m, nil
}

func (m *memory) get() seen {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.latest
}

// saw remembers what a look has found, and returns what that lacks of before, which was remembered when the look
// began: a commit may have been made since. followed is the lineage that was left for this one, if any.
func (m *memory) saw(s, before seen) (lacks, followed string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	lacks = m.judge(s, before)
	switch {
	case s.Lineage == "" || lacks != "": // nobody has prepared it; or it is not what counts
	case s.Lineage == m.latest.Lineage:
		if s.lacks(m.latest) == "" {
			m.latest = s
		}
	case m.latest.Lineage == before.Lineage:
		if followed = m.latest.Lineage; followed != "" {
			m.left = append(m.left, followed)
			m.left = m.left[max(0, len(m.left)-mostLeft):]
		}
		m.latest = s
	}
	return lacks, followed
}

// says is what a registry of that lineage was last found to lack.
func (m *memory) says(lineage string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if lineage != m.behind {
		return ""
	}
	return m.what
}

// judge says what a registry lacks. One that lacked something stays so while it has its lineage, however far it is
// led, until the one that has all is back: commits of others do not make up for those that are lost.
func (m *memory) judge(s, before seen) (lacks string) {
	lacks = s.lacks(before)
	if s.Lineage != m.latest.Lineage && slices.Contains(m.left, s.Lineage) {
		lacks = "it is the one that this server left when another was accepted or restored"
	}
	isBack := s.Lineage == m.latest.Lineage && s.Term == m.latest.Term && s.lacks(m.latest) == ""
	switch {
	case lacks != "":
		m.behind, m.what = s.Lineage, lacks
	case s.Lineage != m.behind || isBack:
		m.behind = ""
	default:
		lacks = m.what
	}
	return lacks
}

// keep writes the file if it is behind. It is not synced: what a machine's crash takes from it is what other servers
// remember.
func (m *memory) keep() error {
	m.writing.Lock()
	defer m.writing.Unlock()
	m.mu.Lock()
	now := record{m.latest, slices.Clone(m.left)}
	m.mu.Unlock()
	if m.path == "" || now.seen == m.kept {
		return nil
	}
	text, err := json.Marshal(now)
	if err == nil {
		err = os.WriteFile(m.path+".new", append(text, '\n'), 0o600)
	}
	if err == nil {
		err = os.Rename(m.path+".new", m.path)
	}
	if err != nil {
		return fmt.Errorf("remember how far the registry is: %w", err)
	}
	m.kept = now.seen
	return nil
}
