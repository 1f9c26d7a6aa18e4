package convert

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/elasticjob-go/elasticjob/definitions"
	"github.com/elasticjob-go/elasticjob/internal/secrets"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// liteJob is a job as read from any of the formats. The keys of settings are the plainKeys of their names.
type liteJob struct {
	name     string
	line     int
	settings map[string]setting
	props    map[string]setting
	// listeners are the classes that are called before and after each run.
	listeners []string
}

func newLiteJob(name string, line int) *liteJob {
	return &liteJob{name: name, line: line, settings: map[string]setting{}, props: map[string]setting{}}
}

// lite converts jobs of ElasticJob-Lite, of any version.
type lite struct {
	*builder
	jobs   []*liteJob
	beside []setting         // settings of ElasticJob that belong to no job
	values map[string]string // values of the file for ${name}
}

func newLite(source string, options Options) *lite {
	return &lite{builder: newBuilder(source, options), values: map[string]string{}}
}

// Lite converts jobs of ElasticJob-Lite: a YAML or properties file of its starter for Spring Boot (elasticjob.jobs), an
// XML file of its Spring namespace, or the configurations in its ZooKeeper as YAML or JSON, separated by "---".
func Lite(file string, text []byte, options Options) (*Result, error) {
	l := newLite(file, options)
	read := l.spring
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("<")) {
		read = l.xml
	}
	if err := read(text); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return l.convert()
}

// LiteNode is a job in ElasticJob-Lite's ZooKeeper.
type LiteNode struct {
	Job string
	// Config is the data of its node config, YAML in 3.x and JSON in 2.x. In 1.x it is empty, and Settings has the data
	// of the nodes below config.
	Config   []byte
	Settings map[string]string
	// Servers is the number of servers that have run the job. On Disabled of them it is disabled.
	Servers, Disabled int
}

// LiteNodes converts jobs from ElasticJob-Lite's ZooKeeper. source names it in remarks.
func LiteNodes(source string, nodes []LiteNode, options Options) (*Result, error) {
	l := newLite(source, options)
	for _, node := range nodes {
		job := newLiteJob(node.Job, 0)
		for name, value := range node.Settings {
			job.settings[plainKey(name)] = setting{text: value, key: name}
		}
		documents, err := springDocuments(node.Config)
		if err != nil {
			l.lost(0, "", "the configuration of %s is not read: %s", node.Job, err)
			continue
		}
		for _, d := range documents {
			for _, e := range d.entries {
				e.line = 0
				job.add(e.path, e.setting)
			}
		}
		switch {
		case node.Disabled > 0 && node.Disabled == node.Servers:
			job.settings["disabled"] = setting{text: "true", key: "disabled"}
		case node.Disabled > 0:
			l.lost(0, node.Job, "it is disabled on %d of %d servers; here a job is disabled or enabled as a whole", node.Disabled, node.Servers)
		}
		l.jobs = append(l.jobs, job)
	}
	return l.convert()
}

func (l *lite) convert() (*Result, error) {
	if len(l.jobs) == 0 {
		hint := ""
		if len(l.beside) > 0 {
			hint = "; its settings are, so that the jobs are probably in Java: read them from ZooKeeper, with --zk HOSTS/NAMESPACE"
		}
		return nil, fmt.Errorf("%s has no job of ElasticJob-Lite%s: give a YAML or properties file with elasticjob.jobs, an XML file with elasticjob:job, a job's configuration from ZooKeeper, with jobName, or its ZooKeeper with --zk", l.file, hint)
	}
	for _, one := range l.jobs {
		l.add(one)
	}
	said := map[string]bool{}
	for _, one := range l.beside {
		name := strings.Join(strings.SplitN(one.key, ".", 3)[:min(2, strings.Count(one.key, ".")+1)], ".")
		if !said[name] {
			said[name] = true
			one.key = name
			l.addBeside(one)
		}
	}
	return l.finish("bin/start.sh"), nil
}

// besideJobs are the settings that do not belong to a job, by the prefix of their plainKey, with advice; "" means
// that there is nothing to do.
var besideJobs = []struct{ prefix, advice string }{
	{"regcenter", ""},
	{"zookeeper", ""},
	{"zk", ""},
	{"enabled", ""},
	{"tracing", "runs are recorded by the server; give it --db for a history in MySQL"},
	{"rdb", "runs are recorded by the server; give it --db for a history in MySQL"},
	{"dump", "\"elasticjob job explain\" says what a job does"},
}

