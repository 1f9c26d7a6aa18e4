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

// liteJob is a job of any of the formats. settings are by the plainKey of their names.
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
	global []setting         // settings of ElasticJob that belong to no job
	values map[string]string // the values of the file, for ${name}
}

func newLite(source string, options Options) *lite {
	return &lite{builder: newBuilder(source, options), values: map[string]string{}}
}

// Lite converts jobs of ElasticJob-Lite. The text is a YAML or properties file of its starter for Spring Boot
// (elasticjob.jobs), an XML file of its Spring namespace, or the configurations in its ZooKeeper, as YAML or JSON and
// separated by "---".
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
	// Config is the data of the job's node config: YAML in 3.x, and JSON in 2.x. In 1.x it is empty, and Settings
	// contains the data of the nodes below config.
	Config   []byte
	Settings map[string]string
	// Servers is the number of servers that have run the job. Disabled is the number of servers on which it is
	// disabled.
	Servers, Disabled int
}

// LiteNodes converts jobs from ElasticJob-Lite's ZooKeeper. source names the ZooKeeper in remarks.
func LiteNodes(source string, nodes []LiteNode, options Options) (*Result, error) {
	l := newLite(source, options)
	for _, node := range nodes {
		job := newLiteJob(node.Job, 0)
		for name, value := range node.Settings {
			job.settings[plainKey(name)] = setting{text: value, key: name}
		}
		documents, err := springDocuments(node.Config)
		if err != nil {
			l.toDo(0, "", "the configuration of %s is not read: %s", node.Job, err)
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
			l.toDo(0, node.Job, "it is disabled on %d of %d servers; here a job is disabled or enabled as a whole",
				node.Disabled, node.Servers)
		}
		l.jobs = append(l.jobs, job)
	}
	return l.convert()
}

// convert converts all jobs and global settings. It returns an error if there are no jobs.
func (l *lite) convert() (*Result, error) {
	if len(l.jobs) == 0 {
		hint := ""
		if len(l.global) > 0 {
			hint = ", only its settings, so the jobs are probably defined in Java: read them from ZooKeeper, with --zk HOSTS/NAMESPACE"
		}
		return nil, fmt.Errorf("%s has no job of ElasticJob-Lite%s: give a YAML or properties file with elasticjob.jobs, an XML file with elasticjob:job, a job's configuration from ZooKeeper, with jobName, or its ZooKeeper with --zk", l.file, hint)
	}
	for _, job := range l.jobs {
		l.add(job)
	}
	reported := map[string]bool{}
	for _, s := range l.global {
		name := strings.Join(strings.SplitN(s.key, ".", 3)[:min(2, strings.Count(s.key, ".")+1)], ".")
		if !reported[name] {
			reported[name] = true
			s.key = name
			l.addGlobal(s)
		}
	}
	return l.finish("bin/start.sh"), nil
}

// globalSettings are the settings that belong to no job, by the prefix of their plainKey. advice says what to do about
// a setting; "" means that there is nothing to do.
var globalSettings = []struct{ prefix, advice string }{
	{"regcenter", ""},
	{"zookeeper", ""},
	{"zk", ""},
	{"enabled", ""},
	{"tracing", "runs are recorded by the server; give it --db for a history in MySQL"},
	{"rdb", "runs are recorded by the server; give it --db for a history in MySQL"},
	{"dump", "\"elasticjob job explain\" says what a job does"},
}

// addGlobal adds a remark about a setting that belongs to no job.
func (l *lite) addGlobal(s setting) {
	name := plainKey(s.key)
	name = name[strings.LastIndexByte(name, '.')+1:]
	for _, g := range globalSettings {
		switch {
		case !strings.HasPrefix(name, g.prefix):
		case g.advice == "":
			l.note(s.line, "", "%s is left out: the server stores the jobs", s.key)
			return
		default:
			l.toDo(s.line, "", "%s has no counterpart: %s", s.key, g.advice)
			return
		}
	}
	l.toDo(s.line, "", "%s is unknown and left out", s.key)
}

