// Package convert converts the definitions of other schedulers: crontabs, ElasticJob-Lite's configuration, and
// XXL-JOB's tables.
//
// Crontab, Lite and XXLJob each convert one file, and return definitions and remarks. For everything without a
// counterpart there is a remark with its line, which says what to do about it; nothing is dropped silently. The
// package has no side effects.
package convert

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/definitions"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/secrets"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/jobs/cron"
)

// Options contain what the files do not say.
type Options struct {
	// App is the app of all jobs; "" means a name from the file, or the name of the format.
	App string
	// AppURL and BootstrapScript are those of the app. Without a URL the result contains no app.
	AppURL, BootstrapScript string
	// CPUCount and MemoryMB are the resources of a shard; 0 means 0.1 CPUs and 128 MB.
	CPUCount, MemoryMB float64
	// TimeZone is the zone of jobs whose file names none; "" means the server's.
	TimeZone string
	// Disabled makes all jobs disabled, so that they can be tried while the other scheduler still runs them.
	Disabled bool
	// System says that the entries of a crontab contain the user before the command, as in /etc/crontab.
	System bool
	// Properties are the values of Spring's variables, ${name}, and Profiles are Spring's active profiles.
	Properties map[string]string
	Profiles   []string
	// Now is the time after which the next fires of a cron are computed.
	Now time.Time
}

// Remark tells the user something about the result.
type Remark struct {
	At definitions.Position
	// Job is the name of the definition to which the remark applies; "" if it applies to all.
	Job string
	// ToDo is true if something has no counterpart, or is required but missing. The message then says what the user
	// must do.
	ToDo    bool
	Message string
}

// String returns the remark in one line.
func (r Remark) String() string {
	text := "note: "
	if r.ToDo {
		text = "TO DO: "
	}
	if r.Job != "" {
		text += r.Job + ": "
	}
	return fmt.Sprintf("%s: %s%s", r.At, text, r.Message)
}

// Result is the result of converting a file.
type Result struct {
	Definitions []*definitions.Definition
	Remarks     []Remark
}

// ToDos returns the number of remarks that require an action.
func (r *Result) ToDos() (n int) {
	for _, remark := range r.Remarks {
		if remark.ToDo {
			n++
		}
	}
	return n
}

// builder collects the result of one file.
type builder struct {
	file     string
	options  Options
	names    map[string]bool   // the names of jobs
	remarked map[string]bool   // the messages of noteOnce and toDoOnce
	secrets  map[string]string // by the path of the file that must contain the secret
	apps     []string
	unneeded map[string]bool // settings that have a value, but that this scheduler does not need
	result   Result
}

// newBuilder returns a builder for a file, with the defaults of the options.
func newBuilder(file string, options Options) *builder {
	options.CPUCount, options.MemoryMB = cmp.Or(options.CPUCount, 0.1), cmp.Or(options.MemoryMB, 128)
	return &builder{file: file, options: options, names: map[string]bool{}, remarked: map[string]bool{},
		secrets: map[string]string{}, unneeded: map[string]bool{}}
}

// remark adds a remark about a job, or about all if job is "". It hides secrets in the message.
func (b *builder) remark(line int, job string, toDo bool, format string, args ...any) {
	r := Remark{definitions.Position{File: b.file, Line: line}, job, toDo, secrets.Hide(fmt.Sprintf(format, args...))}
	b.result.Remarks = append(b.result.Remarks, r)
}

// note adds a remark that requires no action.
func (b *builder) note(line int, job, format string, args ...any) {
	b.remark(line, job, false, format, args...)
}

// toDo adds a remark that requires an action.
func (b *builder) toDo(line int, job, format string, args ...any) {
	b.remark(line, job, true, format, args...)
}

// noteOnce is note about all jobs, unless there is already a remark with the same message.
func (b *builder) noteOnce(line int, message string) { b.remarkOnce(line, false, message) }

// toDoOnce is toDo about all jobs, unless there is already a remark with the same message.
func (b *builder) toDoOnce(line int, message string) { b.remarkOnce(line, true, message) }

func (b *builder) remarkOnce(line int, toDo bool, message string) {
	if !b.remarked[message] {
		b.remarked[message] = true
		b.remark(line, "", toDo, "%s", message)
	}
}

