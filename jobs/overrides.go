package jobs

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/secrets"
)

// Overrides are what one run of a job has of its own, instead of the job's: the body of a trigger.
type Overrides struct {
	// JobParameter and ShardingItemParameters are nil where the job's hold.
	JobParameter           *string `json:"jobParameter,omitempty"`
	ShardingItemParameters *string `json:"shardingItemParameters,omitempty"`
	// Env are variables beside the job's own; one of the same name comes instead of the job's.
	Env document.Texts `json:"env,omitempty"`
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

// HasSecretParameters reports whether the parameters have secrets, such as the password of a URL.
func (o Overrides) HasSecretParameters() bool {
	for _, text := range []*string{o.JobParameter, o.ShardingItemParameters} {
		if text != nil && len(secrets.InURLs(*text)) > 0 {
			return true
		}
	}
	return false
}

// Apply is the job's document as the run has it. The job's own is not changed; what it marks as a secret is one in the
// run, too.
func (o Overrides) Apply(c Config) Config {
	if o.JobParameter != nil {
		c.JobParameter = *o.JobParameter
	}
	if o.ShardingItemParameters != nil {
		c.ShardingItemParameters = *o.ShardingItemParameters
	}
	if len(o.Env) > 0 {
		env := make(document.Texts, len(c.Env)+len(o.Env))
		maps.Copy(env, c.Env)
		for name, text := range o.Env {
			text.Secret = text.Secret || env[name].Secret && !text.IsReference()
			env[name] = text
		}
		c.Env = env
	}
	return c
}

// KeepSecrets is the overrides with the job's own secrets where they are hidden as in its document. Nothing that can
// be overridden says where they are sent.
func (o Overrides) KeepSecrets(c Config) Overrides {
	kept, _ := o.Apply(c).KeepSecrets(c)
	return o.as(kept)
}

// WithoutSecrets is the overrides as people may see them, of a run of that job: what it marks as a secret is hidden
// here, too.
func (o Overrides) WithoutSecrets(c Config) Overrides { return o.as(o.Apply(c).WithoutSecrets()) }

// as is the same settings with the values that a document has for them.
func (o Overrides) as(c Config) Overrides {
	if o.JobParameter != nil {
		o.JobParameter = &c.JobParameter
	}
	if o.ShardingItemParameters != nil {
		o.ShardingItemParameters = &c.ShardingItemParameters
	}
	o.Env = maps.Clone(o.Env)
	for name := range o.Env {
		o.Env[name] = c.Env[name]
	}
	return o
}

// Check returns all rules that the overridden fields break in a run of that job: those of the job's own fields.
func (o Overrides) Check(c Config) document.Violations {
	if o.IsZero() {
		return nil
	}
	c = o.Apply(c)
	bad := slices.Concat(c.checkPlaceholders(), c.checkShards(), c.checkEnv())
	bad = append(bad.And(Schema.CheckText(c)), c.checkSize()...)
	return slices.DeleteFunc(bad, func(v document.Violation) bool {
		field, _, _ := strings.Cut(v.Field, ".")
		return field != "" && field != "env" && field != "jobParameter" && field != "shardingItemParameters"
	})
}
