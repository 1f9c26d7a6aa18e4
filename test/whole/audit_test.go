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

// auditRow contains the fields of a row of GET /api/audit that the tests check.
type auditRow struct {
	ID, Action, TargetName string
	Time                   time.Time
	Before, After          struct{ JobParameter, Execution string }
}

// audit returns all rows about a target, the oldest first. It reads them in small pages.
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

// checkAudit compares the audit rows of job "j" with the job. Each update must begin with the parameter with which the
// one before ended, and the last must end with the job's present parameter. The triggered executions must be those that
// exist. answered are the parameters of updates, and the executions, about which a client received a response.
func checkAudit(m *system.Machine, answered []string) {
	m.Helper()
	var job struct{ JobParameter string }
	m.Get("/api/job/jobs/j", &job)
	var executions []struct{ ExecutionID string }
	m.Get("/api/job/j/executions?limit=1000", &executions)

	parameter, audited, ids := "", map[string]bool{}, map[string]bool{}
	for _, row := range audit(m, "j") {
		if ids[row.ID] {
			m.Errorf("a row comes twice: %+v", row)
		}
		ids[row.ID] = true
		switch row.Action {
		case "job.update":
			if row.Before.JobParameter != parameter {
				m.Errorf("a row describes a change from %q, but the row before it ended with %q: %+v",
					row.Before.JobParameter, parameter, row)
			}
			parameter = row.After.JobParameter
			audited[parameter] = true
		case "job.trigger":
			audited[row.After.Execution] = true
		case "job.register":
		default:
			m.Errorf("a row describes an action that the test did not do: %+v", row)
		}
	}
	if parameter != job.JobParameter {
		m.Errorf("the job's parameter is %q, and the last row says %q", job.JobParameter, parameter)
	}
	for _, e := range executions {
		if !audited[e.ExecutionID] {
			m.Errorf("%s was triggered, and no row says so", e.ExecutionID)
		}
		delete(audited, e.ExecutionID)
	}
	for _, change := range answered {
		isExecution := slices.ContainsFunc(executions,
			func(e struct{ ExecutionID string }) bool { return e.ExecutionID == change })
		if !audited[change] && !isExecution {
			m.Errorf("a client received a response about %s, and no row says so", change)
		}
		delete(audited, change)
	}
	m.Logf("%d rows, %d changes with a response, %d without", len(ids), len(answered), len(audited))
}

// TestAuditSurvivesKills kills the server at a random time between the request and the response of a change. A change
// has a row in the audit if and only if it was made (rule A1), whether the row has reached the history or not.
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
		ended, first := make(chan struct{}), make(chan struct{}, 1)
		began := time.Now()
		go func() {
			defer close(ended)
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
		case <-ended:
			t.Fatal("no change was answered: the server ended before it was killed")
		}
		// A random moment within some changes; it does not wait for anything.
		<-time.After(time.Duration(random.Int64N(int64(4 * time.Since(began)))))
		m.Kill()
		<-ended
		m.Start()
		checkAudit(m, answered)
	}
	m.Stop()
	m.Start()
	checkAudit(m, answered)
	if len(answered) == 0 {
		t.Error("no change was answered")
	}
}

// TestChangeWithoutResponseIsAudited: a change has its row in the audit even if the server ends right after the commit,
// before the response.
func TestChangeWithoutResponseIsAudited(t *testing.T) {
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
		t.Error("the server answered")
	}
	if status := m.AwaitEnd(); status != -1 {
		t.Fatalf("the server ended with %d, not by its failure point", status)
	}
	m.Start()
	checkAudit(m, nil)
	if rows := audit(m, "j"); len(rows) != 2 || rows[1].After.JobParameter != "x" {
		t.Errorf("%+v", rows)
	}
}

// TestChangesOfUsersAreAudited: each change of users and tokens has one row in the audit, without further requests.
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
	want := []string{"token.add ci", "token.remove ci", "user.add ann"}
	m.Until("rows of users and tokens", func() string {
		var page struct{ Rows []auditRow }
		if err := json.Unmarshal([]byte(m.OK("GET", "/api/audit", "", as)), &page); err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, row := range page.Rows {
			found = append(found, row.Action+" "+row.TargetName)
		}
		slices.Sort(found) // two changes within a millisecond have no order
		if !slices.Equal(found, want) {
			return fmt.Sprintf("%q, not %q", found, want)
		}
		return ""
	})
}