func (l *lite) addBeside(one setting) {
	name := plainKey(one.key)
	name = name[strings.LastIndexByte(name, '.')+1:]
	for _, known := range besideJobs {
		switch {
		case !strings.HasPrefix(name, known.prefix):
		case known.advice == "":
			l.note(one.line, "", "%s is left out: the server stores the jobs", one.key)
			return
		default:
			l.lost(one.line, "", "%s has no counterpart: %s", one.key, known.advice)
			return
		}
	}
	l.lost(one.line, "", "%s is unknown and left out", one.key)
}

// liteJobReader converts the settings of one job. Settings that remain at the end are unknown.
type liteJobReader struct {
	*lite
	*liteJob
	d *definitions.Definition
}

func (l *lite) add(one *liteJob) {
	if strings.HasPrefix(one.name, "[") { // an element of a list of jobs
		own := record{one.line, one.settings}.take("jobname", "name", "id")
		one.name = cmp.Or(own.text, one.name)
	}
	name, _ := l.filled(one.name, 0)
	r := &liteJobReader{l, one, l.job(one.line, name, "", "elasticjob-lite")}
	c := &r.d.Job
	r.resolve(one.settings)
	r.resolve(one.props)

	c.Description, c.JobParameter, c.ShardingItemParameters = r.take("description"), r.take("jobparameter"),
		r.take("shardingitemparameters")
	c.ShardingTotalCount = r.shards()
	c.Failover, c.Misfire = r.boolSetting("failover", false), r.boolSetting("misfire", true)
	if r.boolSetting("disabled", false) {
		stopped := true
		r.d.Disabled = &stopped
	}
	r.zone()
	cronAt := one.settings["cron"]
	if expression := r.take("cron"); expression != "" {
		r.setCron(r.d, cronAt.line, expression)
	} else {
		r.note(one.line, c.JobName, "has no cron: it runs on trigger only")
	}
	r.takeProps()
	r.program()
	r.handlers()
	r.rest()
}

// take removes a setting from the unknown ones and returns its value.
func (r *liteJobReader) take(name string) string {
	value := r.settings[name].text
	delete(r.settings, name)
	return value
}

func (r *liteJobReader) lost(line int, format string, args ...any) {
	r.lite.lost(line, r.d.Name(), format, args...)
}

// shards returns shardingTotalCount, or 1 if it is not a positive number.
func (r *liteJobReader) shards() int {
	at, given := r.settings["shardingtotalcount"]
	n, err := strconv.Atoi(strings.TrimSpace(r.take("shardingtotalcount")))
	if err != nil || n < 1 {
		switch {
		case strings.Contains(at.text, "${"): // already reported by resolve
		case given:
			r.lost(at.line, "%s %q must be a number, 1 or more; 1 was set", at.key, at.text)
		default:
			r.lost(r.line, "shardingTotalCount is missing; 1 was set")
		}
		return 1
	}
	return n
}

func (r *liteJobReader) boolSetting(name string, otherwise bool) bool {
	at, given := r.settings[name]
	value, err := strconv.ParseBool(strings.TrimSpace(r.take(name)))
	if err != nil {
		if given && at.text != "" {
			r.lost(at.line, "%s %q must be true or false; %v was set", at.key, at.text, otherwise)
		}
		return otherwise
	}
	return value
}

// zone takes the time zone.
func (r *liteJobReader) zone() {
	if zone := r.take("timezone"); zone != "" {
		r.d.Job.TimeZone = jobs.JavaZone(zone)
	}
}

// takeProps sets the properties and replaces secrets, because definitions are meant to be kept in git.
func (r *liteJobReader) takeProps() {
	for _, name := range slices.Sorted(maps.Keys(r.props)) {
		value := r.props[name]
		setProp(r.d, name, value.text)
		if shown := r.d.Job.WithoutSecrets().Props[name].Value; shown != value.text {
			setProp(r.d, name, shown)
			is := "contains"
			if shown == secrets.Hidden {
				is = "is"
			}
			r.lost(value.line, "props.%s %s %s", name, is, leftOut)
		}
	}
}

