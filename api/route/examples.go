package route

import (
	"github.com/elasticjob-go/elasticjob/api/openapi"
)

// pathVariables are the descriptions and examples of the path variables of all routes.
var pathVariables = map[string]struct{ about, example string }{
	"appName":     {"The app's name.", "my_app"},
	"jobName":     {"The job's name.", "my_job"},
	"executionId": {"The execution's id.", ExampleExecution},
	"taskId":      {"The task's id.", ExampleTask},
	"agentId":     {"The agent's id.", ExampleAgent},
	"agent":       {"The machine: its host name, or the id of one of its agents.", "node-1"},
	"period":      {"One of online, lastWeek, lastHour, lastMinute.", "lastWeek"},
	"userName":    {"The user's name.", "alice"},
	"tokenName":   {"The API token's name.", "ci"},
	"name":        {"The file's name.", "executor-linux-amd64-0f8e"},
	"hash":        {"The hash of all files.", "0123456789abcdef"},
	"file":        {"The file's path.", "js/main.js"},
}

// These ids appear in examples.
const (
	ExampleExecution = "my_job@20260501T120000Z"
	ExampleTask      = "my_job@-@0@-@READY@-@S0@-@0f8e"
	ExampleAgent     = "S0"
)

// TextSchema is the schema of any string.
var TextSchema = openapi.Schema{"type": "string"}

// These headers are shared by several answers.
var (
	CookieHeader = openapi.Header{Name: "Set-Cookie", About: "The browser's session.", Schema: TextSchema}
	LinkHeader   = openapi.Header{Name: "Link",
		About: `The next rows: </api/…>; rel="next". Missing on the last page.`, Schema: TextSchema}
	WarningHeader = openapi.Header{Name: "Warning", About: "What the answer lacks, and why.",
		Schema: TextSchema}
)
