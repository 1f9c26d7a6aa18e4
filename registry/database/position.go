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

// position is a state in the history of a registry: its last change.
type position struct {
	// Lineage identifies a registry. A registry gets a new lineage when it is restored or accepted.
	Lineage string `json:"lineage"`
	Term    int64  `json:"term"`
	// Holder is the candidate that began the term. If two databases have diverged, both may have a term with the same
	// number, but their holders differ.
	Holder string `json:"holder"`
	// Changes is the number of commits and terms since the registry was created.
	Changes int64 `json:"changes"`
}

// lacks returns a text that says which change s lacks, compared with the remembered position. It returns "" if s is at
// that position, past it, or of another lineage.
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

// memory has the latest durable position of the registry that this server has observed. It writes the position to a
// file, so that the position is known after a restart.
type memory struct {
	path string // "" if there is no file

	// writing is locked while the file is written. The disk may be slow, so commits wait only for mu.
	writing sync.Mutex
	saved   position // the content of the file

	mu             sync.Mutex
	latest         position
	formerLineages []string // lineages that were replaced, and must not be used again

	unproven  position // the position that was read last, which may not be durable; zero if none was read
	unchanged bool     // the read before has returned it as well
	written   position // equals unproven if this server has written something since it was read

	lackingLineage string // the lineage that was found to lack changes; "" if there is none
	lacking        string // a text about the changes that it lacks
}

// maxFormerLineages bounds formerLineages. When an operator has replaced the registry so often, the oldest database
// will not come back.
const maxFormerLineages = 20

// record is the content of the file.
type record struct {
	position
	FormerLineages []string `json:"left,omitempty"`
}

// openMemory reads the file, if it exists.
func openMemory(path string) (*memory, error) {
	m := &memory{path: path}
	if path == "" {
		return m, nil
	}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(text) == 0: // after a crash of the machine it may be empty
		return m, nil
	case err == nil:
		var r record
		if err = json.Unmarshal(text, &r); err == nil && r.Lineage == "" {
			err = errors.New("it does not name a registry")
		}
		m.latest, m.formerLineages = r.position, r.FormerLineages
	}
	if err != nil {
		return nil, fmt.Errorf("read the last known position of the registry: %s: %w; if the database is still the same, remove that file",
			path, err)
	}
	m.saved = m.latest
	return m, nil
}

func (m *memory) get() position { return m.beginRead().latest }

// readMark is what a server knew when it sent a read. Commits and writes may follow before the read is answered.
type readMark struct{ latest, written position }

// beginRead returns the mark of a read that is about to be sent.
func (m *memory) beginRead() readMark {
	m.mu.Lock()
	defer m.mu.Unlock()
	return readMark{m.latest, m.written}
}

// observe records a position that was read. It returns a text about the changes that the registry lacks, or "". If the
// registry was replaced by one of another lineage, replaced is the former lineage.
//
// A position that was read is remembered only when it is durable. A database shows a change to readers a moment before
// it has written it to its log: if it is killed in that moment, the change is gone, although it was read, and no server
// got an answer to it. There are two proofs that a position is durable. One is a later change of the same term, because
// a leader waits for the answer to one commit before it sends the next. The other is a write by this server after the
// read (recordWrite), if a read after the write still returns the position: the database writes its log in order.
func (m *memory) observe(s position, sent readMark) (lacks, replaced string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	lacks = m.compare(s, sent.latest)
	if s.Lineage == "" || lacks != "" { // the registry is not prepared yet, or not the valid one
		return lacks, ""
	}
	switch durable := m.unproven; {
	case durable.Lineage != s.Lineage || s.lacks(durable) != "":
	case s.Term == durable.Term && s.Holder == durable.Holder && s.Changes > durable.Changes:
		durable.Changes = s.Changes - 1
		replaced = m.remember(durable, sent.latest)
	case sent.written == durable:
		replaced = m.remember(durable, sent.latest)
	}
	m.unchanged = s == m.unproven
	if !m.unchanged {
		m.unproven, m.written = s, position{}
	}
	return "", replaced
}

// unprovenPosition returns the position that was read last. needsWrite is set if a write by this server has to prove
// that the position is durable: nothing has changed since the read before, so no change proves it.
func (m *memory) unprovenPosition() (s position, needsWrite bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s = m.unproven
	return s, m.unchanged && s != m.written && s != m.latest && s.lacks(m.latest) == ""
}

// recordWrite records that the database has answered a write of this server that was sent after s was read.
func (m *memory) recordWrite(s position) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s == m.unproven {
		m.written = s
	}
}

// recordCommit records the position after a commit of this server that the database has answered, which is therefore
// durable. If the registry has replaced one of another lineage, replaced is the former lineage.
func (m *memory) recordCommit(s position) (replaced string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.compare(s, s) != "" {
		return ""
	}
	return m.remember(s, m.latest)
}

// remember makes s the latest position, unless that includes s already. before is the position that was remembered when
// the read or the commit of s began.
func (m *memory) remember(s, before position) (replaced string) {
	switch {
	case s.Lineage == m.latest.Lineage:
		if s.lacks(m.latest) == "" {
			m.latest = s
		}
	case m.latest.Lineage == before.Lineage:
		if replaced = m.latest.Lineage; replaced != "" {
			m.formerLineages = append(m.formerLineages, replaced)
			m.formerLineages = m.formerLineages[max(0, len(m.formerLineages)-maxFormerLineages):]
		}
		m.latest = s
	}
	return replaced
}

// lacks returns a text about the changes that the registry of a lineage lacks, as of the last observation, or "".
func (m *memory) lacks(lineage string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if lineage != m.lackingLineage {
		return ""
	}
	return m.lacking
}

// compare returns a text about the changes that a registry lacks, or "". A registry that has lacked changes still
// lacks them after new commits, because the commits of other leaders do not replace the missing ones. So the text
// stays until the registry has another lineage, or until the database with all changes is back.
func (m *memory) compare(s, before position) (lacks string) {
	lacks = s.lacks(before)
	if s.Lineage != m.latest.Lineage && slices.Contains(m.formerLineages, s.Lineage) {
		lacks = "this server left it when another one was accepted or restored"
	}
	isBack := s.Lineage == m.latest.Lineage && s.Term == m.latest.Term && s.lacks(m.latest) == "" ||
		s.Lineage == m.unproven.Lineage && s.Term == m.unproven.Term && s.lacks(m.unproven) == ""
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

// save writes the file, if the position has changed. It does not sync the file: if a crash of the machine loses the
// content, the other servers still remember the position.
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
