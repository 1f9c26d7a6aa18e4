package document

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/elasticjob-go/elasticjob/internal/secrets"
)

// Text is one entry of a map of texts. Most are plain texts, which documents store as strings so that the original can
// read them. Others are objects: {"value":"…","secret":true}, {"fromFile":"/path"} or {"fromEnv":"NAME"}.
type Text struct {
	// Value is the text. Secret means that no user may see it.
	Value  string
	Secret bool
	// FromFile and FromEnv name the file or the environment variable that contains the text. At most one of them is
	// set, and Value is then empty.
	FromFile, FromEnv string
}

// Texts are texts by name.
type Texts map[string]Text

// textObject is the format of a text that is not plain.
type textObject struct {
	Value    *string `json:"value,omitempty" yaml:"value,omitempty"`
	Secret   bool    `json:"secret,omitempty" yaml:"secret,omitempty"`
	FromFile string  `json:"fromFile,omitempty" yaml:"fromFile,omitempty"`
	FromEnv  string  `json:"fromEnv,omitempty" yaml:"fromEnv,omitempty"`
}

// IsReference reports whether a file or a variable contains the text.
func (t Text) IsReference() bool { return t.FromFile != "" || t.FromEnv != "" }

func (t Text) isPlain() bool { return t == Text{Value: t.Value} }

// form returns the value that is written for the text: a string or an object.
func (t Text) form() any {
	if t.isPlain() {
		return t.Value
	}
	o := textObject{Secret: t.Secret, FromFile: t.FromFile, FromEnv: t.FromEnv}
	if !t.IsReference() {
		o.Value = &t.Value
	}
	return o
}

// MarshalJSON writes the text as it is in documents. An outer encoder may escape it further.
func (t Text) MarshalJSON() ([]byte, error) { return EncodeJSON(t.form()) }

// UnmarshalJSON reads the output of MarshalJSON. Input from users is read by a Schema, which is strict.
func (t *Text) UnmarshalJSON(data []byte) error {
	*t = Text{}
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &t.Value)
	}
	var o textObject
	if err := json.Unmarshal(data, &o); err != nil {
		return fmt.Errorf("read a text: %w", err)
	}
	*t = Text{Secret: o.Secret, FromFile: o.FromFile, FromEnv: o.FromEnv}
	if o.Value != nil {
		t.Value = *o.Value
	}
	return nil
}

// node returns the text as YAML.
func (t Text) node() *yaml.Node {
	if t.isPlain() {
		return textNode(t.Value)
	}
	object := &yaml.Node{Kind: yaml.MappingNode}
	add := func(key string, value *yaml.Node) { object.Content = append(object.Content, textNode(key), value) }
	switch {
	case t.FromFile != "":
		add("fromFile", textNode(t.FromFile))
	case t.FromEnv != "":
		add("fromEnv", textNode(t.FromEnv))
	default:
		add("value", textNode(t.Value))
	}
	if t.Secret {
		add("secret", valueNode(true))
	}
	return object
}

// Shown returns the text as users may see it. The name shows whether the whole value is a secret.
func (t Text) Shown(name string) Text {
	switch {
	case t.Value == "":
	case t.Secret || secrets.IsName(name):
		t.Value = secrets.Hidden
	default:
		t.Value = secrets.Hide(t.Value)
	}
	return t
}

// Secrets returns those parts of the text that Shown hides.
func (t Text) Secrets(name string) []string { return secrets.Of(name, t.Value, t.Secret) }

// IsPlaceholder reports whether a secret of the text contains the placeholder that answers show instead of secrets.
// Such a text was copied from an answer, and the secret itself is missing.
func (t Text) IsPlaceholder(name string) bool {
	return slices.ContainsFunc(t.Secrets(name), func(s string) bool { return strings.Contains(s, secrets.Hidden) })
}

// PlaceholderMessage is the message of a violation for a placeholder that replaces no stored secret.
const PlaceholderMessage = "holds " + secrets.Hidden +
	", which answers show in place of a secret; give the secret itself"
