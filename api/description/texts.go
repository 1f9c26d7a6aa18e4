package description

import (
	"cmp"
	"net/http"
	"reflect"
	"time"

	"github.com/elasticjob-go/elasticjob/api/access"
	"github.com/elasticjob-go/elasticjob/api/apps"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/history"
	"github.com/elasticjob-go/elasticjob/api/logs"
	"github.com/elasticjob-go/elasticjob/api/openapi"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/api/runs"
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/view"
)

// This file has the texts of the API's description, and the facts about Go types that reflection cannot find.

const aboutAPI = `Schedules sharded batch jobs. docs/api.md explains the routes in detail.

A trailing slash in a path makes no difference, and HEAD works where GET does. Bodies are JSON in UTF-8; text/plain, and application/x-www-form-urlencoded, which curl sends by default, are also read as JSON. ` +
	`Answers to GET of 1 KiB and more are compressed for clients that accept gzip. All errors have one form, and a request answered with an error changed nothing, except with outcome_unknown.

A token is required as soon as there is a user; before that, requests over a loopback address need none. Callers with a role for some apps see only those apps.`

func apiInfo(version string) openapi.Info {
	return openapi.Info{Title: "ElasticJob", Version: version, Description: aboutAPI, Error: failure.Response{},
		Tags: apiTags,
		Errors: map[int]string{
			http.StatusBadRequest:            "The request cannot be read, for example bad_query or bad_json.",
			http.StatusUnauthorized:          "Authentication is required: log in.",
			http.StatusForbidden:             "The caller may not do this, or the request comes from a page of another origin.",
			http.StatusNotFound:              "What the request names does not exist.",
			http.StatusConflict:              "The state of what the request names does not allow this.",
			http.StatusGone:                  "It is no longer kept.",
			http.StatusRequestEntityTooLarge: "The body is too large.",
			http.StatusUnsupportedMediaType:  "The content type of the body is not supported.",
			http.StatusUnprocessableEntity:   "The document breaks rules: fields lists all of them.",
			http.StatusTooManyRequests:       "Too many requests.",
			http.StatusInternalServerError:   "A fault of the server; its log has more under the id in the message.",
			http.StatusServiceUnavailable:    "Temporarily unavailable: try again. With outcome_unknown the change may have been made: check first.",
		}, Security: map[string]map[string]any{
			"bearer":      {"type": "http", "scheme": "bearer", "description": "A login's token or an API token."},
			"accessToken": {"type": "apiKey", "in": "header", "name": "accessToken", "description": "The same token, as the original's clients send it; Access-Token is accepted, too."},
			"session":     {"type": "apiKey", "in": "cookie", "name": "elasticjob", "description": "A browser's login; its name is __Host-elasticjob with TLS. Changes also need the header Origin."},
		}}
}

var apiTags = []openapi.Tag{
	{Name: "Apps", About: "An app is a package with a script that starts it."},
	{Name: "Jobs", About: "A job says what runs, when, and in how many shards."},
	{Name: "Checks before registration", About: "Checks that change nothing, schemas, and an example."},
	{Name: "Runs and output", About: "Executions, their tasks and their output."},
	{Name: "Live", About: "The console's view of all jobs, and a stream of changes."},
	{Name: "History", About: "Data recorded in a database."},
	{Name: "Audit", About: "Changes made by users."},
	{Name: "Cluster", About: "Agents, executors, and numbers over time."},
	{Name: "Operation", About: "For operators of the cluster."},
	{Name: "The server", About: "Pages, health, metrics, files."},
	{Name: "Users and tokens", About: "Logins, users, API tokens."},
}

