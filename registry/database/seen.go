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

// seen is the position of a registry at the time of a look.
type seen struct {
	// Lineage identifies a registry. A restored or accepted one gets a new lineage.
	Lineage string `json:"lineage"`
	Term    int64  `json:"term"`
	// Holder is the candidate that began the term. It tells apart two diverged databases that both have a term of that
	// number.
	Holder string `json:"holder"`
	// Changes counts commits and terms since the registry was created.
	Changes int64 `json:"changes"`
}

// lacks returns what s lacks of the remembered position; "" if s is at that position, past it, or of another lineage.
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

// memory holds the latest position that this server has seen of its registry, and writes it to a file that survives
// the process.
type memory struct {
	path string // empty: nothing survives the process

	// writing is held while the file is written. The disk may be slow, and a commit waits only for mu.
	writing sync.Mutex
	kept    seen // the content of the file

	mu     sync.Mutex
	latest seen
	left   []string // former lineages, which must not come back

	behind string // the lineage that was found to lack something
	what   string // what it lacks
}

// maxLeft bounds the former lineages. No operator accepts or restores that often while the first of them may come
// back.
const maxLeft = 20

// record is the content of the file.
type record struct {
	seen
	Left []string `json:"left,omitempty"`
}

// openMemory reads the file, if it exists.
func openMemory(path string) (*memory, error) {
	m := &memory{path: path}
	if path == "" {
		return m, nil
	}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(text) == 0: // a crash of the machine may leave it empty
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

// saw remembers what a look found, and returns what that lacks of before, the position remembered when the look began
// (a commit may have been made since). followed is the former lineage if the look found a new one, else "".
func (m *memory) saw(s, before seen) (lacks, followed string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	lacks = m.judge(s, before)
	switch {
	case s.Lineage == "" || lacks != "": // not prepared yet, or not the valid registry
	case s.Lineage == m.latest.Lineage:
		if s.lacks(m.latest) == "" {
			m.latest = s
		}
	case m.latest.Lineage == before.Lineage:
		if followed = m.latest.Lineage; followed != "" {
			m.left = append(m.left, followed)
			m.left = m.left[max(0, len(m.left)-maxLeft):]
		}
		m.latest = s
	}
	return lacks, followed
}

// says returns what the last look found a registry of that lineage to lack.
func (m *memory) says(lineage string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if lineage != m.behind {
		return ""
	}
	return m.what
}

// judge returns what a registry lacks. A registry that has lacked something is refused while it keeps its lineage,
// however many commits it gets since, because commits of other leaders do not replace those that are lost. It is
// accepted again when the database that has all of them is back.
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

// keep writes the file if it is out of date. It does not sync the file: if a crash of the machine loses it, the other
// servers still remember the position.
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
