package registrytest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/registry"
)

// This file tests rule T5: a commit of any size is made completely or not at all. Its commits are too large for one
// ZooKeeper request.

// largeEntries entries of largeValue bytes each fill more than three ZooKeeper requests.
const (
	largeEntries = 40
	largeValue   = 90_000
)

// large returns a commit that changes every entry, and a document that must have the version. Each round also removes
// an entry and adds another one.
func large(round int, version int64) (writes []registry.Write) {
	for i := range largeEntries {
		writes = append(writes, put(fmt.Sprintf("/large/%02d", i), fmt.Sprint(round, strings.Repeat("v", largeValue))))
	}
	return append(writes, putIf("/config/job/large", fmt.Sprint(round), registry.AtVersion(version)),
		del(fmt.Sprintf("/large/round-%d", round-1)), putIf(fmt.Sprintf("/large/round-%d", round), "",
			registry.Absent()))
}

// largeRound returns the round of the stored entries. It fails the test if they belong to different rounds.
func largeRound(t *testing.T, term registry.Term) (round int) {
	t.Helper()
	_, err := fmt.Sscan(string(get(t, term, "/config/job/large").Value), &round)
	if err != nil {
		t.Fatal(err)
	}
	found := list(t, term, "/large")
	if len(found) != largeEntries+1 {
		t.Errorf("%d entries are there of round %d, want %d", len(found), round, largeEntries+1)
	}
	for _, e := range found {
		entryRound := -1
		if len(e.Value) == 0 {
			_, err = fmt.Sscanf(e.Path, "/large/round-%d", &entryRound)
		} else {
			_, err = fmt.Sscanf(string(e.Value[:20]), "%dvv", &entryRound)
		}
		if err != nil || entryRound != round {
			t.Errorf("half of a commit is there: %s is of round %d (%v), the document of round %d", e.Path, entryRound,
				err, round)
		}
	}
	return round
}

func largeCommits(t *testing.T, s Store) {
	r, term := s.lead(t)
	commit(t, term, put("/config/job/large", "0"))
	commit(t, term, large(1, 0)...)
	if got := largeRound(t, term); got != 1 {
		t.Fatalf("round %d is there", got)
	}
	for _, bad := range []registry.Write{put("/config/job/large", ""), put("/large/round-1", ""),
		put("/large/00", "")} {
		bad.If = registry.AtVersion(7)
		conflict(t, term, bad.Path, append([]registry.Write{bad}, large(2, 1)...)...)
		if got := largeRound(t, term); got != 1 {
			t.Fatalf("round %d is there after a conflict", got)
		}
	}
	commit(t, term, large(2, 1)...)
	wantGet(t, term, entry("/config/job/large", "2", 2))
	if version := get(t, term, "/large/00").Version; version != 1 {
		t.Errorf("version %d, want 1", version)
	}
	next := s.depose(t, r)
	wantEnded(t, term.Commit(t.Context(), large(3, 2)))
	if got := largeRound(t, next); got != 2 {
		t.Fatalf("round %d is there", got)
	}
}

// cutCommits cuts a large commit off at each of its requests: once so that the request is lost, and once so that the
// request is done but not answered.
func cutCommits(t *testing.T, s Store) {
	first := s.Open(t)
	term := campaign(t, first)
	commit(t, term, put("/config/job/large", "0"))
	commit(t, term, large(1, 0)...)
	closeRegistry(t, first)
	done := 1
	for _, arrives := range []bool{false, true} {
		for n, cut := 1, true; cut; n++ {
			r, arm := s.Cut(t)
			term := campaign(t, r)
			list(t, term, "/") // as a new leader does first
			version := get(t, term, "/config/job/large").Version
			struck := arm(n, arrives)
			result := make(chan error, 1)
			go func() { result <- term.Commit(t.Context(), large(done+1, version)) }()
			select {
			case err := <-result:
				if cut = false; err != nil {
					t.Fatalf("commit: %v", err)
				}
				if n < 5 {
					t.Errorf("the commit took %d requests: it was not cut in its parts", n-1)
				}
				closeRegistry(t, r)
			case <-struck:
				closeRegistry(t, r)
				wantEnded(t, <-result)
			}
			next := s.Open(t)
			got := largeRound(t, campaign(t, next))
			if got != done && got != done+1 || !cut && got != done+1 {
				t.Errorf("cut at request %d (arrives: %v): round %d is there after round %d", n, arrives, got, done)
			}
			t.Logf("cut at request %d (arrives: %v): done %v", n, arrives, got == done+1)
			done = got
			closeRegistry(t, next)
		}
	}
}
