package convert

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/elasticjob-go/elasticjob/definitions"
	"github.com/elasticjob-go/elasticjob/definitions/convert/sqldump"
	"github.com/elasticjob-go/elasticjob/internal/textfile"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// xxl converts the jobs of an XXL-JOB, of any version.
type xxl struct {
	*builder
	groups  map[string]record   // the executors, by id
	live    map[string]int      // the number of registered addresses of executors, by app name
	states  map[string]xxlState // the states of jobs, by id; nil if there is no separate table with them
	unknown leftovers
}

// XXLJob converts jobs of XXL-JOB. The text is a dump of its tables xxl_job_info and, for the apps, xxl_job_group, or
// the JSON that its admin returns.
func XXLJob(file string, text []byte, options Options) (*Result, error) {
	x := newXXL(file, options)
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') {
		infos, err := x.readJSON(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return x.convert(infos)
	}
	dump := sqldump.Read(string(text), xxlColumnsOf)
	for _, ignored := range dump.Ignored {
		x.toDo(ignored.Line, "", "statement skipped, because %s: %s", ignored.Why, ignored.Statement)
	}
	if dump.Guessed {
		x.noteOnce(0, "nothing shows which database made the file; backslashes in texts were read as MySQL's escapes")
	}
	return x.convert(x.tables(dump.Tables))
}

// XXLJobTables converts jobs of XXL-JOB from its tables in a database. others are the names of further tables of
// XXL-JOB, which were not read.
func XXLJobTables(
	database string, tables map[string]*sqldump.Table, others []string, options Options,
) (*Result, error) {
	x := newXXL(database, options)
	for _, name := range others {
		x.leaveTable(0, name, "")
	}
	return x.convert(x.tables(tables))
}

func newXXL(source string, options Options) *xxl {
	return &xxl{builder: newBuilder(source, options), groups: map[string]record{}, live: map[string]int{},
		unknown: leftovers{kind: "column"}}
}

// convert converts the rows of all jobs. It returns an error if there are none.
func (x *xxl) convert(infos []record) (*Result, error) {
	if len(infos) == 0 {
		return nil, fmt.Errorf("%s has no job of XXL-JOB: give a dump with INSERT INTO xxl_job_info, such as mysqldump DATABASE xxl_job_info xxl_job_group makes, what the admin answers to /jobinfo/pageList, or its database with --db", x.file)
	}
	// Jobs with the same handler get names with their ids, except the first one.
	slices.SortStableFunc(infos, func(a, b record) int { return cmp.Compare(idOf(a), idOf(b)) })
	for _, info := range infos {
		x.add(info)
	}
	for _, id := range sortedKeys(x.groups) {
		group := x.groups[id]
		group.take("id", "appname", "addresslist")
		x.leave(group, "title", "order", "addresstype", "updatetime")
		x.unknown.add("", group)
	}
	x.unknown.report(x.builder)
	x.noteOnce(0, "routing strategies have no counterpart and need none: shards are placed by the CPU and memory that they need")
	return x.finish("bin/start.sh"), nil
}

// idOf returns the id of a job; 0 if it is not a number.
func idOf(r record) int {
	id, _ := strconv.Atoi(r.settings["id"].text)
	return id
}

// readJSON reads the JSON of the admin, which contains objects for jobs and executors, and returns the jobs.
func (x *xxl) readJSON(text []byte) (infos []record, err error) {
	x.unknown.kind = "key"
	records, err := jsonRecords(text)
	for _, r := range records {
		if _, isInfo := r.settings["executorhandler"]; isInfo {
			infos = append(infos, r)
		} else if _, isGroup := r.settings["addresslist"]; isGroup {
			x.groups[r.settings["id"].text] = r
		} else {
			x.leave(r, sortedKeys(r.settings)...)
		}
	}
	return infos, err
}

// xxlJob converts one job. It takes the settings that it converts from the record; the others are unknown.
type xxlJob struct {
	*xxl
	record
	d *definitions.Definition
}

