package term_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/term"
	"github.com/elasticjob-go/elasticjob/test/scenario"
)

// commands are the commands of the scenarios. An answer may have the name of one of failures in place of ok: then
// nothing was done.
//
//	begin                                     the first round, and app my_app with job my_job
//	app NAME, job NAME shards=, disable JOB   requests, which are numbered
//	trigger JOB, drain                        further requests
//	offer AGENT, update TASK STATE, session breaks
//	subscribe ok|FAILURE                      the result of the next attempts to subscribe
//	standby                                   another candidate waits for the term's end
//	edit job NAME parameter=, changed PATH    an external edit; the registry reports a path
//	hold commits|reads|calls                  they wait for an answer by command
//	answer commit|read ok, answer call N ok   answers a held effect
//	together A / B                            inputs A and B come before the next Ready
//	term ends, stop, wait DURATION, done
func commands() map[string]func(*scene, *scenario.Words) {
	return map[string]func(*scene, *scenario.Words){
		"begin": (*scene).begin,
		"app": func(s *scene, w *scenario.Words) {
			a := app.Default()
			a.AppName, a.AppURL, a.BootstrapScript, a.CPUCount, a.MemoryMB = w.Next(), "http://127.0.0.1/p.tar",
				"bin/start.sh", 0.5, 128
			s.request(func(token uint64) core.Request {
				return core.Request{Token: token, Event: core.ChangeRequested{Change: config.RegisterApp{Config: a}}}
			})
		},
		"job": func(s *scene, w *scenario.Words) {
			j := job(w)
			s.request(func(token uint64) core.Request {
				return core.Request{Token: token, Event: core.ChangeRequested{Change: config.RegisterJob{Config: j}}}
			})
		},
		"disable": func(s *scene, w *scenario.Words) {
			name := w.Next()
			s.request(func(token uint64) core.Request {
				return core.Request{Token: token,
					Event: core.ChangeRequested{Change: config.SetJobDisabled{Name: name, Disabled: true}}}
			})
		},
		"trigger": func(s *scene, w *scenario.Words) {
			name := w.Next()
			s.request(func(token uint64) core.Request {
				return core.Request{Token: token, Event: operator.TriggerRequested{Job: name}}
			})
		},
		"drain": func(s *scene, _ *scenario.Words) { s.machine.Drain() },
		"offer": func(s *scene, w *scenario.Words) {
			s.offers++
			s.machine.ClusterEvent(s.session,
				cluster.Offers{Offers: []cluster.Offer{{ID: fmt.Sprint("O", s.offers), AgentID: w.Next(),
					Hostname: "h",
					AgentURL: "http://h:5051", Resources: resources.Amount{CPUMilli: 8000, MemMilli: 8_192_000}}}})
		},
		"update": func(s *scene, w *scenario.Words) {
			s.offers++
			s.machine.ClusterEvent(s.session,
				cluster.Update{TaskID: s.words.IDs[w.Next()], AgentID: "S1", State: cluster.State(w.Next()),
					Source: cluster.FromExecutor, UUID: fmt.Append(nil, "u", s.offers), Timestamp: epoch.Add(s.now)})
		},
		"session": func(s *scene, w *scenario.Words) {
			w.Next()
			s.machine.SessionEnded(s.session, errors.New("the connection broke"))
		},
		"subscribe": func(s *scene, w *scenario.Words) { s.subscribe = failure(w) },
		"standby":   func(s *scene, _ *scenario.Words) { s.standby = true },
		"edit":      (*scene).edit,
		"changed":   func(s *scene, w *scenario.Words) { s.machine.Changed(w.Next()) },
		"hold":      func(s *scene, w *scenario.Words) { s.hold[w.Next()] = true },
		"answer":    (*scene).answer,
		"term": func(s *scene, w *scenario.Words) {
			w.Next()
			s.machine.TermEnded(fmt.Errorf("the session is gone: %w", registry.ErrTermEnded))
		},
		"together": func(s *scene, w *scenario.Words) {
			for list := w.List; len(list) > 0; {
				n := slices.Index(append(list, "/"), "/")
				one := &scenario.Words{List: list[1:n], Options: map[string]string{}}
				commands()[list[0]](s, one)
				w.Err = errors.Join(w.Err, one.Err)
				list = list[min(n+1, len(list)):]
			}
			w.List = nil
		},
		"stop": func(s *scene, _ *scenario.Words) { s.machine.Stop() },
		"wait": func(s *scene, w *scenario.Words) { s.run(w.Duration()) },
		"done": func(s *scene, _ *scenario.Words) { s.say("done: %v", s.machine.Done()) },
	}
}

func (s *scene) begin(w *scenario.Words) {
	s.run(settles)
	commands()["app"](s, &scenario.Words{List: []string{"my_app"}})
	commands()["job"](s, &scenario.Words{List: []string{"my_job"}})
	s.run(settles)
	s.Said()
	s.say("term 1 has app my_app and job my_job, and session %d", s.session)
}

func job(w *scenario.Words) jobs.Config {
	j := jobs.Default()
	j.JobName, j.AppName, j.JobExecutionType, j.CPUCount, j.MemoryMB = w.Next(), "my_app", jobs.Transient, 1, 64
	j.ShardingTotalCount = int(w.Number("shards", 1))
	j.JobParameter = w.Option("parameter", "")
	return j
}

func (s *scene) request(ask func(token uint64) core.Request) {
	s.asked++
	s.machine.Request(ask(s.asked))
}

// edit is an edit with zkCli.
func (s *scene) edit(w *scenario.Words) {
	w.Next()
	j := job(w)
	data, err := json.Marshal(j)
	w.Err = errors.Join(w.Err, err)
	s.put("/config/job/"+j.JobName, data)
}

func failure(w *scenario.Words) error {
	name := w.Next()
	err, known := failures[name]
	if !known && name != "ok" {
		w.Err = fmt.Errorf("there is no failure %q", name)
	}
	return err
}

// answer answers held commits, reads and calls.
func (s *scene) answer(w *scenario.Words) {
	switch what := w.Next(); what {
	case "commit":
		c := s.commits[0]
		s.commits = s.commits[1:]
		err := failure(w)
		if err == nil {
			err = s.commit(c)
		}
		s.machine.Committed(err)
	case "read":
		r := s.reads[0]
		s.reads = s.reads[1:]
		err := failure(w)
		var read []term.Document
		for _, path := range r.Paths {
			doc := s.document(path)
			if err != nil {
				doc.Err = err
			}
			read = append(read, doc)
		}
		s.machine.DocumentsRead(read)
	case "call":
		id, err := strconv.ParseInt(w.Next(), 10, 64)
		w.Err = errors.Join(w.Err, err)
		i := slices.IndexFunc(s.calls, func(c term.Call) bool { return c.ID == id })
		if i < 0 {
			w.Err = fmt.Errorf("call %d is not held", id)
			return
		}
		s.calls = slices.Delete(s.calls, i, i+1)
		s.machine.Called(id, failure(w))
	}
}
