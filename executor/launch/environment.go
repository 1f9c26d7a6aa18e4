package launch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// TaskVariable is the variable with the task's id. The supervisor recognizes a task's processes by it.
const TaskVariable = "ELASTICJOB_TASK_ID"

// contextVariable is the variable with the sharding context.
const contextVariable = "ELASTICJOB_SHARDING_CONTEXT"

// Environment is the environment of a process. It starts empty: processes inherit no variable of the executor.
type Environment map[string]string

// BaseEnvironment returns the environment that all processes of an account get. A nil account is the executor's own
// user. The environment has no HOME if the user has no home directory.
func BaseEnvironment(as *isolation.Account) Environment {
	home, name, uid := "", "", strconv.Itoa(os.Geteuid())
	if as != nil {
		home, name, uid = as.Home, as.Name, strconv.FormatUint(uint64(as.UID), 10)
	}
	entry := entryOf(uid)
	switch {
	case as != nil:
	case entry != nil:
		home, name = entry[5], entry[0]
	default: // the user is of a directory service, or of an image
		home, name = os.Getenv("HOME"), os.Getenv("USER")
	}
	env := Environment{
		"PATH":  "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"LANG":  "C.UTF-8",
		"SHELL": shellOf(entry),
		// Python writes bytecode beside the modules that it loads. If it may write to the package, as root, each run
		// would change the package.
		"PYTHONDONTWRITEBYTECODE": "1",
	}
	if home != "" {
		env["HOME"] = home
	}
	if name != "" && !strings.Contains(name, ":") { // an account given as uid:gid has no name
		env["LOGNAME"], env["USER"] = name, name
	}
	return env
}

// passwd is the file with the accounts of this machine.
const passwd = "/etc/passwd"

// entryOf returns the fields of the account with a uid: name, password, uid, gid, comment, home directory and shell. It
// returns nil if this machine's file does not have the account.
func entryOf(uid string) []string {
	text, err := os.ReadFile(passwd)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Split(strings.TrimSpace(line), ":"); len(fields) == 7 && fields[2] == uid {
			return fields
		}
	}
	return nil
}

// shellOf returns the shell of an account. If the account has none that runs commands, it returns /bin/sh, which cron
// uses for every job.
func shellOf(entry []string) string {
	const defaultShell = "/bin/sh"
	if entry == nil || !path.IsAbs(entry[6]) {
		return defaultShell
	}
	if slices.Contains([]string{"nologin", "false", "true", "sync"}, path.Base(entry[6])) {
		return defaultShell
	}
	return entry[6]
}

// zone returns the value of TZ for a task.
func zone(t wire.Task) string {
	if t.Daemon != nil && t.Daemon.TimeZone != "Local" {
		return cmp.Or(t.Daemon.TimeZone, "UTC")
	}
	return cmp.Or(t.TimeZone, "UTC")
}

// Places are a task's folders. Temporary is for temporary files, and Work is the working folder. Root is the folder of
// the package, or "" without a package. The task's process starts in Start.
type Places struct {
	Temporary, Work, Root, Start string
}

// Of returns the environment of a task's process. shard is the sharding context. The job's own variables override base
// and TZ, TMPDIR and HOME; the executor's variables, which begin with ELASTICJOB_, override everything. If the task has
// no source, the process is not started for a run, and Of leaves out the variables of a run.
func (base Environment) Of(t wire.Task, places Places, shard string) Environment {
	env := maps.Clone(base)
	if _, ok := env["TZ"]; !ok { // the image or the template of a pod may set it
		env["TZ"] = zone(t)
	}
	env["TMPDIR"] = places.Temporary
	if home := env["HOME"]; home == "" || home == "/" { // programs write there, and few users may write to /
		env["HOME"] = places.Temporary
	}
	maps.Copy(env, t.Env)
	env["ELASTICJOB_WORK_DIR"] = places.Work
	delete(env, "ELASTICJOB_PACKAGE_DIR")
	if places.Root != "" {
		env["ELASTICJOB_PACKAGE_DIR"] = places.Root
	}
	maps.Copy(env, Environment{
		contextVariable:                   shard,
		"ELASTICJOB_JOB_NAME":             t.JobName,
		TaskVariable:                      t.TaskID,
		"ELASTICJOB_SHARDING_ITEM":        strconv.Itoa(t.Item),
		"ELASTICJOB_SHARDING_PARAMETER":   t.ShardingParameter,
		"ELASTICJOB_SHARDING_TOTAL_COUNT": strconv.Itoa(t.Total),
		"ELASTICJOB_JOB_PARAMETER":        t.JobParameter,
		"ELASTICJOB_PROPS":                toJSON(t.Props),
		"ELASTICJOB_PIPE":                 "3,4",
	})
	if t.MemoryMB > 0 {
		env["ELASTICJOB_CPUS"] = strconv.FormatFloat(t.CPUs, 'f', -1, 64)
		env["ELASTICJOB_MEMORY_MB"] = strconv.Itoa(max(1, int(t.MemoryMB)))
	}
	if t.FencingToken > 0 {
		env["ELASTICJOB_FENCING_TOKEN"] = strconv.FormatInt(t.FencingToken, 10)
	}
	ofRun := Environment{
		"ELASTICJOB_EXECUTION_SOURCE": t.Source,
		"ELASTICJOB_FIRE_TIME":        wire.FormatFireTime(t.FireTime),
		"ELASTICJOB_EXECUTION_ID":     t.ExecutionID,
		"ELASTICJOB_ATTEMPT":          strconv.Itoa(t.Attempt),
	}
	for name, value := range ofRun {
		delete(env, name)
		if t.Source != "" {
			env[name] = value
		}
	}
	return env
}

// List returns the environment as sorted entries NAME=value, as execve takes them.
func (env Environment) List() []string {
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// MayBeLarge returns the names of variables whose values come from a job's document and have no limit of length.
func MayBeLarge() []string {
	return []string{contextVariable, "ELASTICJOB_SHARDING_PARAMETER", "ELASTICJOB_JOB_PARAMETER", "ELASTICJOB_PROPS"}
}

// ShardContext returns the sharding context in the format of the original, as JSON. It returns an error if the
// command or the environment contains a zero byte.
func ShardContext(t wire.Task) (string, error) {
	for _, text := range append(slices.Collect(maps.Values(t.Env)), t.Command...) {
		if strings.ContainsRune(text, 0) {
			return "", fmt.Errorf("the command or environment of job %s contains a zero byte", t.JobName)
		}
	}
	return toJSON(struct {
		TaskID             string `json:"taskId"`
		JobName            string `json:"jobName"`
		ShardingTotalCount int    `json:"shardingTotalCount"`
		JobParameter       string `json:"jobParameter"`
		ShardingItem       int    `json:"shardingItem"`
		ShardingParameter  string `json:"shardingParameter"`
	}{t.TaskID, t.JobName, t.Total, t.JobParameter, t.Item, t.ShardingParameter}), nil
}

// toJSON encodes a value that contains only texts and numbers, without escapes for HTML. It returns {} for a nil map.
func toJSON(value any) string {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil || buffer.String() == "null\n" {
		return "{}"
	}
	return strings.TrimSuffix(buffer.String(), "\n")
}
