package tasks

import (
	"slices"
	"sync"

	"github.com/elasticjob-go/elasticjob/internal/secrets"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// secretsOf returns the secret values in a task's description.
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

// concealment removes the secrets that a task was given from the texts that are reported about the task. Any
// goroutine may use it.
type concealment struct {
	mu    sync.Mutex
	known []string
}

// add registers more secrets; later calls of hide remove them too.
func (c *concealment) add(more []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range more {
		if !slices.Contains(c.known, s) {
			c.known = append(slices.Clip(c.known), s)
		}
	}
}

// hide returns the text without the secrets. A process may print or report the secrets that it was given.
func (c *concealment) hide(text string) string {
	c.mu.Lock()
	known := c.known
	c.mu.Unlock()
	if len(known) == 0 {
		return text
	}
	return secrets.Redact(text, known)
}