// toDo adds a remark about the job that requires an action.
func (j *xxlJob) toDo(format string, args ...any) {
	j.xxl.toDo(j.line, j.d.Name(), format, args...)
}

// takeText takes some columns, and returns the text of the first one that is given. If only the database knows its
// value, it returns "" and adds a remark.
func (j *xxlJob) takeText(names ...string) string {
	s := j.take(names...)
	if s.unknown {
		j.toDo("%s is %s in the file, whose value only the database knows; it is left out", s.key, s.text)
		return ""
	}
	return s.text
}

// add converts a job.
func (x *xxl) add(info record) {
	id, handler := info.take("id").text, info.settings["executorhandler"].text
	groupID := info.take("jobgroup").text
	group, known := x.groups[groupID]
	appName := cmp.Or(group.settings["appname"].text, "xxl-job")
	if !known && x.options.App == "" {
		x.toDoOnce(info.line, fmt.Sprintf("the executor with the id %s is not in the file, so its jobs belong to the app %s: import xxl_job_group with them, or give --app", groupID, appName))
	}
	j := &xxlJob{x, info, x.job(info.line, cmp.Or(handler, "job-"+id), id, appName)}
	c := &j.d.Job
	c.Description, c.JobParameter = j.takeText("jobdesc", "jobname", "name", "title"), j.takeText("executorparam")
	c.TimeoutSeconds, c.MaxRetries = j.takeNumber("executortimeout", jobs.MaxTimeoutSeconds),
		j.takeNumber("executorfailretrycount", jobs.MaxRetries)
	j.takeStatus(id)
	j.takeSchedule()
	broadcast := j.takeRoute(group)
	j.takeBlock()
	j.takeGlue(handler, broadcast)
	j.takeRest()
	x.unknown.add(j.d.Name(), j.record)
}

// takeStatus disables a job that is stopped, or whose state is not known. In versions before 2.1, Quartz's tables
// contain the state.
func (j *xxlJob) takeStatus(id string) {
	stopped := false
	switch status := j.takeText("triggerstatus"); {
	case status == "0", status == "1":
		stopped = status == "0"
	case status != "":
		stopped = true
		j.toDo("trigger_status %q is not known: it is disabled", status)
	case j.states != nil:
		state, scheduled := j.states[id]
		stopped = !scheduled || state.paused
		if j.d.Job.TimeZone == "" && scheduled {
			j.d.Job.TimeZone = state.zone
		}
	default:
		stopped = true
		j.toDo("whether it runs is not in the file: it is disabled. Enable it, or import the table xxl_job_qrtz_triggers with it, where versions before 2.1 have that")
	}
	if stopped {
		j.d.Disabled = &stopped
	}
}

// takeNumber takes a column with a number from 0 to limit. For any other text it adds a remark and returns 0; negative
// numbers mean 0 in XXL-JOB.
func (j *xxlJob) takeNumber(field string, limit int) int {
	text := j.takeText(field)
	n, err := strconv.Atoi(cmp.Or(strings.TrimSpace(text), "0"))
	if err != nil || n > limit {
		j.toDo("%s %q must be from 0 to %d, and is left out", field, text, limit)
		return 0
	}
	return max(n, 0)
}

// takeRoute converts the routing strategy. It reports whether the job runs a shard on each machine.
func (j *xxlJob) takeRoute(group record) (broadcast bool) {
	switch strategy := j.takeText("executorroutestrategy"); strategy {
	case "SHARDING_BROADCAST":
		machines := 0
		for address := range strings.SplitSeq(group.settings["addresslist"].text, ",") {
			if strings.TrimSpace(address) != "" {
				machines++
			}
		}
		machines = max(machines, j.live[group.settings["appname"].text], 1)
		j.d.Job.ShardingTotalCount = machines
		j.toDo("SHARDING_BROADCAST runs a shard on each machine that is up; here the number is fixed, and shards are not bound to machines: check shardingTotalCount, now %d", machines)
		return true
	case "CONSISTENT_HASH":
		j.toDo("CONSISTENT_HASH keeps a job on one machine; here runs share no disk or memory: keep their data in a database or a shared file system")
	case "FAILOVER", "BUSYOVER":
		j.d.Job.Failover = true
	case "", "FIRST", "LAST", "ROUND", "RANDOM", "LEAST_FREQUENTLY_USED", "LEAST_RECENTLY_USED":
	default:
		j.toDo("executor_route_strategy %s is not known; shards are placed by the CPU and memory that they take",
			strategy)
	}
	return false
}

