// Package convert converts the definitions of other schedulers: crontabs, ElasticJob-Lite's configuration, and
// XXL-JOB's tables.
//
// Crontab, Lite and XXLJob each read one file and return definitions and remarks. Everything without a counterpart
// results in a remark with its line and with what to do about it; nothing is dropped silently. The package has no
// side effects.
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

// Options provide what the files do not contain.
type Options struct {
	// App is the app of all jobs; "" means a name from the file or the format.
	App string
	// AppURL and BootstrapScript are those of the app. Without a URL no app is defined.
	AppURL, BootstrapScript string
	// CPUCount and MemoryMB are the resources of a shard; 0 means 0.1 CPUs and 128 MB.
	CPUCount, MemoryMB float64
	// TimeZone is the zone of jobs whose file names none; "" means the server's.
	TimeZone string
	// Disabled says that all jobs are disabled, so that they can be tried while the other scheduler still runs them.
	Disabled bool
	// System says that the entries of a crontab contain the user before the command, as in /etc/crontab.
	System bool
	// Properties are the values of variables of Spring, ${name}, and Profiles its active profiles.
	Properties map[string]string
	Profiles   []string
	// Now is the time after which the next fires of a cron are computed.
	Now time.Time
}

// Remark is information for the user about the result.
type Remark struct {
	At definitions.Position
	// Job is the name of the definition it is about; "" if it is about all.
	Job string
	// Lost is true if something has no counterpart, or is required and missing. The message then says what to do.
	Lost    bool
	Message string
}

func (r Remark) String() string {
	text := "note: "
	if r.Lost {
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

// Lost returns the number of remarks that require an action.
func (r *Result) Lost() (n int) {
	for _, one := range r.Remarks {
		if one.Lost {
			n++
		}
	}
	return n
}

// builder collects the result of one file.
type builder struct {
	file     string
	options  Options
	names    map[string]bool   // names of jobs
	remarked map[string]bool   // remarks that are only made once
	secrets  map[string]string // by the path of the file that must contain it
	apps     []string
	left     map[string]bool // settings with a value that nothing here needs
	result   Result
}

func newBuilder(file string, options Options) *builder {
	options.CPUCount, options.MemoryMB = cmp.Or(options.CPUCount, 0.1), cmp.Or(options.MemoryMB, 128)
	return &builder{file: file, options: options, names: map[string]bool{}, remarked: map[string]bool{},
		secrets: map[string]string{}, left: map[string]bool{}}
}

func (b *builder) remark(line int, job string, lost bool, format string, args ...any) {
	r := Remark{definitions.Position{File: b.file, Line: line}, job, lost, secrets.Hide(fmt.Sprintf(format, args...))}
	b.result.Remarks = append(b.result.Remarks, r)
}

func (b *builder) note(line int, job, format string, args ...any) {
	b.remark(line, job, false, format, args...)
}

func (b *builder) lost(line int, job, format string, args ...any) {
	b.remark(line, job, true, format, args...)
}

// remarkOnce adds a remark unless the same one exists already.
func (b *builder) remarkOnce(line int, lost bool, message string) {
	if !b.remarked[message] {
		b.remarked[message] = true
		b.remark(line, "", lost, "%s", message)
	}
}

// job adds a job of an app under a name. Where another job has the name, suffix is added: it must come from what is
// run and not from the position in the source, so that one more line changes one job.
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

// app returns the name of an app, and records it so that finish defines it.
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
		if r < 0x80 && (r == '.' || r == '_' || r == '-' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' ||
			'a' <= r && r <= 'z') {
			return r
		}
		return '-'
	}, text)
	name = strings.Trim(name, "-._")
	return cmp.Or(name[:min(len(name), 90)], "job")
}

func (b *builder) unique(name, suffix string) string {
	if b.names[name] && suffix != "" {
		name += "-" + nameOf(suffix)
	}
	name = firstFree(name, func(name string) bool { return !b.names[name] })
	b.names[name] = true
	return name
}

// firstFree returns the name, or the first of name-2, name-3, … that is free.
func firstFree(name string, isFree func(string) bool) string {
	one := name
	for n := 2; !isFree(one); n++ {
		one = name + "-" + strconv.Itoa(n)
	}
	return one
}

// setCron sets the cron of a job, in Quartz's dialect. If it is invalid, the job gets no cron and a remark.
func (b *builder) setCron(d *definitions.Definition, line int, expression string) {
	zone, err := jobs.Zone(d.Job, nil)
	if err != nil {
		b.lost(line, d.Name(), "timeZone: %s; it is left out", err)
		d.Job.TimeZone, zone = "", time.UTC
	}
	schedule, err := cron.Parse(expression, zone)
	if err != nil {
		b.lost(line, d.Name(), "cron %q is left out, so that the job runs on trigger only: %s", expression, err)
		return
	}
	d.Job.Cron = expression
	first := schedule.Next(b.options.Now)
	if next := schedule.Next(first); !next.IsZero() && next.Sub(first) < 30*time.Second {
		b.note(line, d.Name(), "fires every %s, and a TRANSIENT job starts a process each time; consider jobExecutionType: DAEMON", next.Sub(first))
	}
}

