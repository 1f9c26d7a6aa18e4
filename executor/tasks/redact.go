package tasks

import (
	"slices"
	"strings"
	"sync"

	"github.com/elasticjob-go/elasticjob/internal/secrets"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// secretsOf returns the secret values in a task's description.
func secretsOf(spec wire.Task) (values []string) {
	maps := []map[string]string{spec.Env, spec.Props}
	if h := spec.HTTP; h != nil {
		maps = append(maps, map[string]string{"http.url": h.URL, "http.uri": h.URL, "http.data": h.Data,
			"http.proxy": h.Proxy})
		values = append(values, headerSecrets(h.Headers)...)
	}
	for _, texts := range maps {
		for name, value := range texts {
			values = append(values, secrets.Of(name, value, slices.Contains(spec.Secrets, name))...)
		}
	}
	commandLine := strings.Join(spec.Command, " ") // the program's name tells which options are secret
	for _, text := range append([]string{spec.JobParameter, spec.ShardingParameter, commandLine}, spec.Command...) {
		values = append(values, secrets.In(text)...)
	}
	return values
}

// headerSecrets returns the values of secret headers. It also returns the part of each value after the first word,
// because that word may be a scheme such as Bearer.
func headerSecrets(headers map[string]wire.Header) (values []string) {
	for _, h := range headers {
		if h.Secret && h.Value != "" {
			_, credentials, _ := strings.Cut(h.Value, " ")
			values = append(values, h.Value, credentials)
		}
	}
	return values
}

// redactor removes the secrets that a task was given from the texts that are reported about the task. It also removes
// the task's folders from the paths in these texts, because conf/app.yml is easier to read than a path into the
// sandbox. Any goroutine may use a redactor.
type redactor struct {
	mu      sync.Mutex
	secrets []string
	folders []string // each ends with a slash
}

// addFolders registers more folders; later calls of redact remove them from paths. It ignores the root and folders
// directly below it.
func (r *redactor) addFolders(folders ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range folders {
		if f += "/"; strings.Count(f, "/") > 2 && !slices.Contains(r.folders, f) {
			r.folders = append(slices.Clip(r.folders), f) // redact may be using the old slice
		}
	}
}

// add registers more secrets; later calls of redact remove them too.
func (r *redactor) add(more []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range more {
		if !slices.Contains(r.secrets, s) {
			r.secrets = append(slices.Clip(r.secrets), s) // redact may be using the old slice
		}
	}
}

// redact returns the text without the secrets and folders. A process may print or report the secrets that it was
// given.
func (r *redactor) redact(text string) string {
	r.mu.Lock()
	values, folders := r.secrets, r.folders
	r.mu.Unlock()
	for _, f := range folders {
		text = strings.ReplaceAll(text, f, "")
	}
	if len(values) == 0 {
		return text
	}
	return secrets.Redact(text, values)
}
