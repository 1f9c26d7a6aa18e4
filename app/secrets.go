package app

import (
	"net/url"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/secrets"
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

// KeepSecrets returns a document that replaces stored, in which a secret that is hidden, because the document was
// made from WithoutSecrets, is as it was. It is kept only while the program that gets it comes from where it came
// from, and the pod around it is the same: in a pod every container may be given the package's URL and the script.
// The violations are the secrets that were not kept for that reason. Within that place whoever publishes the app says
// what its program does with them.
func (c Config) KeepSecrets(stored Config) (Config, document.Violations) {
	var bad document.Violations
	before := stored.secretive()
	isHidden := func(field string) bool {
		text := *c.secretive()[field]
		return strings.Contains(text, secrets.Hidden) && text == secrets.HideURLs(*before[field])
	}
	whole := c // the URL is one of those places, and may have a secret of its own
	if isHidden("appURL") {
		whole.AppURL = stored.AppURL
	}
	moved := whole.redirected(stored)
	for _, field := range []string{"appURL", "bootstrapScript"} {
		if !isHidden(field) {
			continue
		}
		text := c.secretive()[field]
		switch {
		case moved == "":
			*text = *before[field]
		case (document.Text{Value: *text}).IsPlaceholder(""):
			bad = append(bad, document.Violate(field, *text, "holds %s, which keeps the stored secret only while "+
				"the program comes from where it did, and %s says otherwise: "+
				"give the secret itself, or leave %s as it was",
				secrets.Hidden, moved, moved))
		}
	}
	return c, bad
}

// redirected names what says where the app's program comes from and which containers are given its URL and script,
// and names another host or repository than is stored; "" if nothing does. A template can say what program its pods
// run, what else runs beside it and how names are resolved there, so another one is another place.
func (c Config) redirected(stored Config) string {
	switch {
	case origin(c.AppURL) != origin(stored.AppURL):
		return "appURL"
	case repository(c.Image) != repository(stored.Image):
		return "image"
	case c.PodTemplate != stored.PodTemplate:
		return "podTemplate"
	}
	return ""
}

// origin is the scheme and the host of a URL; all of what is no URL.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Scheme + "://" + strings.ToLower(u.Host)
}

// repository is an image without its tag and digest.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		image = image[:colon]
	}
	return image
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

// ExposureNotes are hints about what is legal in the document but may not be meant.
func (c Config) ExposureNotes() []string { return ExposureNotes("bootstrapScript", c.BootstrapScript) }

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
