package executor

import (
	"maps"
	"slices"

	"github.com/elasticjob-go/elasticjob/internal/secrets"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// withReferences is the task with the values of its references, read now; from now on they are hidden in what is
// reported of it.
func (t *task) withReferences(spec wire.Task) (wire.Task, error) {
	if len(spec.EnvFiles)+len(spec.EnvVariables) == 0 {
		return spec, nil
	}
	values, err := t.session.references.Resolve(spec)
	if err != nil {
		return spec, err
	}
	env := maps.Clone(values)
	for name, value := range spec.Env {
		env[name] = value
	}
	spec.Env = env
	t.conceal(slices.Collect(maps.Values(values)))
	return spec, nil
}

// secretsOf are the secrets in a task's description.
func secretsOf(spec wire.Task) (known []string) {
	every := []map[string]string{spec.Env, spec.Props}
	if r := spec.HTTP; r != nil {
		every = append(every, map[string]string{"http.url": r.URL, "http.uri": r.URL, "http.data": r.Data})
	}
	for _, texts := range every {
		for name, value := range texts {
			known = append(known, secrets.Of(name, value, slices.Contains(spec.Secrets, name))...)
		}
	}
	for _, text := range append([]string{spec.JobParameter, spec.ShardingParameter}, spec.Command...) {
		known = append(known, secrets.InURLs(text)...)
	}
	return known
}

// conceal has secrets hidden in all that is reported of the task from now on.
func (t *task) conceal(more []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range more {
		if !slices.Contains(t.concealed, s) {
			t.concealed = append(slices.Clip(t.concealed), s)
		}
	}
}

// hide is a text without the task's secrets: what a process says may hold what it was given.
func (t *task) hide(text string) string {
	t.mu.Lock()
	known := t.concealed
	t.mu.Unlock()
	if len(known) == 0 {
		return text
	}
	return secrets.Redact(text, known)
}
