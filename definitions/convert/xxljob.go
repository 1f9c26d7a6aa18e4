package convert

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/elasticjob-go/elasticjob/definitions"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// Columns of xxl_job_info, for dumps that do not name them: since 2.3, and before 2.3.
var (
	xxlColumns = []string{"id", "jobgroup", "jobdesc", "addtime", "updatetime", "author", "alarmemail", "scheduletype",
		"scheduleconf", "misfirestrategy",
		"executorroutestrategy", "executorhandler", "executorparam", "executorblockstrategy", "executortimeout",
		"executorfailretrycount",
		"gluetype", "gluesource", "glueremark", "glueupdatetime", "childjobid", "triggerstatus", "triggerlasttime",
		"triggernexttime"}
	xxlOldColumns = []string{"id", "jobgroup", "jobcron", "jobdesc", "addtime", "updatetime", "author", "alarmemail",
		"executorroutestrategy", "executorhandler", "executorparam", "executorblockstrategy", "executortimeout",
		"executorfailretrycount",
		"gluetype", "gluesource", "glueremark", "glueupdatetime", "childjobid", "triggerstatus", "triggerlasttime",
		"triggernexttime"}
	xxlGroupColumns = []string{"id", "appname", "title", "addresstype", "addresslist", "updatetime"}
)

func xxlKnown(table string, columns int) []string {
	switch {
	case table == "xxl_job_group":
		return xxlGroupColumns
	case columns == len(xxlOldColumns):
		return xxlOldColumns
	}
	return xxlColumns
}

// xxlFile has the rows of both tables.
type xxlFile struct {
	*builder
	groups map[string]row
}

// XXLJob converts jobs of XXL-JOB: from a dump of its tables xxl_job_info and, for the apps, xxl_job_group, or from
// the JSON that its admin returns.
func XXLJob(file string, text []byte, options Options) (*Result, error) {
	x := &xxlFile{newBuilder(file, options), map[string]row{}}
	infos, err := x.records(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(infos) == 0 {
		return nil, fmt.Errorf("%s has no job of XXL-JOB: give a dump with INSERT INTO xxl_job_info, such as mysqldump DATABASE xxl_job_info xxl_job_group makes, or what the admin answers to /jobinfo/pageList", file)
	}
	for _, info := range infos {
		x.add(info)
	}
	x.remarkOnce(0, false, "routing strategies have no counterpart and need none: shards are placed by the CPU and memory that they need")
	return x.finish("bin/start.sh"), nil
}

func (x *xxlFile) records(text []byte) (infos []row, err error) {
	var groups []row
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') {
		all, err := jsonRecords(text)
		if err != nil {
			return nil, err
		}
		for _, one := range all {
			if _, isInfo := one.fields["executorhandler"]; isInfo {
				infos = append(infos, one)
			} else if _, isGroup := one.fields["addresslist"]; isGroup {
				groups = append(groups, one)
			}
		}
	} else {
		tables := sqlTables(string(text), xxlKnown)
		if t := tables["xxl_job_info"]; t != nil {
			infos = t.rows
		}
		if t := tables["xxl_job_group"]; t != nil {
			groups = t.rows
		}
	}
	for _, group := range groups {
		x.groups[group.fields["id"]] = group
	}
	return infos, nil
}

// xxlJob converts one row.
type xxlJob struct {
	*xxlFile
	row
	d *definitions.Definition
}

func (j *xxlJob) lost(format string, args ...any) {
	j.xxlFile.lost(j.line, j.d.Name(), format, args...)
}

func (x *xxlFile) add(info row) {
	f := info.fields
	group, known := x.groups[f["jobgroup"]]
	appName := cmp.Or(group.fields["appname"], "xxl-job")
	if !known && x.options.App == "" {
		x.remarkOnce(info.line, true, fmt.Sprintf("the executor with the id %s is not in the file, so its jobs belong to the app %s: import xxl_job_group with them, or give --app", f["jobgroup"], appName))
	}
	j := &xxlJob{x, info, x.job(info.line, cmp.Or(f["executorhandler"], "job-"+f["id"]), appName)}
	c := &j.d.Job
	c.Description, c.JobParameter = f["jobdesc"], f["executorparam"]
	c.TimeoutSeconds, c.MaxRetries = j.number("executortimeout", jobs.MaxTimeoutSeconds),
		j.number("executorfailretrycount", jobs.MaxRetries)
	c.Failover = f["executorroutestrategy"] == "FAILOVER" || f["executorroutestrategy"] == "BUSYOVER"
	if f["triggerstatus"] != "1" {
		stopped := true
		j.d.Disabled = &stopped
	}
	j.route(group)
	j.schedule()
	j.block()
	j.glue()
	j.rest()
}

func (j *xxlJob) number(field string, most int) int {
	n, err := strconv.Atoi(cmp.Or(j.fields[field], "0"))
	if err != nil || n > most {
		j.lost("%s %q must be from 0 to %d, and is left out", field, j.fields[field], most)
		return 0
	}
	return max(n, 0)
}