// liteJobReader converts the settings of one job. It removes each setting that it converts; reportRest reports the
// others.
type liteJobReader struct {
	*lite
	*liteJob
	d *definitions.Definition
}

// add converts a job.
func (l *lite) add(job *liteJob) {
	if strings.HasPrefix(job.name, "[") { // an element of a list of jobs
		own := record{job.line, job.settings}.take("jobname", "name", "id")
		job.name = cmp.Or(own.text, job.name)
	}
	name, _ := l.fill(job.name, 0)
	r := &liteJobReader{l, job, l.job(job.line, name, "", "elasticjob-lite")}
	c := &r.d.Job
	r.fillAll(job.settings)
	r.fillAll(job.props)

	c.Description, c.JobParameter, c.ShardingItemParameters = r.take("description"), r.take("jobparameter"),
		r.take("shardingitemparameters")
	c.ShardingTotalCount = r.takeShards()
	c.Failover, c.Misfire = r.takeBool("failover", false), r.takeBool("misfire", true)
	if r.takeBool("disabled", false) {
		disabled := true
		r.d.Disabled = &disabled
	}
	r.takeZone()
	cron := job.settings["cron"]
	if expression := r.take("cron"); expression != "" {
		r.setCron(r.d, cron.line, expression)
	} else {
		r.note(job.line, c.JobName, "has no cron: it runs on trigger only")
	}
	r.takeProps()
	r.takeProgram()
	r.takeHandlers()
	r.reportRest()
}

// take removes a setting and returns its value; "" if it is not given.
func (r *liteJobReader) take(name string) string {
	value := r.settings[name].text
	delete(r.settings, name)
	return value
}

// toDo adds a remark about the job that requires an action.
func (r *liteJobReader) toDo(line int, format string, args ...any) {
	r.lite.toDo(line, r.d.Name(), format, args...)
}

// takeShards returns shardingTotalCount. If it is not a positive number, it adds a remark and returns 1.
func (r *liteJobReader) takeShards() int {
	s, given := r.settings["shardingtotalcount"]
	n, err := strconv.Atoi(strings.TrimSpace(r.take("shardingtotalcount")))
	if err != nil || n < 1 {
		switch {
		case strings.Contains(s.text, "${"): // fillAll has reported it
		case given:
			r.toDo(s.line, "%s %q must be a number, 1 or more; 1 was set", s.key, s.text)
		default:
			r.toDo(r.line, "shardingTotalCount is missing; 1 was set")
		}
		return 1
	}
	return n
}

// takeBool returns a setting that is true or false. If it is neither, takeBool returns byDefault, with a remark if the
// setting is given.
func (r *liteJobReader) takeBool(name string, byDefault bool) bool {
	s, given := r.settings[name]
	value, err := strconv.ParseBool(strings.TrimSpace(r.take(name)))
	if err != nil {
		if given && s.text != "" {
			r.toDo(s.line, "%s %q must be true or false; %v was set", s.key, s.text, byDefault)
		}
		return byDefault
	}
	return value
}

// takeZone sets the time zone.
func (r *liteJobReader) takeZone() {
	if zone := r.take("timezone"); zone != "" {
		r.d.Job.TimeZone = jobs.JavaZone(zone)
	}
}

// takeProps sets the properties. It replaces secrets in them, because definitions are meant to be kept in git.
func (r *liteJobReader) takeProps() {
	for _, name := range slices.Sorted(maps.Keys(r.props)) {
		value := r.props[name]
		setProp(r.d, name, value.text)
		if shown := r.d.Job.WithoutSecrets().Props[name].Value; shown != value.text {
			setProp(r.d, name, shown)
			verb := "contains"
			if shown == secrets.Hidden {
				verb = "is"
			}
			r.toDo(value.line, "props.%s %s %s", name, verb, hiddenHere)
		}
	}
}

