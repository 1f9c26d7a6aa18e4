package tasks

import (
	"slices"
	"strings"
	"sync"

	"github.com/elasticjob-go/elasticjob/internal/secrets"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// secretsOf returns the secret values in a task's description.
func secretsOf(spec wire.Task) (known []string) {
	maps := []map[string]string{spec.Env, spec.Props}
	if h := spec.HTTP; h != nil {
		maps = append(maps, map[string]string{"http.url": h.URL, "http.uri": h.URL, "http.data": h.Data, "http.proxy": h.Proxy})
		known = append(known, headerSecrets(h.Headers)...)
	}
	for _, texts := range maps {
		for name, value := range texts {
			known = append(known, secrets.Of(name, value, slices.Contains(spec.Secrets, name))...)
		}
	}
	words := strings.Join(spec.Command, " ") // the program tells which options have secrets
	for _, text := range append([]string{spec.JobParameter, spec.ShardingParameter, words}, spec.Command...) {
		known = append(known, secrets.In(text)...)
	}
	return known
}

// headerSecrets returns the secret values of headers, and those after their scheme, such as Bearer.
func headerSecrets(headers map[string]wire.Header) (known []string) {
	for _, h := range headers {
		if h.Secret && h.Value != "" {
			_, credentials, _ := strings.Cut(h.Value, " ")
			known = append(known, h.Value, credentials)
		}
	}
	return known
}

// redactor removes the secrets that a task was given from the texts that are reported about the task, and the task's
// folders from the paths in them: conf/app.yml says more than the folder of a sandbox. Any goroutine may use it.
type redactor struct {
	mu      sync.Mutex
	known   []string
	folders []string // each ends with a slash
}

// addFolders registers more folders; later calls of redact shorten the paths of files in them.
func (r *redactor) addFolders(folders ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range folders {
		if f += "/"; strings.Count(f, "/") > 2 && !slices.Contains(r.folders, f) {
			r.folders = append(slices.Clip(r.folders), f)
		}
	}
}

// add registers more secrets; later calls of redact remove them too.
func (r *redactor) add(more []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range more {
		if !slices.Contains(r.known, s) {
			r.known = append(slices.Clip(r.known), s)
		}
	}
}

// redact returns the text without the secrets and folders. A process may print or report the secrets that it was given.
func (r *redactor) redact(text string) string {
	r.mu.Lock()
	known, folders := r.known, r.folders
	r.mu.Unlock()
	for _, f := range folders {
		text = strings.ReplaceAll(text, f, "")
	}
	if len(known) == 0 {
		return text
	}
	return secrets.Redact(text, known)
}
