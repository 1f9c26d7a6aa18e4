package client_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/client"
)

// TestCodesOfReasons checks that the codes beside sentences in answers, and their arguments, are decoded into Go
// fields.
func TestCodesOfReasons(t *testing.T) {
	t.Parallel()
	withCode := func(sentence, code string) string {
		return fmt.Sprintf(`%q:"a sentence","%sCode":"of_item","%[2]sArgs":{"item":"1"}`, sentence, code)
	}
	const notes = `"notes":["a sentence"],"noteReasons":[{"code":"of_item","args":{"item":"1"}}]`
	why := withCode("reason", "reason")
	fires, run := `{`+why+`}`, `{`+why+`,"shards":{}}`
	answers := map[string]string{
		"/api/app/a":      `{` + notes + `}`,
		"/api/job/jobs/j": `{` + notes + `}`,
		"/api/job/j/explain": `{` + notes + `,"waiting":[` + fires + `],"running":[` + fires + `],"ended":[` + fires +
			`],` +
			`"lastRun":` + run + `,"lastSuccess":` + run + `,"droppedFires":` + fires + `,"missedFires":` + fires +
			`}`,
		"/api/execution/e": `{` + why + `,"shards":[{` + why + `,` + withCode("failureCause", "failure") + `}]}`,
		"/api/jobs":        `{"rows":[{` + withCode("waitingFor", "waitingFor") + `,"lastRun":` + run + `}]}`,
		"/api/overview":    `{"problems":[{` + withCode("message", "message") + `}]}`,
	}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, answers[r.URL.Path]) })
	args := client.Args{"item": "1"}
	want := client.Why{Reason: "a sentence", ReasonCode: "of_item", ReasonArgs: args}
	wantNotes := []client.NoteReason{{Code: "of_item", Args: args}}
	ctx := t.Context()
	app, e1 := c.App(ctx, "a")
	job, e2 := c.Job(ctx, "j")
	x, e3 := c.Explain(ctx, "j")
	e, e4 := c.Execution(ctx, "e")
	page, e5 := c.JobPage(ctx, client.JobQuery{})
	overview, e6 := c.Overview(ctx)
	for _, err := range []error{e1, e2, e3, e4, e5, e6} {
		if err != nil {
			t.Fatal(err)
		}
	}
	shard, row, problem := e.Value.Shards[0], page.Value.Rows[0], overview.Value.Problems[0]
	for what, got := range map[string]client.Why{
		"a waiting shard": x.Value.Waiting[0].Why, "a running shard": x.Value.Running[0].Why, "an ended shard": x.Value.Ended[0].Why,
		"the last run": x.Value.LastRun.Why, "the last success": x.Value.LastSuccess.Why,
		"dropped fires": x.Value.DroppedFires.Why, "missed fires": x.Value.MissedFires.Why,
		"an execution": e.Value.Why, "a shard": shard.Why, "a row's last run": row.LastRun.Why,
		"a failure": {Reason: shard.FailureCause, ReasonCode: shard.FailureCode, ReasonArgs: shard.FailureArgs},
		"a wait":    {Reason: row.WaitingFor, ReasonCode: row.WaitingForCode, ReasonArgs: row.WaitingForArgs},
		"a problem": {Reason: problem.Message, ReasonCode: problem.MessageCode, ReasonArgs: problem.MessageArgs},
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	for what, got := range map[string][]client.NoteReason{
		"an app": app.Value.NoteReasons, "a job": job.Value.NoteReasons, "explain": x.Value.NoteReasons,
	} {
		if diff := cmp.Diff(wantNotes, got); diff != "" {
			t.Errorf("notes of %s: %s", what, diff)
		}
	}
}
