package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestAgents: machines are cordoned with a reason and an end, and the list shows agents beside cordoned machines that
// are away.
func TestAgents(t *testing.T) {
	t.Parallel()
	asked := ""
	server, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/api/cluster":
			fmt.Fprint(w, `{"agentsTotal":2,"agents":[`+
				`{"id":"A0","hostname":"m1","state":"CORDONED","since":"2026-05-01T11:00:00Z","tasks":2,"note":"its clock is off",`+
				`"cordon":{"since":"2026-05-01T11:00:00Z","by":"ann","reason":"disk","until":"2026-05-01T14:00:00Z"}},`+
				`{"id":"A1","hostname":"m2","state":null,"tasks":0}],"machines":[`+
				`{"machine":"m1","agents":["A0"],"cordon":{"since":"2026-05-01T11:00:00Z","reason":"disk","drain":{"left":[{"jobName":"d","item":1,"reason":"it waits"}],"leftTotal":1}}},`+
				`{"machine":"m9","agents":[],"cordon":{"since":"2026-05-01T11:00:00Z","by":"","reason":"","dead":"2026-05-01T11:00:00Z"}}]}`)
		case "/api/agent/m1/drain":
			asked += string(body) + "\n"
			fmt.Fprint(w, `{"machine":"m1","agents":["A0"],"cordon":{"since":"2026-05-01T11:00:00Z","drain":{"left":[{"jobName":"d","item":0,"reason":"no room elsewhere: it needs 4 GB"}],"leftTotal":3}}}`)
		case "/api/agent/m1/dead":
			if !strings.Contains(string(body), "force") {
				refuses(w, http.StatusConflict, "machine_heard", `heard 2s ago: wait, or add "force": true if you know`)
				return
			}
			fmt.Fprint(w, `{"machine":"m1","agents":["A0"],"attemptsOver":3,"cordon":{"since":"2026-05-01T11:00:00Z"}}`)
		case "/api/agent/none/uncordon":
			refuses(w, http.StatusNotFound, "machine_not_found", `no host "none": GET /api/cluster lists those`)
		default:
			asked += r.URL.Path + " " + string(body) + "\n"
			fmt.Fprint(w, `{"machine":"m1","agents":["A0"],"cordon":null}`)
		}
	})
	s := newSession(t)
	if got, want := s.ok("--server", server, "agent", "cordon", "A0", "--reason", "disk", "--until",
		"2999-01-01T00:00:00Z"), "machine m1 is cordoned\n"; got != want {
		t.Errorf("cordon says %q, want %q", got, want)
	}
	s.ok("--server", server, "agent", "cordon", "m1", "m2", "--reason", "disk", "--force")
	if got, want := s.ok("--server", server, "agent", "uncordon", "m1"), "machine m1 is used again\n"; got != want {
		t.Errorf("uncordon says %q, want %q", got, want)
	}
	if want := `/api/agent/A0/cordon {"reason":"disk","until":"2999-01-01T00:00:00Z"}
/api/agent/m1/cordon {"reason":"disk","force":true}
/api/agent/m2/cordon {"reason":"disk","force":true}
/api/agent/m1/uncordon 
`; asked != want {
		t.Errorf("asked\n%s want\n%s", asked, want)
	}
	if got, want := s.ok("--server", server, "agent", "dead", "m1", "--force"),
		"machine m1 is dead, attempts over: 3; it stays cordoned\n"; got != want {
		t.Errorf("dead says %q, want %q", got, want)
	}
	asked = ""
	if got, want := s.ok("--server", server, "agent", "drain", "m1", "--reason", "reboot", "--deadline", "90s"),
		"machine m1 is cordoned, and drains\n  m1: shard 0 of d: no room elsewhere: it needs 4 GB\n  m1: and 2 more\n"; got != want ||
		asked != `{"reason":"reboot","deadlineSeconds":90}`+"\n" {
		t.Errorf("drain says %q, want %q; it asked %s", got, want, asked)
	}
	list := s.ok("--server", server, "agent", "list")
	for _, want := range []string{"m1    CORDONED", "cordoned by ann: disk, ends ", "; its clock is off",
		"m2    unknown", "m9    CORDONED", "declared dead", "m1: shard 1 of d: it waits"} {
		if !strings.Contains(list, want) {
			t.Errorf("the list has no %q:\n%s", want, list)
		}
	}
	if list := s.ok("--server", server, "agent", "list", "m9", "-o", "yaml"); strings.Contains(list, "machine: m1") {
		t.Errorf("a search lists other machines:\n%s", list)
	}
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"cordon m1", statusUsage, "--reason is missing"},
		{"cordon m1 --reason x --until yesterday", statusUsage, "--until yesterday: must be a time"},
		{"cordon m1 --until yesterday", statusUsage, "not to be used; --until yesterday: must be a time"},
		{"cordon --reason x", statusUsage, "the machine is missing"},
		{"dead m1 --reason burnt", statusConflict, "heard 2s ago: wait, or use --force if you know"},
		{"drain m1 --reason x --deadline 10ms", statusUsage, "--deadline 10ms: must be a duration from 1s to 720h"},
		{"drain m1 --reason x --deadline 721h", statusUsage, "--deadline 721h: must be a duration"},
		{"drain m1 --reason x --deadline soon", statusUsage, "--deadline soon: must be a duration"},
		{"uncordon none", statusNotFound, `"elasticjob agent list"`},
	} {
		a, _, said := newSession(t).cli("")
		status := a.run(t.Context(), append([]string{"--server", server, "agent"}, strings.Fields(c.args)...))
		if status != c.status || !strings.Contains(said.String(), c.want) {
			t.Errorf("%s: status %d, want %d: %s", c.args, status, c.status, said)
		}
	}
}