// zoneColumns are the names of the column with the time zone of a cron, in versions and forks of XXL-JOB.
var zoneColumns = []string{"scheduletimezone", "timezone", "timezoneid", "schedulezone", "scheduletimezoneid", "zoneid",
	"crontimezone"}

// takeSchedule sets the cron and its time zone.
func (j *xxlJob) takeSchedule() {
	if zone := j.takeText(zoneColumns...); zone != "" {
		j.d.Job.TimeZone = jobs.JavaZone(zone)
	}
	kind, conf := j.takeText("scheduletype"), j.takeText("scheduleconf")
	if old := j.takeText("jobcron"); kind == "" && old != "" {
		kind, conf = "CRON", old
	}
	switch kind {
	case "CRON":
		j.setCron(j.d, j.line, conf)
	case "FIX_RATE":
		seconds, err := strconv.Atoi(strings.TrimSpace(conf))
		expression, exact := rateCron(seconds)
		if err != nil || !exact {
			j.toDo("FIX_RATE %s: no cron fires every %s seconds, which divide neither a minute, an hour nor a day; choose a cron. The job runs on trigger only", conf, conf)
			return
		}
		j.setCron(j.d, j.line, expression)
		j.note(j.line, j.d.Name(), "FIX_RATE %s became cron %q, which counts from the full minute, hour or day rather than from when the job was started", conf, expression)
	case "", "NONE":
		j.note(j.line, j.d.Name(), "has no schedule: it runs on trigger only")
		if conf != "" {
			j.toDo("schedule_conf %q has no schedule_type, and is left out", conf)
		}
	default:
		j.toDo("schedule_type %s with %q has no counterpart: the job runs on trigger only; give it a cron", kind, conf)
	}
}

// rateCron returns the cron that fires at an interval of some seconds; exact is false if there is none.
func rateCron(seconds int) (expression string, exact bool) {
	switch {
	case seconds < 1:
		return "", false
	case seconds < 60 && 60%seconds == 0:
		return fmt.Sprintf("0/%d * * * * ?", seconds), true
	case seconds%60 == 0 && seconds < 3600 && 3600%seconds == 0:
		return fmt.Sprintf("0 0/%d * * * ?", seconds/60), true
	case seconds%3600 == 0 && seconds < 86400 && 86400%seconds == 0:
		return fmt.Sprintf("0 0 0/%d * * ?", seconds/3600), true
	case seconds == 86400:
		return "0 0 0 * * ?", true
	}
	return "", false
}

// takeBlock converts the strategies for fires that find the job running, and for missed fires.
func (j *xxlJob) takeBlock() {
	misfire := j.takeText("misfirestrategy")
	switch strategy := cmp.Or(j.takeText("executorblockstrategy"), "SERIAL_EXECUTION"); strategy {
	case "SERIAL_EXECUTION":
		j.d.Job.Misfire = true
	case "DISCARD_LATER":
		if misfire == "FIRE_ONCE_NOW" {
			j.toDo("FIRE_ONCE_NOW makes up for missed fires; here misfire: true does that, but it also queues fires that find the job running, which DISCARD_LATER drops: misfire was set to false; choose")
		}
	case "COVER_EARLY":
		j.toDo("COVER_EARLY ends the run that the next fire finds; here that fire is dropped: set timeoutSeconds to less than the time between two fires")
	default:
		j.toDo("executor_block_strategy %s is not known; a fire that finds the job running is dropped", strategy)
	}
	if j.d.Job.Misfire && misfire == "DO_NOTHING" {
		j.note(j.line, j.d.Name(), "SERIAL_EXECUTION became misfire: true, which also makes up for fires that were missed while no server ran, despite DO_NOTHING")
	}
	if misfire != "" && misfire != "DO_NOTHING" && misfire != "FIRE_ONCE_NOW" {
		j.toDo("misfire_strategy %s is not known, and is left out", misfire)
	}
}

