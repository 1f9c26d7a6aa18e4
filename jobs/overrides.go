package jobs

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/secrets"
)

// Overrides are settings of one run that replace those of its job. They are the body of a trigger.
type Overrides struct {
	// JobParameter and ShardingItemParameters are nil if the job's values apply.
	JobParameter           *string `json:"jobParameter,omitempty"`
	ShardingItemParameters *string `json:"shardingItemParameters,omitempty"`
	// Env are additional variables. They replace the job's variables of the same name.
	Env document.Texts `json:"env,omitempty"`
}

var overridesSchema = document.MustSchema[Overrides]("", nil)

// DecodeOverrides parses the body of a trigger. An empty body, {} and null values override nothing. The errors are
// those of document.Schema.Decode: if the error is Violations, the other fields are decoded and can be checked.
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

// HasSecretParameters reports whether the parameters contain secrets, such as the password in a URL or option.
func (o Overrides) HasSecretParameters() bool {
	for _, text := range []*string{o.JobParameter, o.ShardingItemParameters} {
		if text != nil && len(secrets.In(*text)) > 0 {
			return true
		}
	}
	return false
}

// Apply returns the job's document with the overrides. It does not change c. A variable that the job marks as a secret
// is also a secret in the run.
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

// KeepSecrets replaces the placeholders in overrides by the secrets of the job c. It returns no violations, because
// overrides can't change where secrets are sent.
func (o Overrides) KeepSecrets(c Config) Overrides {
	kept, _ := o.Apply(c).KeepSecrets(c)
	return o.withValuesOf(kept)
}

// WithoutSecrets returns the overrides of a run of the job c with their secrets hidden, so that users may see them. It
// also hides the texts that the job marks as secrets.
func (o Overrides) WithoutSecrets(c Config) Overrides {
	return o.withValuesOf(o.Apply(c).WithoutSecrets())
}

// withValuesOf returns overrides of the same settings, with the values of a document.
func (o Overrides) withValuesOf(c Config) Overrides {
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

// Check checks a run of the job c with these overrides by the rules of the job's document. It returns the violations of
// fields that overrides can set, and of the size of the run.
func (o Overrides) Check(c Config) document.Violations {
	if o.IsZero() {
		return nil
	}
	inForce := c
	c = o.Apply(c)
	bad := slices.Concat(c.checkPlaceholders(), c.checkShards(&inForce), c.checkEnv())
	bad = append(bad.And(Schema.CheckText(c)), c.checkSize()...)
	return slices.DeleteFunc(bad, func(v document.Violation) bool {
		field, _, _ := strings.Cut(v.Field, ".")
		return field != "" && field != "env" && field != "jobParameter" && field != "shardingItemParameters"
	})
}