// job adds a job of an app. If another job already has the name, it adds suffix to the name. suffix must depend on
// what the job runs, and not on the job's position in the source, so that a new line in the source renames no other
// job.
func (b *builder) job(line int, name, suffix, appName string) *definitions.Definition {
	c := jobs.Default()
	c.JobName, c.AppName, c.JobExecutionType = b.unique(nameOf(name), suffix), b.app(appName), jobs.Transient
	c.ShardingTotalCount, c.CPUCount, c.MemoryMB = 1, b.options.CPUCount, b.options.MemoryMB
	c.TimeZone = b.options.TimeZone
	d := &definitions.Definition{Kind: definitions.Job, Job: c, At: definitions.Position{File: b.file, Line: line}}
	b.result.Definitions = append(b.result.Definitions, d)
	switch c.JobName {
	case name:
	case nameOf(name):
		b.note(line, c.JobName, "was %q", name)
	default:
		b.note(line, c.JobName, "was %q, as another job is", name)
	}
	return d
}

// app returns the valid name of an app, and records the app so that finish defines it.
func (b *builder) app(name string) string {
	name = nameOf(cmp.Or(b.options.App, name))
	if !slices.Contains(b.apps, name) {
		b.apps = append(b.apps, name)
	}
	return name
}

// nameOf converts a text to a valid name. Invalid characters become '-'.
func nameOf(text string) string {
	name := strings.Map(func(r rune) rune {
		isAlphanumeric := '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z'
		if isAlphanumeric || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, text)
	name = strings.Trim(name, "-._")
	return cmp.Or(name[:min(len(name), 90)], "job")
}

// unique returns a name that no other job has: name if possible, else name with the suffix, if any, or a number.
func (b *builder) unique(name, suffix string) string {
	if b.names[name] && suffix != "" {
		name += "-" + nameOf(suffix)
	}
	name = firstFree(name, func(name string) bool { return !b.names[name] })
	b.names[name] = true
	return name
}

// firstFree returns the first of name, name-2, name-3, … that is free.
func firstFree(name string, isFree func(string) bool) string {
	candidate := name
	for n := 2; !isFree(candidate); n++ {
		candidate = name + "-" + strconv.Itoa(n)
	}
	return candidate
}

// setCron sets the cron of a job, in Quartz's dialect. If the cron is invalid, it adds a remark instead. It also leaves
// out an invalid time zone of the job, and notes a cron that fires more often than every 30 seconds.
func (b *builder) setCron(d *definitions.Definition, line int, expression string) {
	zone, err := jobs.Zone(d.Job, nil)
	if err != nil {
		b.toDo(line, d.Name(), "timeZone: %s; it is left out", err)
		d.Job.TimeZone, zone = "", time.UTC
	}
	schedule, err := cron.Parse(expression, zone)
	if err != nil {
		b.toDo(line, d.Name(), "cron %q is left out, so that the job runs on trigger only: %s", expression, err)
		return
	}
	d.Job.Cron = expression
	first := schedule.Next(b.options.Now)
	if next := schedule.Next(first); !next.IsZero() && next.Sub(first) < 30*time.Second {
		b.note(line, d.Name(), "fires every %s, and a TRANSIENT job starts a process each time; consider jobExecutionType: DAEMON", next.Sub(first))
	}
}

// setEnv sets a variable of a job. If the value is a secret, the variable refers to a file instead, because
// definitions are meant to be kept in git.
func (b *builder) setEnv(d *definitions.Definition, line int, name, value string) {
	if d.Job.Env == nil {
		d.Job.Env = document.Texts{}
	}
	text := document.Text{Value: value}
	if text.Shown(name) != text {
		text = document.Text{FromFile: b.secretFile(name, value)}
		b.toDoOnce(line, fmt.Sprintf("%s is a secret and was left out: put it into the file %s on the agents",
			name, text.FromFile))
	}
	d.Job.Env[name] = text
}

// secretFile returns the path of the file that must contain a secret. Different secrets with the same name get
// different paths.
func (b *builder) secretFile(name, value string) string {
	path := firstFree("/etc/elasticjob/secrets/"+name, func(path string) bool {
		other, taken := b.secrets[path]
		return !taken || other == value
	})
	b.secrets[path] = value
	return path
}

// finish adds the apps, checks all definitions, and returns the result. script is the bootstrapScript of the apps
// unless the options give one.
func (b *builder) finish(script string) *Result {
	script = cmp.Or(b.options.BootstrapScript, script)
	var defined []*definitions.Definition
	for _, name := range b.apps {
		if b.options.AppURL == "" {
			b.toDo(0, "", "app %s is not defined, because the location of its package is unknown: publish it, or import again with --app-url", name)
			continue
		}
		c := app.Default()
		c.AppName, c.AppURL, c.BootstrapScript = name, b.options.AppURL, script
		c.CPUCount, c.MemoryMB = app.LeanCPUCount, app.LeanMemoryMB
		defined = append(defined, &definitions.Definition{Kind: definitions.App, App: c,
			At: definitions.Position{File: b.file}})
	}
	if len(b.unneeded) > 0 {
		b.note(0, "", "not taken over, as nothing here needs it: %s", strings.Join(sortedKeys(b.unneeded), ", "))
	}
	if len(b.result.Definitions) > 0 {
		b.noteOnce(0, fmt.Sprintf("the file does not say what resources a shard needs: %v CPU and %v MB of memory were set; give --cpu and --memory, or edit the result", b.options.CPUCount, b.options.MemoryMB))
	}
	for _, d := range b.result.Definitions {
		if b.options.Disabled {
			disabled := true
			d.Disabled = &disabled
		}
		b.hideRest(d)
		bad, _ := d.Job.Check(jobs.CheckOptions{Now: b.options.Now})
		for _, v := range bad {
			if v.Message == document.PlaceholderMessage { // a remark of hideRest says what to do
				continue
			}
			b.toDo(d.At.Line, d.Name(), "%s: %s", v.Field, v.Message)
		}
	}
	for _, d := range defined {
		b.hideRest(d)
	}
	b.result.Definitions = append(defined, b.result.Definitions...)
	slices.SortStableFunc(b.result.Remarks, func(a, b Remark) int { return cmp.Compare(a.At.Line, b.At.Line) })
	return &b.result
}

// secretFields returns the fields whose content the server would hide, entirely or in part.
func secretFields(c jobs.Config) (fields []string) {
	shown := c.WithoutSecrets()
	add := func(field, text, shown string) {
		if shown != text {
			fields = append(fields, field)
		}
	}
	add("jobParameter", c.JobParameter, shown.JobParameter)
	add("shardingItemParameters", c.ShardingItemParameters, shown.ShardingItemParameters)
	add("description", c.Description, shown.Description)
	for _, name := range sortedKeys(c.Props) {
		add("props."+name, c.Props[name].Value, shown.Props[name].Value)
	}
	return fields
}

// quote quotes a text as one word of a command line.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// setProp sets a property.
func setProp(d *definitions.Definition, name, value string) {
	if d.Job.Props == nil {
		d.Job.Props = document.Texts{}
	}
	d.Job.Props[name] = document.Text{Value: value}
}

// privileged matches a program where a command begins, if the program has rights of its own because of its set-user-id
// or set-group-id bit, or because of file capabilities. Mail programs start such a program.
var privileged = regexp.MustCompile("(?:^|[;|&(`\n]|\\$\\()[ \t]*(?:/\\S*/)?" +
	`(mailx?|sendmail|ping6?|crontab|sudo|su|at|batch|mount|umount|newgrp|traceroute|mtr|dumpcap)(?:$|[\s;|&)])`)

// notePrivileged adds a note if a command runs a program that needs rights that a job may not have.
func (b *builder) notePrivileged(line int, job, command string) {
	names := map[string]bool{}
	for _, found := range privileged.FindAllStringSubmatch(command, -1) {
		names[found[1]] = true
	}
	if len(names) > 0 {
		b.note(line, job, "%s: such programs have rights of their own (set-user-id, set-group-id, file capabilities), which they lose in jobs where no_new_privs is set: with --local unless jobs run as another user (--run-as) or --hide-data=false is given, and in pods unless the podTemplate sets allowPrivilegeEscalation: true", strings.Join(sortedKeys(names), ", "))
	}
}

// setCommand sets the complete command of a job. It turns off the additional argument with the sharding context,
// because an additional argument could change the effect of the command.
func setCommand(d *definitions.Definition, line string) {
	setProp(d, jobs.PropScript, line)
	setProp(d, jobs.PropScriptContext, "false")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