// typeFacts returns what reflection cannot find about the Go types of bodies and answers.
func typeFacts() openapi.Types {
	appHints, jobHints := app.Hints(), jobs.Hints()
	text := openapi.Schema{"description": "A string, or an object that marks it as secret or names its source.",
		"anyOf": []any{
			openapi.Schema{"type": "string"},
			openapi.Schema{"type": "object",
				"properties": map[string]any{"value": route.TextSchema, "secret": openapi.Schema{"type": "boolean"},
					"fromFile": route.TextSchema, "fromEnv": route.TextSchema}}}}
	return openapi.Types{
		Names: map[reflect.Type]string{
			reflect.TypeFor[app.Config](): "AppDocument", reflect.TypeFor[jobs.Config](): "JobDocument",
			reflect.TypeFor[jobs.Overrides]():    "RunSettings",
			reflect.TypeFor[apps.PublishedApp](): "PublishedApp", reflect.TypeFor[failure.Response](): "Error",
			reflect.TypeFor[failure.ErrorBody](): "ErrorFacts",
			reflect.TypeFor[view.Page]():         "JobPage", reflect.TypeFor[view.Row](): "JobRow",
			reflect.TypeFor[view.Run](): "RecentRun", reflect.TypeFor[view.LastRun](): "LastRun",
			reflect.TypeFor[search.Page[search.Run]]():        "RunEvents",
			reflect.TypeFor[search.Page[search.Trace]]():      "TraceEvents",
			reflect.TypeFor[search.Page[history.AuditRow]]():  "AuditRows",
			reflect.TypeFor[search.Page[history.ChangeRow]](): "ChangeRows",
			reflect.TypeFor[search.Run]():                     "RunEvent",
			reflect.TypeFor[search.Trace]():                   "TraceEvent",
			reflect.TypeFor[executions.State]():               "RunState", reflect.TypeFor[executions.Source](): "RunSource",
			reflect.TypeFor[cluster.State](): "TaskState",
			reflect.TypeFor[auth.Kind]():     "CallerKind", reflect.TypeFor[search.Time](): "TimeOrNull",
			reflect.TypeFor[search.Cell]():       "GridCell",
			reflect.TypeFor[search.Running]():    "RunningSample",
			reflect.TypeFor[search.Registered](): "RegisteredSample", reflect.TypeFor[view.Agents](): "AgentCounts",
			reflect.TypeFor[access.LoginMethods](): "WaysToLogIn", reflect.TypeFor[runs.Accepted](): "Accepted",
			reflect.TypeFor[logs.Found](): "FoundLines", reflect.TypeFor[logs.Match](): "FoundLine",
		},
		Enums: map[reflect.Type][]string{
			reflect.TypeFor[executions.State](): {string(executions.Finished), string(executions.Waiting),
				string(executions.Launching), string(executions.Running), string(executions.Failed),
				string(executions.Killed), string(executions.Lost), string(executions.TimedOut)},
			reflect.TypeFor[config.JobState](): {string(config.JobEnabled), string(config.JobPaused),
				string(config.JobShuttingDown), string(config.JobDisabled)},
			reflect.TypeFor[executions.Source](): {string(executions.NormalTrigger), string(executions.Triggered),
				string(executions.Misfired), string(executions.FailoverSource), string(executions.DaemonSource)},
			reflect.TypeFor[cluster.State](): {string(cluster.Running), string(cluster.Staging),
				string(cluster.Starting), string(cluster.Killing), string(cluster.Unreachable)},
			reflect.TypeFor[search.Interval](): {string(search.Day), string(search.Hour), string(search.Minute)},
			reflect.TypeFor[auth.Kind](): {string(auth.User), string(auth.Token), string(auth.TokenFile),
				string(auth.OIDC), string(auth.Machine)},
			reflect.TypeFor[auth.Role](): {auth.Admin.String(), auth.Operator.String(), auth.Viewer.String(),
				auth.Metrics.String()},
		},
		Schemas: map[reflect.Type]openapi.Schema{
			reflect.TypeFor[time.Time]():       {"type": "string", "format": "date-time"},
			reflect.TypeFor[search.Time]():     {"type": []any{"string", "null"}, "format": "date-time"},
			reflect.TypeFor[document.Text]():   text,
			reflect.TypeFor[document.Object](): {"type": "object"},
			reflect.TypeFor[document.List]():   {"type": "array", "items": route.TextSchema},
		},
		About: func(structType reflect.Type, field string) string {
			switch structType {
			case reflect.TypeFor[app.Config](), reflect.TypeFor[views.AppView](), reflect.TypeFor[apps.PublishedApp]():
				return cmp.Or(appHints[field].Description, aboutReasons[field])
			case reflect.TypeFor[jobs.Config](), reflect.TypeFor[views.JobView]():
				return cmp.Or(jobHints[field].Description, aboutReasons[field])
			case reflect.TypeFor[views.NoteView]():
				return aboutNotes[field]
			}
			return aboutReasons[field]
		},
		Examples: fieldExamples,
	}
}