// takeProgram sets what the job runs: a script or a request. It adds a remark if the job is a class in Java, if its
// type is not known, or if its script or request is missing.
func (r *liteJobReader) takeProgram() {
	jobType := r.take("elasticjobtype") + r.take("jobtype")
	kind := strings.ToUpper(jobType)
	class := strings.TrimSpace(r.take("elasticjobclass") + " " + r.take("jobclass") + " " + r.take("class") + " " +
		r.take("jobref"))
	if r.takeBool("streamingprocess", false) {
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
		r.toDo(r.line, "a script job must have %s: give its command in props", jobs.PropScript)
	case kind == "HTTP" && !isHTTP:
		r.toDo(r.line, "an HTTP job must have %s: give its address in props", jobs.PropHTTPURL)
	case isHTTP:
	case kind != "" && kind != "SIMPLE" && kind != "DATAFLOW":
		r.toDo(r.line, "the type %s is not known: set props %s to the command that runs a shard", jobType,
			jobs.PropScript)
	default:
		if class != "" {
			class = " " + class
		}
		r.toDo(r.line, "its class or bean%s is Java in a long-running program: the app's package needs a program that runs it for one shard, given in ELASTICJOB_SHARDING_CONTEXT", class)
	}
}

// takeHandlers sets the error handler, and adds remarks about handlers and listeners that are classes in Java.
func (r *liteJobReader) takeHandlers() {
	if handler := r.take("joberrorhandlertype"); handler != "" {
		r.d.Job.JobErrorHandlerType = handler
	}
	s := r.settings["jobexceptionhandler"]
	if handler := r.take("jobexceptionhandler"); handler != "" {
		r.toDo(s.line, "the exception handler %s is a class: set jobErrorHandlerType to one of LOG, EMAIL, WECHAT, DINGTALK and WEBHOOK", handler)
	}
	r.listeners = append(r.listeners, strings.FieldsFunc(r.take("joblistenertypes")+","+r.take("joblistenerrefs"),
		func(c rune) bool { return strings.ContainsRune(",[] ", c) })...)
	if len(r.listeners) > 0 {
		r.toDo(r.line, "listeners (%s) have no counterpart: let the job's program do their work",
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

// unsupported are settings whose effect has no counterpart, with advice.
var unsupported = map[string]string{
	"jobshardingstrategytype":  "shards are placed by the CPU and memory that they need, and not bound to machines",
	"jobshardingstrategyclass": "shards are placed by the CPU and memory that they need, and not bound to machines",
	"staticsharding":           "shards are not bound to machines",
	"jobextraconfigurations":   "let the job's program read what it needs from env or props",
	"jobproperties":            "the handlers that it names are classes; set jobErrorHandlerType",
	"extraconfigurations":      "let the job's program read what it needs from env or props",
}

// reportRest adds remarks about the settings that were not converted.
func (r *liteJobReader) reportRest() {
	if s := r.settings["monitorexecution"]; s.text == "false" {
		r.note(s.line, r.d.Name(), "monitorExecution: false has no effect: executions are always monitored, so that runs never overlap")
		delete(r.settings, "monitorexecution")
	}
	delete(r.settings, "jobname")
	delete(r.settings, "id")
	r.leave(record{r.line, r.settings}, needless...)
	for _, name := range slices.Sorted(maps.Keys(r.settings)) {
		s := r.settings[name]
		first, _, _ := strings.Cut(name, ".")
		advice, known := unsupported[first]
		switch {
		case s.text == "" || s.text == "false" || s.text == "[]" || s.text == "{}":
		case known:
			r.toDo(s.line, "%s has no counterpart: %s", s.key, advice)
		default:
			r.toDo(s.line, "%s is not known, and left out: %s", s.key, shownValue(s))
		}
	}
}
