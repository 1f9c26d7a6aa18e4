package system

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Storm is a set of jobs that fire every few seconds, and of triggers with idempotency keys. A test breaks things
// while they run, and then checks whether anything was lost or done twice (promises 1 and 2).
type Storm struct {
	m         *Machine
	interval  time.Duration     // between fires of "patient"
	triggered map[string]string // execution by idempotency key
}

// NewStorm registers an app that writes to the ledger, and the jobs: "patient" has three shards and fires every three
// seconds with misfire; "hasty" has two shards and fires every second without misfire, though its runs take longer;
// "asked" has one shard and runs when triggered. more are additional fields of all jobs. If more than 100 fires of
// "patient" waited, further ones would be dropped (rule F5). Its interval is long enough that this does not happen even
// on a slow machine.
func NewStorm(m *Machine, more ...Doc) *Storm {
	m.Helper()
	return NewStormEvery(m, 3, more...)
}

// NewStormEvery is NewStorm with another interval between fires of "patient", in seconds; 60 must be a multiple of it.
// If runs took longer than the interval, the waiting fires would take long to run at the end of the test.
func NewStormEvery(m *Machine, seconds int, more ...Doc) *Storm {
	m.Helper()
	m.App("storm", Files{"bin/start.sh": Ledger}, nil)
	takes := func(seconds string) map[string]string { return Env("TAKES", seconds) }
	job := func(name string, fields Doc) {
		m.Helper()
		for _, d := range more {
			fields = fields.with(d)
		}
		m.Job(name, "storm", fields)
	}
	job("patient", Doc{"cron": fmt.Sprintf("0/%d * * * * ?", seconds), "shardingTotalCount": 3, "misfire": true,
		"env": takes("0.2")})
	job("hasty", Doc{"cron": "* * * * * ?", "shardingTotalCount": 2, "env": takes("1.3")})
	job("asked", Doc{"misfire": true, "env": takes("0.1")})
	return &Storm{m: m, interval: time.Duration(seconds) * time.Second, triggered: map[string]string{}}
}

// shardsOf is the number of shards of each job of a storm.
var shardsOf = map[string]int{"patient": 3, "hasty": 2, "asked": 1}

// ofStorm reports whether an execution belongs to a job of the storm.
func ofStorm(execution string) bool {
	job, _, _ := strings.Cut(execution, "@")
	return shardsOf[job] > 0
}

// Ask triggers a run with a key unless that key was accepted before, and reports whether it has been accepted.
func (s *Storm) Ask(key string) bool {
	if s.triggered[key] != "" {
		return true
	}
	a, err := s.m.Try("POST", "/api/job/asked/trigger", "", "Idempotency-Key: "+key)
	if err == nil && a.Status == http.StatusOK {
		s.triggered[key] = strings.Split(a.Body, `"`)[3]
	}
	return s.triggered[key] != ""
}

// AwaitRunning waits until a shard of "hasty" runs.
func (s *Storm) AwaitRunning() {
	s.m.Helper()
	s.m.Until("a shard of hasty runs", func() string {
		a, err := s.m.Try("GET", "/api/job/hasty/explain", "")
		if err != nil {
			return err.Error()
		}
		if a.Status != http.StatusOK {
			return a.Body
		}
		var x Explanation
		s.m.decode(a.Body, &x)
		for _, r := range x.Running {
			if r.State == "RUNNING" {
				return ""
			}
		}
		return a.Body
	})
}

// AskAgain repeats all triggers that were accepted. Each must return the same execution as before.
func (s *Storm) AskAgain() {
	s.m.Helper()
	for key, id := range s.triggered {
		a := s.m.Call("POST", "/api/job/asked/trigger", "", "Idempotency-Key: "+key)
		if a.Status != http.StatusOK || !strings.Contains(a.Body, `"`+id+`"`) {
			s.m.Errorf("%s gave %s, and now %d %s", key, id, a.Status, a.Body)
		}
	}
}

