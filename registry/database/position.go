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

// position is the position of a registry at the time of a look.
type position struct {
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
func (s position) lacks(remembered position) string {
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
	saved   position // the content of the file

	mu             sync.Mutex
	latest         position
	formerLineages []string // former lineages, which must not come back

	lackingLineage string // the lineage that was found to lack something
	lacking        string // what it lacks
}

// maxFormerLineages bounds the former lineages. No operator accepts or restores that often while the first of them may
// come back.
const maxFormerLineages = 20

// record is the content of the file.
type record struct {
	position
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
			err = errors.New("it does not name a registry")
		}
		m.latest, m.formerLineages = r.position, r.Left
	}
	if err != nil {
		return nil, fmt.Errorf("read the last known position of the registry: %s: %w; if the database is still the same, remove that file", path, err)
	}
	m.saved = m.latest
	return m, nil
}

func (m *memory) get() position {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.latest
}

// observe remembers what a look found, and returns what that lacks of before, the position remembered when the look
// began (a commit may have been made since). followed is the former lineage if the look found a new one, else "".
func (m *memory) observe(s, before position) (lacks, followed string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	lacks = m.compare(s, before)
	switch {
	case s.Lineage == "" || lacks != "": // not prepared yet, or not the valid registry
	case s.Lineage == m.latest.Lineage:
		if s.lacks(m.latest) == "" {
			m.latest = s
		}
	case m.latest.Lineage == before.Lineage:
		if followed = m.latest.Lineage; followed != "" {
			m.formerLineages = append(m.formerLineages, followed)
			m.formerLineages = m.formerLineages[max(0, len(m.formerLineages)-maxFormerLineages):]
		}
		m.latest = s
	}
	return lacks, followed
}

// lacks returns what the last look found a registry of that lineage to lack.
func (m *memory) lacks(lineage string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if lineage != m.lackingLineage {
		return ""
	}
	return m.lacking
}

// compare returns what a registry lacks. A registry that has lacked something is refused while it keeps its lineage,
// however many commits it gets since, because commits of other leaders do not replace those that are lost. It is
// accepted again when the database that has all of them is back.
func (m *memory) compare(s, before position) (lacks string) {
	lacks = s.lacks(before)
	if s.Lineage != m.latest.Lineage && slices.Contains(m.formerLineages, s.Lineage) {
		lacks = "this server left it when another one was accepted or restored"
	}
	isBack := s.Lineage == m.latest.Lineage && s.Term == m.latest.Term && s.lacks(m.latest) == ""
	switch {
	case lacks != "":
		m.lackingLineage, m.lacking = s.Lineage, lacks
	case s.Lineage != m.lackingLineage || isBack:
		m.lackingLineage = ""
	default:
		lacks = m.lacking
	}
	return lacks
}

// save writes the file if it is out of date. It does not sync the file: if a crash of the machine loses it, the other
// servers still remember the position.
func (m *memory) save() error {
	m.writing.Lock()
	defer m.writing.Unlock()
	m.mu.Lock()
	now := record{m.latest, slices.Clone(m.formerLineages)}
	m.mu.Unlock()
	if m.path == "" || now.position == m.saved {
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
		return fmt.Errorf("record the position of the registry: %w", err)
	}
	m.saved = now.position
	return nil
}