func (j *xxlJob) route(group row) {
	switch j.fields["executorroutestrategy"] {
	case "SHARDING_BROADCAST":
		machines := 0
		for address := range strings.SplitSeq(group.fields["addresslist"], ",") {
			if strings.TrimSpace(address) != "" {
				machines++
			}
		}
		j.d.Job.ShardingTotalCount = max(machines, 1)
		j.lost("SHARDING_BROADCAST runs a shard on each machine that is up; here the number is fixed, and shards are not bound to machines: check shardingTotalCount, now %d", max(machines, 1))
	case "CONSISTENT_HASH":
		j.lost("CONSISTENT_HASH keeps a job on one machine; here runs share no disk or memory: keep their data in a database or a shared file system")
	}
}

func (j *xxlJob) schedule() {
	kind, conf := j.fields["scheduletype"], j.fields["scheduleconf"]
	if kind == "" && j.fields["jobcron"] != "" {
		kind, conf = "CRON", j.fields["jobcron"]
	}
	switch kind {
	case "CRON":
		j.setCron(j.d, j.line, conf)
	case "FIX_RATE":
		seconds, err := strconv.Atoi(strings.TrimSpace(conf))
		expression, exact := rateCron(seconds)
		if err != nil || !exact {
			j.lost("FIX_RATE %s: no cron fires every %s seconds, which divide neither a minute, an hour nor a day; choose a cron. The job runs on trigger only", conf, conf)
			return
		}
		j.setCron(j.d, j.line, expression)
		j.note(j.line, j.d.Name(), "FIX_RATE %s became cron %q, which counts from the full minute, hour or day rather than from when the job was started", conf, expression)
	case "", "NONE":
		j.note(j.line, j.d.Name(), "has no schedule: it runs on trigger only")
	default:
		j.lost("schedule_type %s has no counterpart: the job runs on trigger only; give it a cron", kind)
	}
}

// rateCron returns the cron that fires at this interval, if there is one.
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

// block converts the strategies for fires that find the job running and for missed fires.
func (j *xxlJob) block() {
	switch blocked := cmp.Or(j.fields["executorblockstrategy"], "SERIAL_EXECUTION"); blocked {
	case "SERIAL_EXECUTION":
		j.d.Job.Misfire = true
	case "DISCARD_LATER":
		if j.fields["misfirestrategy"] == "FIRE_ONCE_NOW" {
			j.lost("FIRE_ONCE_NOW makes up for missed fires; here misfire: true does that, but it also queues fires that find the job running, which DISCARD_LATER drops: misfire was set to false; choose")
		}
	case "COVER_EARLY":
		j.lost("COVER_EARLY ends the run that the next fire finds; here that fire is dropped: set timeoutSeconds to less than the time between two fires")
	default:
		j.lost("executor_block_strategy %s is not known; a fire that finds the job running is dropped", blocked)
	}
	if j.d.Job.Misfire && j.fields["misfirestrategy"] == "DO_NOTHING" {
		j.note(j.line, j.d.Name(), "SERIAL_EXECUTION became misfire: true, which also makes up for fires that were missed while no server ran, despite DO_NOTHING")
	}
}

// interpreters run scripts given as an argument, followed by the script's arguments.
var interpreters = map[string]string{"GLUE_SHELL": "/bin/bash -c", "GLUE_PYTHON": "python3 -c"}

func (j *xxlJob) glue() {
	kind := cmp.Or(j.fields["gluetype"], "BEAN")
	source := strings.ReplaceAll(j.fields["gluesource"], "\r\n", "\n")
	interpreter := interpreters[kind]
	switch {
	case kind == "BEAN":
		j.setEnv(j.d, j.line, "XXL_JOB_HANDLER", j.fields["executorhandler"])
		j.remarkOnce(j.line, true, "handlers of type BEAN are methods of a long-running Java program: the app's package needs a program that runs the handler named in XXL_JOB_HANDLER, with the parameter in ELASTICJOB_JOB_PARAMETER")
	case interpreter == "" || source == "":
		j.lost("%s has no counterpart: put the script into the app's package, and name it in props %s", kind,
			jobs.PropScript)
	default:
		name := ""
		if kind == "GLUE_SHELL" {
			name = " " + quote(j.d.Name()) // $0
		}
		parameter := quote(j.fields["executorparam"])
		setCommand(j.d, fmt.Sprintf("%s %s%s %s 0 1", interpreter, quote(source), name, parameter))
		if j.d.Job.ShardingTotalCount > 1 || j.fields["executorroutestrategy"] == "SHARDING_BROADCAST" {
			j.lost("its script gets 0 and 1 as shard number and number of shards: read ELASTICJOB_SHARDING_ITEM and ELASTICJOB_SHARDING_TOTAL_COUNT instead")
		}
	}
}

func (j *xxlJob) rest() {
	if children := j.fields["childjobid"]; children != "" && children != "0" {
		j.lost("its child jobs (%s) have no counterpart: let its program trigger them at its end, by POST /api/job/NAME/trigger", children)
	}
	if mail := j.fields["alarmemail"]; mail != "" {
		j.lost("mail to %s about failures: set jobErrorHandlerType: EMAIL with props email.to and those of the mail server", mail)
	}
}
