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

// Lead stands for election, leads one term and returns when the term ends: nil if ctx has ended, otherwise the reason.
// When ctx ends, the commit under way is finished, committed calls may still leave for a moment, and the leader
// resigns, so that the next one can begin at once. Running tasks always go on. Only one call of Lead or Stand may be in
// progress.
func (s *Scheduler) Lead(ctx context.Context) error {
	_, err := s.lead(ctx)
	return err
}

// ErrRefused is wrapped by the errors of Lead and Stand if the cluster has refused this scheduler for
// Options.RefusedTimeout. The leader has then abdicated.
var ErrRefused = term.ErrRefused

// lead returns, with Lead's error, how long the term lasted, 0 if none began.
func (s *Scheduler) lead(ctx context.Context) (lasted time.Duration, err error) {
	s.setRunner(nil, "this process stands for election")
	defer s.beginning.Store(0)
	defer s.hold.termEnded()
	r, err := s.beginTerm(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return 0, nil
		}
		s.setRunner(nil, err.Error())
		return 0, err
	}
	began := time.Now()
	s.setRunner(r, "")
	err = r.run(ctx)
	return time.Since(began), err
}

// The pause between two attempts to lead begins with minStandPause, and doubles up to maxStandPause. Each pause is
// shortened at random by up to a half, so that servers that failed together do not try again together. A term that
// ends sooner than maxStandPause, for instance because its first commit is refused, counts as a failed attempt.
const (
	minStandPause = 100 * time.Millisecond
	maxStandPause = 5 * time.Second
)

// Stand stands for election and leads. When the term ends or cannot begin, it stands again. When ctx ends, it resigns
// as Lead does and returns nil. It returns an error only if no further attempt can help (registry.ErrUnusable) or the
// cluster refuses this scheduler (ErrRefused). Meanwhile it logs every change of the leader.
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
		s.setRunner(nil, err.Error())
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
	// duplicateTimeout is how long the leader may have this server's own address while this process does not lead.
	// After that another process leads under the address.
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
	knownAt := time.Now()        // when a leader was last known; zero once its absence was logged
	for {
		leader, ok := s.Leader()
		switch {
		case ok:
			knownAt = time.Now()
		case !knownAt.IsZero() && time.Since(knownAt) >= noLeaderTimeout:
			knownAt = time.Time{}
			s.opt.Logger.Warn("no leader known", "detail", s.Health().Detail)
		}
		ownAddress := ok && leader.Address == s.opt.Advertise && !leader.Self
		switch {
		case !ownAddress || leader.Term == s.beginning.Load():
			duplicateSince = time.Time{}
			s.duplicateAddress.Store(false)
		case duplicateSince.IsZero():
			duplicateSince = time.Now()
		case time.Since(duplicateSince) >= duplicateTimeout && !s.duplicateAddress.Swap(true):
			s.opt.Logger.Warn("duplicate address: "+duplicateText, "address", leader.Address, "term", leader.Term,
				"since", leader.Since)
		}
		switch {
		case ownAddress: // this process may just be beginning its term
		case ok && (leader.Term != logged.Term || leader.Address != logged.Address):
			s.opt.Logger.Info("leader changed", "self", leader.Self, "address", leader.Address, "term", leader.Term,
				"since", leader.Since)
			logged = leader
		case !ok && logged.Address != "":
			s.opt.Logger.Warn("leader lost", "before", logged.Address, "term", logged.Term)
			logged = leader
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