// glueScripts are the ways to run a script with the arguments that XXL-JOB gives it: the parameter, the number of the
// shard, and the number of all shards. The prologue reads them when the script runs, so that a trigger can give
// another parameter.
var glueScripts = map[string]struct{ interpreter, prologue string }{
	"GLUE_SHELL":  {"/bin/bash -c", `set -- "$ELASTICJOB_JOB_PARAMETER" "$ELASTICJOB_SHARDING_ITEM" "$ELASTICJOB_SHARDING_TOTAL_COUNT"`},
	"GLUE_PYTHON": {"python3 -c", `import os, sys; sys.argv[1:] = [os.environ.get("ELASTICJOB_" + n, "") for n in ("JOB_PARAMETER", "SHARDING_ITEM", "SHARDING_TOTAL_COUNT")]`},
}

// takeGlue sets the command of the job, or adds a remark if its code is not a script that can be run.
func (j *xxlJob) takeGlue(handler string, broadcast bool) {
	j.take("executorhandler")
	kind := cmp.Or(j.takeText("gluetype"), "BEAN")
	source := strings.TrimPrefix(strings.ReplaceAll(j.takeText("gluesource"), "\r\n", "\n"), textfile.Mark)
	if script := strings.TrimLeft(source, " \t\n"); strings.HasPrefix(script, "#!") {
		source = script
	}
	script, known := glueScripts[kind]
	switch {
	case kind == "BEAN":
		j.setEnv(j.d, j.line, "XXL_JOB_HANDLER", handler)
		j.toDoOnce(j.line, "handlers of type BEAN are methods of a long-running Java program: the app's package needs a program that runs the handler named in XXL_JOB_HANDLER, with the parameter in ELASTICJOB_JOB_PARAMETER")
		if source != "" {
			j.toDo("its glue_source is left out, as its glue_type is BEAN")
		}
	case !known || source == "":
		j.toDo("%s has no counterpart: put the script into the app's package, and name it in props %s", kind,
			jobs.PropScript)
	default:
		j.notePrivileged(j.line, j.d.Name(), source)
		shell, _, _ := strings.Cut(script.interpreter, " ")
		source = j.takeSecrets(j.d, j.line, shell, source)
		setCommand(j.d, fmt.Sprintf("%s %s %s", script.interpreter, quote(script.prologue+"\n"+source),
			quote(j.d.Name())))
		if strings.HasPrefix(source, "#!") && !strings.Contains(firstLine(source), "bash") && kind == "GLUE_SHELL" {
			j.note(j.line, j.d.Name(), "its script is run by bash, as in XXL-JOB, and not by %s", firstLine(source))
		}
	}
	if broadcast && kind != "BEAN" {
		j.note(j.line, j.d.Name(), "each shard gets its number and the number of all as arguments")
	}
}

// firstLine returns the first line of a text, without the blanks around it.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(line)
}

// takeRest takes columns without a counterpart, and adds remarks about those that matter.
func (j *xxlJob) takeRest() {
	if children := j.takeText("childjobid", "childjobkey"); children != "" && children != "0" {
		j.toDo("its child jobs (%s) have no counterpart: let its program trigger them at its end, by POST /api/job/NAME/trigger", children)
	}
	if mail := j.takeText("alarmemail"); mail != "" {
		j.toDo("mail to %s about failures: set jobErrorHandlerType: EMAIL with props email.to and those of the mail server", mail)
	}
	j.leave(j.record, "author", "addtime", "updatetime", "glueremark", "glueupdatetime", "triggerlasttime",
		"triggernexttime")
}