// aboutReasons are the descriptions of the fields that accompany the sentence of a reason.
var aboutReasons = map[string]string{
	"reasonCode": codeOf + "reason" + leftOut, "reasonArgs": argsOf + "reasonCode.",
	"failureCode": codeOf + "failureCause" + leftOut, "failureArgs": argsOf + "failureCode.",
	"waitingForCode": codeOf + "waitingFor" + leftOut, "waitingForArgs": argsOf + "waitingForCode.",
	"causeCode": codeOf + "cause" + leftOut, "causeArgs": argsOf + "causeCode.",
	"messageCode": codeOf + "message" + leftOut, "messageArgs": argsOf + "messageCode.",
	"noteCode": codeOf + "note" + leftOut, "noteArgs": argsOf + "noteCode.",
	"noteReasons": "The notes for programs, in the same order: each as a code with its arguments. Omitted if there are no notes.",
}

// aboutNotes are the descriptions of the fields of an element of noteReasons.
var aboutNotes = map[string]string{
	"code": "The note's code: docs/reasons.md has all. " +
		"It is text for a note without a code of its own, such as one about a document's fields.",
	"args": argsOf + "code. Omitted if there are none.",
}

// These are parts of the descriptions.
const (
	codeOf  = "The code of the text in "
	leftOut = ", for programs: docs/reasons.md has all codes. Omitted if there is none."
	argsOf  = "The arguments by name, each a string or a reason with code and args, of "
)

// exampleWait is an example of a reason for which a job waits.
var exampleWait = reason.OneAtATime(route.ExampleExecution, "running")

// fieldExamples are the examples of fields, by the field's name in JSON.
var fieldExamples = map[string]any{
	"appName": "my_app", "app": "my_app", "jobName": "my_job", "job": "my_job", "executionId": route.ExampleExecution,
	"taskId": route.ExampleTask, "originalTaskId": "", "id": "7d0c2f9e", "agent": route.ExampleAgent,
	"slaveId": route.ExampleAgent, "hostname": "node1", "ip": "10.0.0.7",
	"appURL": "http://127.0.0.1:8080/my-job.tar.gz", "bootstrapScript": "bin/start.sh", "appSHA256": "",
	"image": "", "imagePullPolicy": "", "imagePullSecrets": document.List(""), "podTemplate": document.Object(""),
	"memoryMB": 64, "cpuCount": 0.1,
	"appCacheEnable": true, "eventTraceSamplingCount": 0, "jobExecutionType": jobs.Transient,
	"cron": "0 0 3 ? * MON-FRI", "shardingTotalCount": 3,
	"shardingItemParameters": "0=north,1=east,2=south", "jobParameter": "2026-05-01", "description": "",
	"timeZone": "Europe/Berlin", "words": "at 03:00, from Monday to Friday",
	"item": 0, "shardingItem": 0, "shardingItems": []int{0}, "failureCause": "", "reason": "", "exitStatus": 0,
	"packageSHA256": "", "note": "", "lifeNote": "",
	"reasonCode": "", "reasonArgs": nil, "failureCode": "", "failureArgs": nil, "causeCode": "", "causeArgs": nil,
	"messageCode": "", "messageArgs": nil,
	"noteCode": "", "noteArgs": nil,
	"noteReasons": []views.NoteView{{Code: string(reason.PlainText)}},
	"waitingFor":  exampleWait.String(), "waitingForCode": exampleWait.Code(), "waitingForArgs": exampleWait.Args(),
	"local": "2026-05-01T14:00:00+02:00", "version": "1.0.0", "leader": "10.0.0.5:8899", "address": "10.0.0.5:8899",
	"name": "alice", "username": "alice", "password": "correct horse", "current": "battery staple",
	"apps": []string{"billing-*"}, "by": "alice", "who": "alice", "from": "10.0.0.7", "action": "job.update",
	"target": "job", "targetName": "my_job", "kind": "user", "accessToken": "ejl_…", "token": "ejt_…",
	"code": "invalid", "message": "this request changed nothing: memoryMb: unknown field", "field": "memoryMb",
	"value": "64",
	"path":  "bin/start.sh", "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0bb822cd15d6c15b0f00a0",
	"format": "tar.gz", "interpreter": "/bin/sh",
	"line": "2026-05-01 12:00:01 ERROR no input", "times": "2", "type": "READY", "executionType": "READY",
	"range": "hour", "stepSeconds": 60, "status": "ok",
	"master": "5b1c…", "frameworkId": "elasticjob-…", "frameworkName": "ElasticJob-Cloud", "severity": "warning",
	"of": "EXECUTIONS", "source": string(executions.NormalTrigger),
	"fraction": 0.4, "next": "MTc3NzYz…", "total": 1, "detail": "", "warning": "", "earlier": nil, "skipped": 0,
	"failed": 0,
}