// program sets how the job is run.
func (r *liteJobReader) program() {
	given := r.take("elasticjobtype") + r.take("jobtype")
	kind := strings.ToUpper(given)
	class := strings.TrimSpace(r.take("elasticjobclass") + " " + r.take("jobclass") + " " + r.take("class") + " " +
		r.take("jobref"))
	if r.boolSetting("streamingprocess", false) {
		setProp(r.d, jobs.PropStreaming, "true")
	}
	line := r.take("scriptcommandline")
	if line == "" {
		line = r.d.Job.Props[jobs.PropScript].Value
	}
	if line != "" {
		setProp(r.d, jobs.PropScript, line)
		return
	}
	switch _, isHTTP := r.d.Job.HTTP(); {
	case kind == "SCRIPT":
		r.lost(r.line, "a script job must have %s: give its command in props", jobs.PropScript)
	case kind == "HTTP" && !isHTTP:
		r.lost(r.line, "an HTTP job must have %s: give its address in props", jobs.PropHTTPURL)
	case isHTTP:
	case kind != "" && kind != "SIMPLE" && kind != "DATAFLOW":
		r.lost(r.line, "the type %s is not known: set props %s to the command that runs a shard", given, jobs.PropScript)
	default:
		if class != "" {
			class = " " + class
		}
		r.lost(r.line, "its class or bean%s is Java in a long-running program: the app's package needs a program that runs it for one shard, given in ELASTICJOB_SHARDING_CONTEXT", class)
	}
}

func (r *liteJobReader) handlers() {
	if handler := r.take("joberrorhandlertype"); handler != "" {
		r.d.Job.JobErrorHandlerType = handler
	}
	at := r.settings["jobexceptionhandler"]
	if handler := r.take("jobexceptionhandler"); handler != "" {
		r.lost(at.line, "the exception handler %s is a class: set jobErrorHandlerType to one of LOG, EMAIL, WECHAT, DINGTALK and WEBHOOK", handler)
	}
	r.listeners = append(r.listeners, strings.FieldsFunc(r.take("joblistenertypes")+","+r.take("joblistenerrefs"),
		func(c rune) bool { return strings.ContainsRune(",[] ", c) })...)
	if len(r.listeners) > 0 {
		r.lost(r.line, "listeners (%s) have no counterpart: let the job's program do their work",
			strings.Join(r.listeners, ", "))
	}
}

// needless are settings that this scheduler does not need.
var needless = []string{
	"monitorexecution", "registrycenterref", "overwrite", "jobbootstrapbeanname", "maxtimediffseconds",
	"reconcileintervalminutes", "monitorport", "label",
	"jobexecutorservicehandlertype", "jobexecutorthreadpoolsizeprovidertype", "executorservicehandler", "tracingref",
	"eventtracerdbdatasource",
	"elasticjobinstanceid", "jobinstanceid", "cachedthreads", "regcenter", "processcountintervalseconds",
	"fetchdatacount", "concurrentdataprocessthreadcount",
}

// missed are settings whose effect has no counterpart, with advice.
var missed = map[string]string{
	"jobshardingstrategytype":  "shards are placed by the CPU and memory that they need, and not bound to machines",
	"jobshardingstrategyclass": "shards are placed by the CPU and memory that they need, and not bound to machines",
	"staticsharding":           "shards are not bound to machines",
	"jobextraconfigurations":   "let the job's program read what it needs from env or props",
	"jobproperties":            "the handlers that it names are classes; set jobErrorHandlerType",
	"extraconfigurations":      "let the job's program read what it needs from env or props",
}

func (r *liteJobReader) rest() {
	if at := r.settings["monitorexecution"]; at.text == "false" {
		r.note(at.line, r.d.Name(), "monitorExecution: false has no effect: executions are always monitored, so that runs never overlap")
		delete(r.settings, "monitorexecution")
	}
	delete(r.settings, "jobname")
	delete(r.settings, "id")
	r.leave(record{r.line, r.settings}, needless...)
	for _, name := range slices.Sorted(maps.Keys(r.settings)) {
		at := r.settings[name]
		first, _, _ := strings.Cut(name, ".")
		advice, known := missed[first]
		switch {
		case at.text == "" || at.text == "false" || at.text == "[]" || at.text == "{}":
		case known:
			r.lost(at.line, "%s has no counterpart: %s", at.key, advice)
		default:
			r.lost(at.line, "%s is not known, and left out: %s", at.key, shownValue(at))
		}
	}
}