// Settle waits until the crons have fired again, removes them, waits until everything that was accepted has run, and
// checks every fire and trigger against the ledger: each shard ran at least once, and its runs did not overlap. If no
// tasks were lost, each shard must have run exactly once. Settle returns a summary of the counts.
func (s *Storm) Settle(tasksLost bool) string {
	m := s.m
	m.Helper()
	s.calm()
	starts, ends := m.Ran()
	shards := map[string]int{}
	for part, n := range starts {
		shards[part.Execution]++
		if !ofStorm(part.Execution) {
			continue
		}
		if !tasksLost && (n != 1 || ends[part] == 0) {
			m.Errorf("%+v began %d times and ended %d times, want once", part, n, ends[part])
		}
	}
	fires := map[string][]time.Time{}
	for id, n := range shards {
		job, _, _ := strings.Cut(id, "@")
		if shardsOf[job] == 0 {
			continue // another job of the test
		}
		if n != shardsOf[job] {
			m.Errorf("promise 1: %d shards of %s ran, want %d", n, id, shardsOf[job])
		}
		e, found := m.FindExecution(id)
		if !found {
			e = m.forgotten(id)
		}
		if e.State != "FINISHED" && !tasksLost {
			m.Errorf("%+v: want FINISHED", e)
		}
		fires[job] = append(fires[job], e.FireTime)
	}
	s.checkNoGap(fires["patient"])
	s.checkTriggers(func(id string) bool { return shards[id] == 1 })
	unended, repeated := 0, 0
	for part, n := range starts {
		if !ofStorm(part.Execution) {
			continue
		}
		if ends[part] == 0 {
			unended++
		}
		if n > 1 {
			repeated++
		}
	}
	return fmt.Sprintf("%d fires of patient, %d of hasty, %d triggers, %d shards: %d without an end, "+
		"%d began more than once",
		len(fires["patient"]), len(fires["hasty"]), len(s.triggered), len(starts), unended, repeated)
}

// forgotten returns an execution that the servers no longer keep. It must have finished, because failed executions are
// kept five times as long. Its fire time is part of its id, unless it was triggered.
func (m *Machine) forgotten(id string) Execution {
	m.Helper()
	job, fire, _ := strings.Cut(id, "@")
	at, err := time.Parse("20060102T150405Z", fire)
	if err != nil && job != "asked" {
		m.Fatalf("execution %s was forgotten, and its id contains no fire time: %v", id, err)
	}
	return Execution{ExecutionID: id, State: "FINISHED", FireTime: at}
}

// calm waits until "patient" has fired again, removes all crons, and waits until no execution waits or runs.
func (s *Storm) calm() {
	m := s.m
	m.Helper()
	var first time.Time
	m.Until("patient has fired again", func() string {
		now := m.LastFire("patient")
		if first.IsZero() {
			first = now
		}
		if !now.After(first.Add(2 * s.interval)) {
			return fmt.Sprintf("the first was at %v, the last at %v", first, now)
		}
		return ""
	})
	for _, job := range []string{"patient", "hasty"} {
		m.Until("the cron of "+job+" is removed", func() string {
			a, err := m.Try("PUT", "/api/job/update", `{"jobName":"`+job+`","cron":null}`)
			if err != nil {
				return err.Error()
			}
			if a.Status != http.StatusOK {
				return a.Body
			}
			return ""
		})
	}
	busy := func() string {
		for _, job := range slices.Sorted(maps.Keys(shardsOf)) {
			if a, err := m.Try("GET", "/api/job/"+job+"/explain", ""); err != nil {
				return err.Error()
			} else if a.Status != http.StatusOK || !strings.Contains(a.Body, `"state":"ON_TRIGGER"`) {
				return a.Body
			}
		}
		return ""
	}
	// Many fires may wait, and each takes long on a busy machine. So the timeout applies to each change, not to all.
	for was := busy(); was != ""; was = busy() {
		m.Until("a waiting or running execution ends", func() string {
			if busy() == was {
				return was
			}
			return ""
		})
	}
}

// checkNoGap checks that no fire of "patient" is missing between the first and the last.
func (s *Storm) checkNoGap(fires []time.Time) {
	s.m.Helper()
	slices.SortFunc(fires, time.Time.Compare)
	for i, at := range fires {
		if i > 0 && at.Sub(fires[i-1]) != s.interval {
			s.m.Errorf("promise 1: patient fired at %v and then at %v", fires[i-1], at)
		}
	}
}

// checkTriggers checks that each accepted trigger has an execution of its own, and that the execution ran.
func (s *Storm) checkTriggers(ran func(execution string) bool) {
	s.m.Helper()
	keys := map[string]string{}
	for key, id := range s.triggered {
		if other := keys[id]; other != "" {
			s.m.Errorf("%s and %s are both answered with %s", key, other, id)
		}
		keys[id] = key
		if !ran(id) {
			s.m.Errorf("promise 1: trigger %s was accepted as %s, which did not run", key, id)
		}
	}
}
