package scheduler

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// beginTerm stands for election and, when it is elected, loads the stored state. The term begins with a write, and the
// state is read only after that (rule T1).
func (s *Scheduler) beginTerm(ctx context.Context) (*termRunner, error) {
	term, err := s.opt.Registry.Campaign(ctx, s.opt.Advertise)
	if err != nil {
		return nil, err
	}
	s.beginning.Store(term.Number())
	s.opt.Point(pointTermBegun)
	var stored core.Stored
	for _, path := range store.Paths() {
		entries, err := term.List(ctx, path)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("load %s: %w", path, err), resign(term))
		}
		stored.Entries = append(stored.Entries, entries...)
	}
	opt := s.opt.Core
	opt.Held = s.hold.termBegins()
	opt.History, opt.Term = s.opt.History != nil, term.Number()
	c := core.New(opt)
	began := s.opt.Clock()
	stored.Documents = readDocuments(&s.opt.Core, began, stored.Entries)
	if err := c.Load(began, stored); err != nil {
		return nil, errors.Join(err, resign(term))
	}
	found := c.Views().Stats()
	s.opt.Logger.Info("leading", "term", term.Number(), "apps", found.Apps, "jobs", found.Jobs, "executions",
		found.ExecutionsWaiting+found.ExecutionsRunning)
	if held := c.Views().Held(); held != "" {
		s.opt.Logger.Warn("launches held: " + held)
		s.hold.setHeldText(held)
	}
	return newTermRunner(s, term, c, began), nil
}

// readDocuments reads the documents among the entries, on all processors.
func readDocuments(opt *step.Options, wall time.Time, entries []registry.Entry) []config.Document {
	out := make([]config.Document, len(entries))
	const minPart = 500 // entries for one goroutine
	var wg sync.WaitGroup
	size := max(len(entries)/runtime.GOMAXPROCS(0)+1, minPart)
	for from := 0; from < len(entries); from += size {
		to := min(from+size, len(entries))
		wg.Go(func() {
			for i := from; i < to; i++ {
				out[i] = config.ReadDocument(opt, wall, entries[i])
			}
		})
	}
	wg.Wait()
	return out
}

// resign resigns from a term, within a few seconds.
func resign(term registry.Term) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := term.Resign(ctx); err != nil {
		return fmt.Errorf("resign: %w", err)
	}
	return nil
}