// setEnv sets a variable. If its value is a secret, the variable gets the path of a file instead, because definitions
// are meant to be kept in git.
func (b *builder) setEnv(d *definitions.Definition, line int, name, value string) {
	if d.Job.Env == nil {
		d.Job.Env = document.Texts{}
	}
	text := document.Text{Value: value}
	if text.Shown(name) != text {
		text = document.Text{FromFile: b.secretFile(name, value)}
		b.remarkOnce(line, true, fmt.Sprintf("%s is a secret and was left out: put it into the file %s on the agents", name, text.FromFile))
	}
	d.Job.Env[name] = text
}

// secretFile returns the path of the file for a secret. Different values with the same name get different paths.
func (b *builder) secretFile(name, value string) string {
	path := firstFree("/etc/elasticjob/secrets/"+name, func(path string) bool {
		other, taken := b.secrets[path]
		return !taken || other == value
	})
	b.secrets[path] = value
	return path
}

// finish puts the apps before the jobs, and validates all definitions.
func (b *builder) finish(script string) *Result {
	script = cmp.Or(b.options.BootstrapScript, script)
	var defined []*definitions.Definition
	for _, name := range b.apps {
		if b.options.AppURL == "" {
			b.lost(0, "", "app %s is not defined, because the location of its package is unknown: publish it, or import again with --app-url", name)
			continue
		}
		c := app.Default()
		c.AppName, c.AppURL, c.BootstrapScript = name, b.options.AppURL, script
		c.CPUCount, c.MemoryMB = app.LeanCPUCount, app.LeanMemoryMB
		defined = append(defined, &definitions.Definition{Kind: definitions.App, App: c,
			At: definitions.Position{File: b.file}})
	}
	if len(b.left) > 0 {
		b.note(0, "", "not taken over, as nothing here needs it: %s", strings.Join(sortedKeys(b.left), ", "))
	}
	if len(b.result.Definitions) > 0 {
		b.remarkOnce(0, false, fmt.Sprintf("the file does not say what resources a shard needs: %v CPU and %v MB of memory were set; give --cpu and --memory, or edit the result", b.options.CPUCount, b.options.MemoryMB))
	}
	for _, d := range b.result.Definitions {
		if b.options.Disabled {
			disabled := true
			d.Disabled = &disabled
		}
		b.hideRest(d)
		bad, _ := d.Job.Check(jobs.CheckOptions{Now: b.options.Now})
		for _, v := range bad {
			if v.Message == document.PlaceholderMessage { // the remark about the secret says what to do
				continue
			}
			b.lost(d.At.Line, d.Name(), "%s: %s", v.Field, v.Message)
		}
	}
	for _, d := range defined {
		b.hideRest(d)
	}
	b.result.Definitions = append(defined, b.result.Definitions...)
	slices.SortStableFunc(b.result.Remarks, func(a, b Remark) int { return cmp.Compare(a.At.Line, b.At.Line) })
	return &b.result
}

// secretFields returns the fields with content that the server would hide.
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

// privileged finds, where a command begins, the programs that have rights of their own by their set-user-id or
// set-group-id bit or by file capabilities. Mail programs hand over to such a one.
var privileged = regexp.MustCompile("(?:^|[;|&(`\n]|\\$\\()[ \t]*(?:/\\S*/)?" +
	`(mailx?|sendmail|ping6?|crontab|sudo|su|at|batch|mount|umount|newgrp|traceroute|mtr|dumpcap)(?:$|[\s;|&)])`)

// notePrivileged adds a note if a command line runs a program that needs rights which a job may not have.
func (b *builder) notePrivileged(line int, job, command string) {
	names := map[string]bool{}
	for _, found := range privileged.FindAllStringSubmatch(command, -1) {
		names[found[1]] = true
	}
	if len(names) > 0 {
		b.note(line, job, "%s: such programs have rights of their own (set-user-id, set-group-id, file capabilities), which they lose in jobs where no_new_privs is set: with --local unless jobs run as another user (--run-as) or --hide-data=false is given, and in pods unless the podTemplate sets allowPrivilegeEscalation: true", strings.Join(sortedKeys(names), ", "))
	}
}

// setCommand sets the complete command of a job. It disables the sharding context as an additional argument, which
// would change the effect of the command.
func setCommand(d *definitions.Definition, line string) {
	setProp(d, jobs.PropScript, line)
	setProp(d, jobs.PropScriptContext, "false")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
