package jobs

import (
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/document"
)

// recipients is the content of the server's --notify-file: two fields of a job, with the same meaning.
type recipients struct {
	JobErrorHandlerType string         `json:"jobErrorHandlerType,omitempty"`
	Props               document.Texts `json:"props,omitempty"`
}

var recipientsSchema = document.MustSchema[recipients]("", nil)

// DecodeRecipients parses and checks the settings by which operators are notified, a JSON object. It returns a Config
// that has only these fields, and whose Notifies returns true. The error is Violations with everything that is wrong,
// or that of document.Schema.Decode. It contains no secrets.
func DecodeRecipients(text []byte) (Config, error) {
	r, _, err := recipientsSchema.Decode(text, recipients{})
	c := Config{JobErrorHandlerType: r.JobErrorHandlerType, Props: r.Props}
	if err != nil {
		return Config{}, err
	}
	bad, _ := c.checkProps()
	if !c.Notifies() {
		bad = append(bad, document.Violate("jobErrorHandlerType", c.JobErrorHandlerType, "must be one of %s",
			strings.Join(notifyingHandlers(), ", ")))
	}
	for name := range c.Props {
		if f := familyOf(name); f == nil || f.handler == "" {
			bad = append(bad, document.Violate("props."+name, "", "is not a property of an error handler"))
		}
	}
	if len(bad) > 0 {
		slices.SortFunc(bad, func(a, b document.Violation) int { return strings.Compare(a.Field, b.Field) })
		return Config{}, bad
	}
	return c, nil
}
