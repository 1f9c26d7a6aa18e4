package app

import (
	"strings"

	"github.com/elasticjob-go/elasticjob/document"
	"github.com/elasticjob-go/elasticjob/secrets"
)

// secretive are the texts that may have secrets in URLs, such as the token of a signed one, by field.
func (c *Config) secretive() map[string]*string {
	return map[string]*string{"appURL": &c.AppURL, "bootstrapScript": &c.BootstrapScript}
}

// WithoutSecrets is the document as people may see it.
func (c Config) WithoutSecrets() Config {
	for _, text := range c.secretive() {
		*text = secrets.HideURLs(*text)
	}
	return c
}

// KeepSecrets is a document that replaces stored: what of its secrets is hidden, since it was made from WithoutSecrets, is as it was.
func (c Config) KeepSecrets(stored Config) Config {
	before := stored.secretive()
	for field, text := range c.secretive() {
		if strings.Contains(*text, secrets.Hidden) && *text == secrets.HideURLs(*before[field]) {
			*text = *before[field]
		}
	}
	return c
}

// checkPlaceholders refuses what answers show in place of secrets.
func (c Config) checkPlaceholders() (bad document.Violations) {
	for _, field := range []string{"appURL", "bootstrapScript"} {
		if text := *c.secretive()[field]; (document.Text{Value: text}).IsPlaceholder("") {
			bad = append(bad, document.Violate(field, text, "%s", document.PlaceholderMessage))
		}
	}
	return bad
}

// Notes are hints about what is legal in the document but may not be meant.
func (c Config) Notes() []string { return ExposureNotes("bootstrapScript", c.BootstrapScript) }

// ExposureNotes warns of secrets in URLs of a field's text that becomes part of a process's command line, which every
// user of the agent can read. The notes don't have the secrets.
func ExposureNotes(field, text string) []string {
	if len(secrets.InURLs(text)) == 0 {
		return nil
	}
	return []string{field + " has a password or token in a URL: it is on the command line of the job's processes, which " +
		"all users of the agent can read. Put it into a variable of the job's env, best with fromFile, and let the " +
		"program read that"}
}
