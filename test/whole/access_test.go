package whole_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestSomeAppsOnly: a user with rights for one app sees and changes only what belongs to that app. All answers about
// the other app are as if it did not exist.
func TestSomeAppsOnly(t *testing.T) {
	m := start(t)
	for _, app := range []string{"mine", "theirs"} {
		m.App(app, only("echo of "+app), nil)
		m.Job(app+"_job", app, system.Doc{"shardingTotalCount": 1})
	}
	mine, theirs := m.Run("mine_job", "FINISHED"), m.Run("theirs_job", "FINISHED")
	m.Await(trigger(m, "/api/job/theirs_job/trigger", ""), "FINISHED")

	var admin string
	token := func(name, role string) string {
		var made struct{ Token string }
		if err := json.Unmarshal([]byte(m.OK("POST", "/api/tokens",
			`{"name":"`+name+`","role":"`+role+`","apps":["mine"]}`, asJSON,
			"Authorization: Bearer "+admin)), &made); err != nil {
			t.Fatal(err)
		}
		return "Authorization: Bearer " + made.Token
	}
	m.OK("POST", "/api/users", `{"name":"root","password":"not the default","role":"admin"}`, asJSON)
	m.Refused(http.StatusUnauthorized, "token_missing", "GET", "/api/app/list", "")
	var login struct{ AccessToken string }
	if err := json.Unmarshal([]byte(m.OK("POST", "/api/login", `{"username":"root","password":"not the default"}`,
		asJSON)), &login); err != nil {
		t.Fatal(err)
	}
	admin = login.AccessToken
	viewer, operator, publisher := token("v", "viewer"), token("o", "operator"), token("p", "admin")

	if got := m.OK("GET", "/api/task/"+mine.Shards[0].TaskID+"/logs", "", viewer); got != "of mine\n" {
		t.Errorf("own output: %q", got)
	}
	absent := strings.NewReplacer("theirs_job", "absent_job", "theirs", "absent")
	for _, path := range []string{
		"/api/app/theirs", "/api/job/jobs/theirs_job", "/api/job/theirs_job/explain", "/api/job/theirs_job/executions",
		"/api/job/theirs_job/statistics",
		"/api/execution/" + theirs.ExecutionID, "/api/task/" + theirs.Shards[0].TaskID + "/logs",
		"/api/executions?job=theirs_job",
		"/api/job/events/executions?jobName=theirs_job", "/api/job/events/statusTraces?jobName=theirs_job",
	} {
		hidden, none := m.Call("GET", path, "", viewer), m.Call("GET", absent.Replace(path), "", viewer)
		if hidden.Status != none.Status || absent.Replace(hidden.Body) != none.Body ||
			strings.Contains(hidden.Body, "of theirs") || hidden.Status == http.StatusOK && hidden.Body != "[]\n" {
			t.Errorf("%s\n hidden: %d %s absent: %d %s", path, hidden.Status, hidden.Body, none.Status, none.Body)
		}
	}
	for _, path := range []string{"/api/app/list", "/api/job/jobs", "/api/executions",
		"/api/job/events/executions?jobName=mine_job"} {
		if got := m.OK("GET", path, "", viewer); !strings.Contains(got, "mine") || strings.Contains(got, "theirs") {
			t.Errorf("%s: %s", path, got)
		}
	}
	m.Refused(http.StatusForbidden, "not_allowed", "POST", "/api/job/mine_job/trigger", "", viewer)
	m.Refused(http.StatusNotFound, "job_not_found", "POST", "/api/job/theirs_job/trigger", "", operator)
	m.Refused(http.StatusForbidden, "not_allowed", "PUT", "/api/job/update",
		`{"jobName":"mine_job","appName":"theirs"}`, asJSON, publisher)
	m.Refused(http.StatusForbidden, "not_allowed", "GET", "/metrics", "", publisher)
	m.OK("POST", "/api/job/mine_job/trigger", "", operator)
	m.OK("DELETE", "/api/job/mine_job/deregister", "", publisher)
	if text := m.ServerLog(); strings.Contains(text, login.AccessToken) || strings.Contains(text, "not the default") ||
		strings.Contains(text, viewer[len("Authorization: Bearer "):]) {
		t.Error("the log contains a password or a token")
	}
	m.Refused(http.StatusConflict, "last_admin", "DELETE", "/api/users/root", "", "Authorization: Bearer "+admin)
	m.OK("DELETE", "/api/users/root/logins", "", "Authorization: Bearer "+admin)
	m.Refused(http.StatusUnauthorized, "token_revoked", "GET", "/api/app/list", "", "accessToken: "+admin)
}
