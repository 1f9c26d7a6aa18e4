package core

import (
	"fmt"
	"strings"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/test/scenario"
)

// cmdAudit makes the scenario report audit rows, or requests rows of changes outside of the core.
func (s *scene) cmdAudit(w *scenario.Words) error {
	switch what := w.Next(); what {
	case "on":
		s.audits = true
		return nil
	case "rows":
		var rows []event.Audit
		for _, word := range w.List {
			parts := strings.Split(word, ":")
			if len(parts) != 3 {
				return fmt.Errorf("%s is not ID:ACTION:USER", word)
			}
			rows = append(rows, event.Audit{ID: parts[0], Time: s.wall(), Actor: s.actor, Action: parts[1],
				Target: "user", TargetName: parts[2]})
		}
		w.List = nil
		return s.steps(Request{Token: 1, Event: AuditRequested{Rows: rows}})
	default:
		return fmt.Errorf("there is no command audit %s", what)
	}
}

// cmdBy sets who makes the following requests.
func (s *scene) cmdBy(w *scenario.Words) error {
	s.actor = event.Actor{Name: w.Next(), Kind: w.Option("kind", "user"), From: w.Option("from", "127.0.0.1")}
	return nil
}

// cmdEdit makes an external edit of a node of the registry. Without a text it deletes the node.
func (s *scene) cmdEdit(w *scenario.Words) error {
	path := w.Next()
	text := strings.Join(w.List, " ")
	w.List = nil
	if delete(s.stored, path); text != "" {
		s.stored[path] = []byte(text)
		s.edits++
	}
	return s.steps(s.core.Reloaded(path, registry.Entry{Path: path, Value: []byte(text), Version: 100 + s.edits},
		text != "")...)
}
