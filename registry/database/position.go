package database

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"
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

// memory has the latest durable position of the registry that this server has observed. It writes the position to a file, so
// that the position is known after a restart.
type memory struct {
	path string // "" if there is no file

	// writing is locked while the file is written. The disk may be slow, so commits wait only for mu.
	writing sync.Mutex
	saved   position // the content of the file

	mu             sync.Mutex
	latest         position
	formerLineages []string // lineages that were replaced, and must not be used again

	unsettled position  // the earliest position that was read and may not be durable; zero if there is none
	readAt    time.Time // when that read was answered

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

func (m *memory) get() position {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.latest
}

// settleTime is how long after a read the position that it returned counts as durable. A database shows a change to
// readers a moment before it has written it to its log: if it is killed in that moment, the change is gone, although
// it was read. The leader then has no answer either, so nothing that was answered is missing.
const settleTime = time.Second

// observe records a position that was read, by a request that was sent and answered at those times. It returns a text
// about the changes that the registry lacks, or "". before is the position that was remembered when the read began,
// because a commit may have been made since. If the registry was replaced by one of another lineage, replaced is the
// former lineage.
//
// The position is remembered when a later read proves that it is durable: the read was sent after settleTime and still
// includes the position, or it shows a later change of the same term, because a leader waits for the answer to one
// commit before it sends the next.
func (m *memory) observe(s, before position, sent, answered time.Time) (lacks, replaced string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	lacks = m.compare(s, before)
	if s.Lineage == "" || lacks != "" { // the registry is not prepared yet, or not the valid one
		m.unsettled = position{}
		return lacks, ""
	}
	if m.unsettled.Lineage == s.Lineage && s.lacks(m.unsettled) == "" {
		durable := m.unsettled
		switch sameTerm := s.Term == durable.Term && s.Holder == durable.Holder; {
		case sameTerm && s.Changes > durable.Changes:
			durable.Changes = s.Changes - 1
		case sent.Sub(m.readAt) < settleTime:
			return "", ""
		}
		replaced = m.remember(durable, before)
	}
	m.unsettled, m.readAt = s, answered
	return "", replaced
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
