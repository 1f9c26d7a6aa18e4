package scheduler

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/term"
)

// Lead stands for election, leads one term and returns when the term ends: nil when ctx ended, otherwise the reason.
// When ctx ends, the commit under way is finished, nothing leaves any more, and the leader resigns, so that the next
// one can begin at once. Running tasks always go on. Neither Lead nor Stand may be called before it has returned.
func (s *Scheduler) Lead(ctx context.Context) error {
	_, err := s.lead(ctx)
	return err
}

// ErrRefused is wrapped by the errors of Lead and Stand when the cluster has refused this scheduler for
// Options.RefusedTimeout. The leader has abdicated then.
var ErrRefused = term.ErrRefused

// lead returns, with Lead's error, how long the term lasted, 0 if none began.
func (s *Scheduler) lead(ctx context.Context) (lasted time.Duration, err error) {
	s.set(nil, "this process stands for election")
	defer s.beginning.Store(0)
	defer s.hold.termEnded()
	r, err := s.beginTerm(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return 0, nil
		}
		s.set(nil, err.Error())
		return 0, err
	}
	began := time.Now()
	s.set(r, "")
	err = r.run(ctx)
	return time.Since(began), err
}

// The pauses between two attempts to lead. The second doubles up to the third. Each is shortened at random by up to a
// half, so that servers that failed together do not try again together. A term that ends at once, for instance because
// its first commit is refused, counts as a failed attempt.
const (
	minStandPause = 100 * time.Millisecond
	maxStandPause = 5 * time.Second
)

// Stand stands for election and leads; when the term ends or cannot begin, it stands again. When ctx ends it returns
// nil, and has resigned as Lead does. It returns an error only if no further attempt can help (registry.ErrUnusable)
// or the cluster refuses this scheduler (ErrRefused). The log names the leader, and since when it leads, at every
// change.
func (s *Scheduler) Stand(ctx context.Context) error {
	watch, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		s.logLeader(watch)
	}()
	defer func() {
		stop()
		<-watched
	}()
	for tries := 0; ; tries++ {
		lasted, err := s.lead(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, registry.ErrUnusable):
			return fmt.Errorf("lead: %w", err)
		case errors.Is(err, ErrRefused):
			return err
		case lasted >= maxStandPause:
			tries = 0
		}
		pause := step.Backoff(minStandPause, maxStandPause, tries)
		pause -= rand.N(pause / 2)
		s.set(nil, err.Error())
		s.opt.Logger.Warn("not leading, standing for election again", "retry", pause.Round(time.Millisecond), "led",
			lasted.Round(time.Millisecond), "error", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
	}
}

const (
	// leaderCheckInterval is the interval at which the leader is looked up; the registry answers that without I/O.
	leaderCheckInterval = 100 * time.Millisecond
	// duplicateTimeout is how long this server's own address may lead before this process must know that it is the
	// leader itself.
	duplicateTimeout = time.Second
	// noLeaderTimeout is longer than an election takes.
	noLeaderTimeout = 3 * time.Second
)

// logLeader logs the leader, at every change, until ctx ends.
func (s *Scheduler) logLeader(ctx context.Context) {
	tick := time.NewTicker(leaderCheckInterval)
	defer tick.Stop()
	var logged LeaderView
	var duplicateSince time.Time // zero while no other process leads under this server's address
	known := time.Now()          // when a leader was last known; zero once its absence was logged
	for {
		now, ok := s.Leader()
		switch {
		case ok:
			known = time.Now()
		case !known.IsZero() && time.Since(known) >= noLeaderTimeout:
			known = time.Time{}
			s.opt.Logger.Warn("no leader known", "detail", s.Health().Detail)
		}
		switch duplicate := ok && now.Address == s.opt.Advertise && !now.Self && now.Term != s.beginning.Load(); {
		case !duplicate:
			duplicateSince = time.Time{}
			s.duplicateAddress.Store(false)
		case duplicateSince.IsZero():
			duplicateSince = time.Now()
		case time.Since(duplicateSince) >= duplicateTimeout && !s.duplicateAddress.Swap(true):
			s.opt.Logger.Warn("duplicate address: "+duplicateText, "address", now.Address, "term", now.Term, "since",
				now.Since)
		}
		switch {
		case ok && now.Address == s.opt.Advertise && !now.Self: // this process may just be beginning its term
		case ok && (now.Term != logged.Term || now.Address != logged.Address):
			s.opt.Logger.Info("leader changed", "self", now.Self, "address", now.Address, "term", now.Term, "since",
				now.Since)
			logged = now
		case !ok && logged.Address != "":
			s.opt.Logger.Warn("leader lost", "before", logged.Address, "term", logged.Term)
			logged = now
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// duplicateText says what another leader under this server's own address means, and what to do.
const duplicateText = "another process leads under this server's own address: an earlier run of it, until its session ends, or another server with the same --advertise; give each server its own, or this one can forward no request"
