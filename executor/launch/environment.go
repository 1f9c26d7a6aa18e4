package launch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// TaskVariable is also how the supervisor knows a task's processes.
const TaskVariable = "ELASTICJOB_TASK_ID"

// contextVariable has the sharding context.
const contextVariable = "ELASTICJOB_SHARDING_CONTEXT"

// Environment is a process's environment. It is built from nothing: not a
// variable of the executor's own goes on.
type Environment map[string]string

// BaseEnvironment is that of a user's processes, nil for the executor's own.
func BaseEnvironment(as *isolation.Account) Environment {
	home := "/"
	if as != nil {
		home = cmp.Or(as.Home, home)
	} else if account, err := user.Current(); err == nil && account.HomeDir != "" {
		home = account.HomeDir
	}
	return Environment{
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME": home,
		"LANG": "C.UTF-8",
		"TZ":   "UTC",
		// Python writes beside the modules that it reads, and that is the package, not the working folder: where it
		// may, as root, each run would change the package.
		"PYTHONDONTWRITEBYTECODE": "1",
	}
}

// Places are a task's folders; root is that of its package, "" without one, and start the one that its process begins
// in.
type Places struct {
	Temporary, Work, Root, Start string
}

// Of adds the job's own variables, which may change what base says, and then ours, which they can't. A process that is
// not started for a run has a task without a source, and no variables of a run.
func (base Environment) Of(t wire.Task, at Places, shard string) Environment {
	env := maps.Clone(base)
	env["TMPDIR"] = at.Temporary
	maps.Copy(env, t.Env)
	env["ELASTICJOB_WORK_DIR"] = at.Work
	delete(env, "ELASTICJOB_PACKAGE_DIR")
	if at.Root != "" {
		env["ELASTICJOB_PACKAGE_DIR"] = at.Root
	}
	maps.Copy(env, Environment{
		contextVariable:                   shard,
		"ELASTICJOB_JOB_NAME":             t.JobName,
		TaskVariable:                      t.TaskID,
		"ELASTICJOB_SHARDING_ITEM":        strconv.Itoa(t.Item),
		"ELASTICJOB_SHARDING_PARAMETER":   t.ShardingParameter,
		"ELASTICJOB_SHARDING_TOTAL_COUNT": strconv.Itoa(t.Total),
		"ELASTICJOB_JOB_PARAMETER":        t.JobParameter,
		"ELASTICJOB_PROPS":                inJSON(t.Props),
		"ELASTICJOB_PIPE":                 "3,4",
	})
	ofRun := Environment{
		"ELASTICJOB_EXECUTION_SOURCE": t.Source,
		"ELASTICJOB_FIRE_TIME":        t.FireTime.UTC().Format("2006-01-02T15:04:05.000Z07:00"),
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

// List is the form that execve wants, sorted.
func (env Environment) List() []string {
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// MayBeLarge are the variables that hold what a job's document says, however long that is.
func MayBeLarge() []string {
	return []string{contextVariable, "ELASTICJOB_SHARDING_PARAMETER", "ELASTICJOB_JOB_PARAMETER", "ELASTICJOB_PROPS"}
}

// ShardContext is the original's sharding context.
func ShardContext(t wire.Task) (string, error) {
	for _, text := range append(slices.Collect(maps.Values(t.Env)), t.Command...) {
		if strings.ContainsRune(text, 0) {
			return "", fmt.Errorf("the command or environment of job %s holds a zero byte", t.JobName)
		}
	}
	return inJSON(struct {
		TaskID             string `json:"taskId"`
		JobName            string `json:"jobName"`
		ShardingTotalCount int    `json:"shardingTotalCount"`
		JobParameter       string `json:"jobParameter"`
		ShardingItem       int    `json:"shardingItem"`
		ShardingParameter  string `json:"shardingParameter"`
	}{t.TaskID, t.JobName, t.Total, t.JobParameter, t.Item, t.ShardingParameter}), nil
}

// inJSON writes texts and numbers, which JSON can always say, as people read them. Without any it is an empty object.
func inJSON(value any) string {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil || buffer.String() == "null\n" {
		return "{}"
	}
	return strings.TrimSuffix(buffer.String(), "\n")
}
