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

// auditRow is the part of a row of GET /api/audit that this test uses.
type auditRow struct {
	ID, Action, TargetName string
	Time                   time.Time
	Before, After          struct{ JobParameter, Execution string }
}

// audit reads all rows about a target in small pages, the oldest first.
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

// audited compares the audit rows of a job with its state: the updates lead from one to the next and to the present
// job, and the triggered executions are those that exist. answered are the parameters of updates and the executions
// that a client has received a response about.
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

// TestAuditSurvivesKills (rule A1) kills the server at a random time between the request and the response of a
// change. The row exists exactly if the change does, whether the scheduler still holds it or it has reached the
// history.
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
		// A random moment within some changes; it does not wait for anything.
		<-time.After(time.Duration(random.Int64N(int64(4 * time.Since(began)))))
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

// TestAChangeThatNobodyWasToldOfHasItsRow: a change has its row even if the server dies right after the commit,
// before the response.
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
	if status := m.AwaitEnd(); status != -1 {
		t.Fatalf("the server ended with %d, not by its failure point", status)
	}
	m.Start()
	audited(m, nil)
	if rows := audit(m, "j"); len(rows) != 2 || rows[1].After.JobParameter != "x" {
		t.Errorf("%+v", rows)
	}
}

// TestChangesOfUsersAreAudited: rows that are written together with changes of users and tokens reach the audit
// without further requests, each once.
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
