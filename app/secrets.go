package app

import (
	"net/url"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/secrets"
)

// secretive returns the texts that may contain secrets, such as the token of a signed URL, by field.
func (c *Config) secretive() map[string]*string {
	return map[string]*string{"appURL": &c.AppURL, "bootstrapScript": &c.BootstrapScript}
}

// WithoutSecrets returns the document as users may see it.
func (c Config) WithoutSecrets() Config {
	for _, text := range c.secretive() {
		*text = secrets.Hide(*text)
	}
	return c
}

// KeepSecrets returns a document that replaces stored. Secrets that are hidden in it, because it was created from
// WithoutSecrets, keep their stored values. They are kept only while the program that receives them has the same
// origin and the pod template is unchanged, because in a pod every container may be given the package's URL and the
// script. The violations name the secrets that were not kept for that reason. Within one origin, the publisher of the
// app decides what its program does with them.
func (c Config) KeepSecrets(stored Config) (Config, document.Violations) {
	var bad document.Violations
	before := stored.secretive()
	isHidden := func(field string) bool {
		text := *c.secretive()[field]
		return strings.Contains(text, secrets.Hidden) && text == secrets.Hide(*before[field])
	}
	whole := c // the URL is one of these settings, and may contain a secret itself
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

// redirected returns the name of a changed setting that decides where the app's program comes from, or which
// containers receive its URL and script; "" if there is none. For the URL only a change of scheme or host counts, and
// for the image a change of the repository. A template can choose the program, other containers and name resolution,
// so any change counts.
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

// origin returns the scheme and the host of a URL; the whole text if it is not a URL.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Scheme + "://" + strings.ToLower(u.Host)
}

// repository returns an image without its tag and digest.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		image = image[:colon]
	}
	return image
}

// checkPlaceholders refuses placeholders of secrets.
func (c Config) checkPlaceholders() (bad document.Violations) {
	for _, field := range []string{"appURL", "bootstrapScript"} {
		if text := *c.secretive()[field]; (document.Text{Value: text}).IsPlaceholder("") {
			bad = append(bad, document.Violate(field, text, "%s", document.PlaceholderMessage))
		}
	}
	return bad
}

// ExposureNotes returns notes about secrets in the bootstrap script.
func (c Config) ExposureNotes() []string { return ExposureNotes("bootstrapScript", c.BootstrapScript) }

// ExposureNotes warns of secrets in a text that becomes part of a process's command line, which every user of
// the agent can read. The notes do not contain the secrets.
func ExposureNotes(field, text string) []string {
	if len(secrets.In(text)) == 0 {
		return nil
	}
	return []string{field + " has a password or token in it: it is on the command line of the job's processes, which " +
		"all users of the agent can read. Put it into a variable of the job's env, best with fromFile, and let the " +
		"program read that"}
}
