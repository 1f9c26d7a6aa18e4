package whole_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// auditRow is what GET /api/audit says of a change; its fields are those of the changes that are made here.
type auditRow struct {
	ID, Action, TargetName string
	Time                   time.Time
	Before, After          struct{ JobParameter, Execution string }
}

// audit reads all rows about a target, the oldest first, in small pages.
func audit(m *system.Machine, target string) (rows []auditRow) {
	m.Helper()
	for cursor := ""; ; {
		var page struct {
			Rows []auditRow
			Next string
		}
		m.Get("/api/audit?limit=7&target="+url.QueryEscape(target)+"&cursor="+cursor, &page)
		rows = append(rows, page.Rows...)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	slices.Reverse(rows)
	return rows
}

// audited compares the rows of a job with what has become of it: the updates lead from one to the next, and to what
// the job is now; and the executions that were triggered are those that there are. answered are the parameters of
// updates, and the executions, that somebody was told of.
func audited(m *system.Machine, answered []string) {
	m.Helper()
	var job struct{ JobParameter string }
	m.Get("/api/job/jobs/j", &job)
	var executions []struct{ ExecutionID string }
	m.Get("/api/job/j/executions?limit=1000", &executions)

	is, told, ids := "", map[string]bool{}, map[string]bool{}
	for _, row := range audit(m, "j") {
		if ids[row.ID] {
			m.Errorf("a row comes twice: %+v", row)
		}
		ids[row.ID] = true
		switch row.Action {
		case "job.update":
			if row.Before.JobParameter != is {
				m.Errorf("a row tells of a change from %q; before it there was %q: %+v", row.Before.JobParameter, is,
					row)
			}
			is = row.After.JobParameter
			told[is] = true
		case "job.trigger":
			told[row.After.Execution] = true
		case "job.register":
		default:
			m.Errorf("a row tells of what nobody did: %+v", row)
		}
	}
	if is != job.JobParameter {
		m.Errorf("the job's parameter is %q, and the last row says %q", job.JobParameter, is)
	}
	for _, e := range executions {
		if !told[e.ExecutionID] {
			m.Errorf("%s was triggered, and no row says so", e.ExecutionID)
		}
		delete(told, e.ExecutionID)
	}
	for _, what := range answered {
		if _, isUpdate := told[what]; !isUpdate && !slices.ContainsFunc(executions,
			func(e struct{ ExecutionID string }) bool { return e.ExecutionID == what }) {
			m.Errorf("somebody was told of %s, and no row says so", what)
		}
		delete(told, what)
	}
	m.Logf("%d rows, %d changes answered, %d more made", len(ids), len(answered), len(told))
}

// TestAuditSurvivesKills (rule A1): the server is killed at any moment between a change's request and its answer. The
// row is there exactly when the change is, whether it is still the scheduler's or already in the history.
func TestAuditSurvivesKills(t *testing.T) {
	m := start(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	m.App("a", only("exit 0"), nil)
	m.Job("j", "a", nil)
	var answered []string
	n := 0
	for range 5 {
		over, first := make(chan struct{}), make(chan struct{}, 1)
		began := time.Now()
		go func() {
			defer close(over)
			for {
				n++
				parameter := fmt.Sprint("p", n)
				answer, err := m.Try(http.MethodPut, "/api/job/update",
					`{"jobName":"j","jobParameter":"`+parameter+`"}`)
				if err != nil {
					return
				}
				if answer.Status == http.StatusOK {
					answered = append(answered, parameter)
					select {
					case first <- struct{}{}:
					default:
					}
				}
				answer, err = m.Try(http.MethodPost, "/api/job/j/trigger", "")
				if err != nil {
					return
				}
				if answer.Status == http.StatusOK {
					var made struct{ ExecutionID string }
					if json.Unmarshal([]byte(answer.Body), &made) == nil {
						answered = append(answered, made.ExecutionID)
					}
				}
			}
		}()
		select {
		case <-first:
		case <-over:
			t.Fatal("no change was answered: the server is gone before it is killed")
		}
		<-time.After(time.Duration(random.Int64N(int64(4 * time.Since(began))))) // the moment, within some changes; not a wait for something
		m.Kill()
		<-over
		m.Start()
		audited(m, answered)
	}
	m.Stop()
	m.Start()
	audited(m, answered)
	if len(answered) == 0 {
		t.Error("no change was answered")
	}
}

// TestAChangeThatNobodyWasToldOfHasItsRow: the server dies right after the commit.
func TestAChangeThatNobodyWasToldOfHasItsRow(t *testing.T) {
	t.Parallel()
	m := system.New(t, bin)
	m.Start()
	m.App("a", only("exit 0"), nil)
	m.Job("j", "a", nil)
	m.Stop()
	cmd := m.Command()
	cmd.Env = append(cmd.Env, "ELASTICJOB_FAILPOINT=config-committed")
	m.LaunchCommand(cmd)
	m.Ready()
	if _, err := m.Try(http.MethodPut, "/api/job/update", `{"jobName":"j","jobParameter":"x"}`); err == nil {
		t.Error("the server did not die")
	}
	if status := m.Over(); status != -1 {
		t.Fatalf("the server ended with %d, not by its failure point", status)
	}
	m.Start()
	audited(m, nil)
	if rows := audit(m, "j"); len(rows) != 2 || rows[1].After.JobParameter != "x" {
		t.Errorf("%+v", rows)
	}
}

// TestChangesOfUsersAreAudited: rows that are written with changes of users and tokens come into the audit by
// themselves, each once.
func TestChangesOfUsersAreAudited(t *testing.T) {
	t.Parallel()
	m := system.New(t, bin)
	m.Start()
	m.OK("POST", "/api/users", `{"name":"ann","password":"not the default","role":"admin"}`, asJSON)
	var login struct{ AccessToken string }
	if err := json.Unmarshal([]byte(m.OK("POST", "/api/login", `{"username":"ann","password":"not the default"}`,
		asJSON)), &login); err != nil {
		t.Fatal(err)
	}
	as := "accessToken: " + login.AccessToken
	m.OK("POST", "/api/tokens", `{"name":"ci","role":"viewer"}`, asJSON, as)
	m.OK("DELETE", "/api/tokens/ci", "", as)
	want := []string{"user.add ann", "token.add ci", "token.remove ci"}
	m.Until("rows of users and tokens", func() string {
		var page struct{ Rows []auditRow }
		if err := json.Unmarshal([]byte(m.OK("GET", "/api/audit", "", as)), &page); err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, row := range page.Rows {
			found = append(found, row.Action+" "+row.TargetName)
		}
		slices.Reverse(found)
		if !slices.Equal(found, want) {
			return fmt.Sprintf("%q, not %q", found, want)
		}
		return ""
	})
}
