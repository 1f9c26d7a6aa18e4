package sdk

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"
)

// sharding is the sharding context of ElasticJob-Cloud, in JSON.
type sharding struct {
	TaskID             string `json:"taskId"`
	JobName            string `json:"jobName"`
	ShardingTotalCount int    `json:"shardingTotalCount"`
	JobParameter       string `json:"jobParameter"`
	ShardingItem       int    `json:"shardingItem"`
	ShardingParameter  string `json:"shardingParameter"`
}

// shard returns a Shard with the values of the sharding context.
func (c sharding) shard() Shard {
	return Shard{
		JobName: c.JobName, Item: c.ShardingItem, Total: c.ShardingTotalCount,
		Parameter: c.ShardingParameter, JobParameter: c.JobParameter, TaskID: c.TaskID,
	}
}

// readRun decodes a message of type run.
func readRun(line []byte) (Shard, error) {
	var m struct {
		FireTime    time.Time         `json:"fireTime"`
		Source      Source            `json:"source"`
		Attempt     int               `json:"attempt"`
		ExecutionID string            `json:"executionId"`
		Context     sharding          `json:"context"`
		Props       map[string]string `json:"props"`
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return Shard{}, err
	}
	s := m.Context.shard()
	s.FireTime, s.Source, s.Attempt, s.ExecutionID, s.Props = m.FireTime, m.Source, m.Attempt, m.ExecutionID, m.Props
	return s, nil
}

// Environment variables that an executor sets.
const (
	pipeVariable    = "ELASTICJOB_PIPE"
	contextVariable = "ELASTICJOB_SHARDING_CONTEXT"
	// fileSuffix is the end of the name of another variable, which the executor sets instead if a value is too long
	// for a variable. It contains the path of a file with the value.
	fileSuffix = "_FILE"
)

// readVariable returns the value of a variable, from its file if it has one; "" if the variable is not set.
func readVariable(getenv func(string) string, name string) (string, error) {
	path := getenv(name + fileSuffix)
	if path == "" {
		return getenv(name), nil
	}
	value, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the file that %s%s names: %w", name, fileSuffix, err)
	}
	return string(value), nil
}

// readEnvironment returns the shard of a process that an executor started for one run.
func readEnvironment(getenv func(string) string) (Shard, error) {
	text, err := readVariable(getenv, contextVariable)
	if err != nil {
		return Shard{}, err
	}
	var context sharding
	if err := json.Unmarshal([]byte(text), &context); err != nil {
		return Shard{}, fmt.Errorf("read %s %q: %w", contextVariable, text, err)
	}
	s := context.shard()
	s.ExecutionID, s.Source = getenv("ELASTICJOB_EXECUTION_ID"), Source(getenv("ELASTICJOB_EXECUTION_SOURCE"))
	for name, read := range map[string]func(string) error{
		"ELASTICJOB_FIRE_TIME": func(text string) (err error) { s.FireTime, err = time.Parse(time.RFC3339, text); return err },
		"ELASTICJOB_ATTEMPT":   func(text string) (err error) { s.Attempt, err = strconv.Atoi(text); return err },
		"ELASTICJOB_PROPS":     func(text string) error { return json.Unmarshal([]byte(text), &s.Props) },
	} {
		text, err := readVariable(getenv, name)
		if err != nil {
			return Shard{}, err
		}
		if text != "" {
			if err := read(text); err != nil {
				return Shard{}, fmt.Errorf("read %s %q: %w", name, text, err)
			}
		}
	}
	return s, nil
}
