package app

import (
	"net/url"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/secrets"
)

// secretTexts returns the texts of the document that may contain secrets, such as the token of a signed URL, by field.
func (c *Config) secretTexts() map[string]*string {
	return map[string]*string{"appURL": &c.AppURL, "bootstrapScript": &c.BootstrapScript}
}

// WithoutSecrets returns the document with its secrets hidden, so that users may see it.
func (c Config) WithoutSecrets() Config {
	for _, text := range c.secretTexts() {
		*text = secrets.Hide(*text)
	}
	return c
}

// KeepSecrets returns a document that replaces stored. A text whose secrets are hidden, because the document was made
// from a result of WithoutSecrets, gets its stored value again.
//
// A text gets its stored value only while the program that receives the secrets comes from the same origin, and the
// pod template is unchanged, because in a pod every container may be given the package's URL and the script. The
// violations name the other texts with hidden secrets. Within one origin, the publisher of the app decides what its
// program does with the secrets.
func (c Config) KeepSecrets(stored Config) (Config, document.Violations) {
	var bad document.Violations
	before := stored.secretTexts()
	isHidden := func(field string) bool {
		text := *c.secretTexts()[field]
		return strings.Contains(text, secrets.Hidden) && text == secrets.Hide(*before[field])
	}
	restored := c // with the stored URL, so that a hidden secret of the URL does not count as a change
	if isHidden("appURL") {
		restored.AppURL = stored.AppURL
	}
	changedField := restored.redirected(stored)
	for _, field := range []string{"appURL", "bootstrapScript"} {
		if !isHidden(field) {
			continue
		}
		text := c.secretTexts()[field]
		switch {
		case changedField == "":
			*text = *before[field]
		case (document.Text{Value: *text}).IsPlaceholder(""):
			bad = append(bad, document.Violate(field, *text, "holds %s, which keeps the stored secret only while "+
				"the program comes from where it did, and %s says otherwise: "+
				"give the secret itself, or leave %s as it was",
				secrets.Hidden, changedField, changedField))
		}
	}
	return c, bad
}

// redirected returns the name of a setting that differs from stored and that decides where the app's program comes
// from, or which containers receive the app's URL and script; "" if there is none. For the URL only a change of scheme
// or host counts, and for the image a change of the repository. A template can choose the program, further containers
// and the name resolution, so each of its changes counts.
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

// origin returns the scheme and the host of a URL; the whole text if the text is not a URL.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Scheme + "://" + strings.ToLower(u.Host)
}

// repository returns the name of an image without tag and digest.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		image = image[:colon]
	}
	return image
}

// checkPlaceholders refuses texts that contain a placeholder where a secret should be.
func (c Config) checkPlaceholders() (bad document.Violations) {
	for _, field := range []string{"appURL", "bootstrapScript"} {
		if text := *c.secretTexts()[field]; (document.Text{Value: text}).IsPlaceholder("") {
			bad = append(bad, document.Violate(field, text, "%s", document.PlaceholderMessage))
		}
	}
	return bad
}

// ExposureNotes returns notes about secrets in the bootstrap script.
func (c Config) ExposureNotes() []string { return ExposureNotes("bootstrapScript", c.BootstrapScript) }

// ExposureNotes returns a warning if a text contains a secret. The text becomes part of a process's command line,
// which every user of the agent can read. The warning does not contain the secret.
func ExposureNotes(field, text string) []string {
	if len(secrets.In(text)) == 0 {
		return nil
	}
	return []string{field + " has a password or token in it: it is on the command line of the job's processes, which " +
		"all users of the agent can read. Put it into a variable of the job's env, best with fromFile, and let the " +
		"program read that"}
}
