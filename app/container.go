package app

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/document"
)

// PullPolicies are the values of imagePullPolicy besides the empty one.
var PullPolicies = []string{"Always", "IfNotPresent", "Never"}

// ContainerFields returns the container settings. Only a cluster that runs each task in its own container accepts
// them.
func ContainerFields() []string {
	return []string{"image", "imagePullPolicy", "imagePullSecrets", "podTemplate"}
}

// Limits of an app's container settings. MaxTemplateBytes limits podTemplate, which is copied into each of the app's
// pods.
const (
	MaxImageBytes    = 512
	MaxPullSecrets   = 20
	MaxTemplateBytes = 64 << 10
)

// imagePattern matches an image reference as container runtimes parse it: an optional host, a path, an optional tag
// and an optional digest.
const imagePattern = `^(([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(:[0-9]+)?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(@sha256:[0-9a-f]{64})?$`

var (
	image = regexp.MustCompile(imagePattern)
	// secretName matches the name of a Kubernetes Secret: a DNS subdomain.
	secretName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
)

// CheckImage checks the name of an image, without checking that the image exists.
func CheckImage(name string) error {
	switch {
	case len(name) > MaxImageBytes:
		return fmt.Errorf("is longer than %d bytes", MaxImageBytes)
	case strings.Contains(name, "://"):
		return errors.New("must be without a scheme, such as registry.example/my-job:1.2")
	case !image.MatchString(name):
		return errors.New("is not an image; it should look like registry.example/my-job:1.2")
	}
	return nil
}

// checkContainer checks the app's container settings.
func (c Config) checkContainer(opts CheckOptions) (bad document.Violations) {
	if opts.NoContainers {
		return c.refuseContainer()
	}
	violate := func(field, value, format string, args ...any) {
		// Violate gets no field name, because the name imagePullSecrets would make it hide the value. The names of
		// Secrets are public.
		violation := document.Violate("", value, format, args...)
		violation.Field = field
		bad = append(bad, violation)
	}
	if c.Image != "" {
		if err := CheckImage(c.Image); err != nil {
			violate("image", c.Image, "%s", err)
		}
	}
	if c.ImagePullPolicy != "" && !slices.Contains(PullPolicies, c.ImagePullPolicy) {
		violate("imagePullPolicy", c.ImagePullPolicy, "must be %s, or empty", strings.Join(PullPolicies, ", "))
	}
	names := c.ImagePullSecrets.Texts()
	if len(names) > MaxPullSecrets {
		violate("imagePullSecrets", "", "has %d names, at most %d are taken", len(names), MaxPullSecrets)
		names = nil
	}
	for i, name := range names {
		field := fmt.Sprintf("imagePullSecrets[%d]", i)
		switch {
		case !secretName.MatchString(name):
			violate(field, name, "is not a name of a Secret: lower-case letters, digits, '-' and '.'")
		case slices.Contains(names[:i], name):
			violate(field, name, "is given more than once")
		}
	}
	switch {
	case c.PodTemplate == "":
	case len(c.PodTemplate) > MaxTemplateBytes:
		violate("podTemplate", "", "is longer than %d KiB", MaxTemplateBytes>>10)
	case opts.PodTemplate != nil:
		bad = append(bad, opts.PodTemplate([]byte(c.PodTemplate))...)
	}
	return bad
}

// refuseContainer returns a violation for each container setting of the app. The violations show the values of the
// short settings only.
func (c Config) refuseContainer() (bad document.Violations) {
	refuse := func(field, value string) {
		bad = append(bad, document.Violate(field, value, "works on Kubernetes only, and this server runs jobs "+
			"elsewhere: leave it out, or publish the app on a server with --kubernetes"))
	}
	if c.Image != "" {
		refuse("image", c.Image)
	}
	if c.ImagePullPolicy != "" {
		refuse("imagePullPolicy", c.ImagePullPolicy)
	}
	if strings.Join(c.ImagePullSecrets.Texts(), ", ") != "" {
		refuse("imagePullSecrets", "")
	}
	if c.PodTemplate != "" {
		refuse("podTemplate", "")
	}
	return bad
}
