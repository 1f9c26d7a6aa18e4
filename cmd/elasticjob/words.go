package main

import "regexp"

// routeInWords maps a route of the API, as the server's messages write it, to the equivalent command.
type routeInWords struct {
	route   *regexp.Regexp
	command string
}

const aName = `([A-Za-z0-9][A-Za-z0-9._@-]*[A-Za-z0-9_-]|[A-Za-z0-9])`

// routesInWords are applied in this order.
var routesInWords = []routeInWords{
	{regexp.MustCompile(`POST /api/(job|app)/` + aName + `/(pause|resume|enable|disable|shutdown|trigger)\b`), `"elasticjob $1 $3 $2"`},
	{regexp.MustCompile(`GET /api/job/` + aName + `/explain\b`), `"elasticjob job explain $1"`},
	{regexp.MustCompile(`GET /api/job/jobs\b`), `"elasticjob job list"`},
	{regexp.MustCompile(`GET /api/app/list\b`), `"elasticjob app list"`},
	{regexp.MustCompile(`GET /api/job/tasks/running\b`), `"elasticjob run list --state RUNNING"`},
	{regexp.MustCompile(`add "force": true if you know`), `use --force if you know`},
	{regexp.MustCompile(`To cordon a host before it is seen, add "force": true`), `To cordon a host before it is seen, use --force`},
	{regexp.MustCompile(`GET /api/cluster\b`), `"elasticjob agent list"`},
	{regexp.MustCompile(`GET /api/executions\?state=WAITING,RUNNING`), `"elasticjob run list --state WAITING,RUNNING"`},
	{regexp.MustCompile(`GET /api/executions\b`), `"elasticjob run list"`},
	{regexp.MustCompile(`GET /api/execution/` + aName), `"elasticjob run show $1"`},
	{regexp.MustCompile(`POST /api/execution/` + aName + `/kill\b`), `"elasticjob run kill $1"`},
	{regexp.MustCompile(`PUT /api/app\b`), `"elasticjob app update"`},
	{regexp.MustCompile(`PUT /api/job/update\b`), `"elasticjob job update"`},
	{regexp.MustCompile(`POST it to /api/app\b`), `publish it by "elasticjob app publish"`},
	{regexp.MustCompile(`POST /api/app\b`), `"elasticjob app publish"`},
	{regexp.MustCompile(`deregister them first, or delete with \?jobs=true`), `delete them first, or all by --jobs`},
	{regexp.MustCompile(`POST /api/login with a username and a password and send the accessToken of the answer, or send an API token, as Authorization: Bearer TOKEN`),
		`"elasticjob login" logs in, and ELASTICJOB_TOKEN takes an API token`},
	{regexp.MustCompile(`POST /api/login\b`), `"elasticjob login"`},
	{regexp.MustCompile(`\blog in again\b`), `"elasticjob login" logs in again`},
}

// inCommands replaces the routes in a text of the server by commands.
func inCommands(text string) string {
	for _, r := range routesInWords {
		text = r.route.ReplaceAllString(text, r.command)
	}
	return text
}
