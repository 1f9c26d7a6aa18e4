package jobs

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/document"
)

// Overrides are what one run of a job has of its own, instead of the job's: the body of a trigger.
type Overrides struct {
	// JobParameter and ShardingItemParameters are nil where the job's hold.
	JobParameter           *string `json:"jobParameter,omitempty"`
	ShardingItemParameters *string `json:"shardingItemParameters,omitempty"`
	// Env are variables beside the job's own; one of the same name comes instead of the job's.
	Env map[string]string `json:"env,omitempty"`
}

var overridesSchema = document.MustSchema[Overrides]("", nil)

// DecodeOverrides reads the body of a trigger; an empty one, {} and null values override nothing. Errors are those of
// document.Schema.Decode: with Violations the rest can still be checked.
func DecodeOverrides(body []byte) (Overrides, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return Overrides{}, nil
	}
	o, _, err := overridesSchema.Decode(body, Overrides{})
	return o, err
}

// IsZero reports whether nothing is overridden.
func (o Overrides) IsZero() bool {
	return o.JobParameter == nil && o.ShardingItemParameters == nil && len(o.Env) == 0
}

// Apply is the job's document as the run has it. The job's own is not changed.
func (o Overrides) Apply(c Config) Config {
	if o.JobParameter != nil {
		c.JobParameter = *o.JobParameter
	}
	if o.ShardingItemParameters != nil {
		c.ShardingItemParameters = *o.ShardingItemParameters
	}
	if len(o.Env) > 0 {
		env := make(map[string]string, len(c.Env)+len(o.Env))
		maps.Copy(env, c.Env)
		maps.Copy(env, o.Env)
		c.Env = env
	}
	return c
}

// Check returns all rules that the overridden fields break in a run of that job: those of the job's own fields.
func (o Overrides) Check(c Config) document.Violations {
	if o.IsZero() {
		return nil
	}
	c = o.Apply(c)
	bad := append(c.checkShards(), c.checkEnv()...)
	bad = append(bad.And(Schema.CheckText(c)), c.checkSize()...)
	return slices.DeleteFunc(bad, func(v document.Violation) bool {
		field, _, _ := strings.Cut(v.Field, ".")
		return field != "" && field != "env" && field != "jobParameter" && field != "shardingItemParameters"
	})
}
