package conformance

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	complete "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/api/access"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/test/jsonschema"
)

// The schema of OpenAPI 3.1 documents, from https://spec.openapis.org/oas/3.1/schema/2022-10-07 (Apache License 2.0).
//
//go:embed openapi-3.1.json
var openAPI []byte

// address is the address under which this test compiles schemas.
const address = "https://elasticjob.test/schema.json"

// nobody is an access without users, which permits everything.
type nobody struct{ access.Access }

func (nobody) State() auth.State { return auth.Empty }

// leader is a scheduler that leads and does nothing.
type leader struct{ api.Scheduler }

func (leader) Health() scheduler.Health { return scheduler.Health{Leading: true} }

// description returns the answer of GET /api/openapi.json.
func description(t *testing.T) []byte {
	t.Helper()
	server := httptest.NewServer(api.New(api.Options{Scheduler: leader{}, Access: nobody{}}))
	defer server.Close()
	answer, err := server.Client().Get(server.URL + "/api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%d %s, %v", answer.StatusCode, text, err)
	}
	return text
}

// compile compiles the schema at a JSON pointer into a document.
func compile(t *testing.T, document any, pointer string) *complete.Schema {
	t.Helper()
	c := complete.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(address, document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(address + pointer)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// value decodes a JSON value.
func value(t *testing.T, text []byte) any {
	t.Helper()
	v, err := complete.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func TestTheDescriptionIsOpenAPI(t *testing.T) {
	t.Parallel()
	rules, document := compile(t, value(t, openAPI), ""), value(t, description(t))
	if err := rules.Validate(document); err != nil {
		t.Error(err)
	}
	delete(document.(map[string]any), "info")
	if rules.Validate(document) == nil {
		t.Error("a description without info is accepted")
	}
}

// closeObjects makes schemas forbid fields that they do not name, unless they say otherwise, as test/jsonschema does.
func closeObjects(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			closeObjects(item)
		}
	case map[string]any:
		if _, ok := v["properties"].(map[string]any); ok && v["additionalProperties"] == nil {
			v["additionalProperties"] = false
		}
		for name, part := range v {
			if name != "example" {
				closeObjects(part)
			}
		}
	}
}

// TestSchemasAreReadAlike: for each schema of the description, test/jsonschema, which other tests use, accepts and
// rejects the same values as a complete implementation of JSON Schema: the examples, and the examples with one
// change.
func TestSchemasAreReadAlike(t *testing.T) {
	t.Parallel()
	var d struct {
		Paths map[string]map[string]struct {
			RequestBody struct{ Content map[string]media }
			Responses   map[string]struct{ Content map[string]media }
		}
		Components struct{ Schemas map[string]*jsonschema.Schema }
	}
	text := description(t)
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	for _, s := range d.Components.Schemas {
		if err := s.Resolve(d.Components.Schemas); err != nil {
			t.Error(err)
		}
	}
	document := value(t, text)
	closeObjects(document)
	p := pair{T: t, shared: d.Components.Schemas, document: document}
	for path, methods := range d.Paths {
		for method, o := range methods {
			at := "#/paths/" + pointer.Replace(path) + "/" + method
			for kind, m := range o.RequestBody.Content {
				p.compare(m, at+"/requestBody/content/"+pointer.Replace(kind)+"/schema")
			}
			for status, r := range o.Responses {
				for kind, m := range r.Content {
					p.compare(m, at+"/responses/"+status+"/content/"+pointer.Replace(kind)+"/schema")
				}
			}
		}
	}
	if p.accepted < 500 || p.refused < 5000 {
		t.Errorf("%d values were accepted and %d refused", p.accepted, p.refused)
	}
}

// pointer escapes a name for a JSON pointer in a URL.
var pointer = strings.NewReplacer("~", "~0", "/", "~1", "%", "%25", " ", "%20", "{", "%7B", "}", "%7D")

// media is a described body.
type media struct {
	Schema  *jsonschema.Schema
	Example json.RawMessage
}

// pair asks both implementations, and counts the values on which they agree.
type pair struct {
	*testing.T
	shared            map[string]*jsonschema.Schema
	document          any
	accepted, refused int
}

// compare compares the implementations for an example, and for the example with each single change. It does nothing
// for a body without an example.
func (p *pair) compare(m media, at string) {
	if m.Schema == nil || m.Example == nil {
		return
	}
	if err := m.Schema.Resolve(p.shared); err != nil {
		p.Fatalf("%s: %v", at, err)
	}
	standard := compile(p.T, p.document, at)
	example := value(p.T, m.Example)
	if err := standard.Validate(example); err != nil {
		p.Errorf("%s: the example: %v", at, err)
	}
	changes(example, func() { p.agree(m.Schema, standard, example, at) })
}

// agree compares the implementations for one value.
func (p *pair) agree(own *jsonschema.Schema, standard *complete.Schema, v any, at string) {
	got, want := own.Check(v), standard.Validate(v)
	if (got == nil) != (want == nil) {
		text, _ := json.Marshal(v)
		p.Fatalf("%s: %.2000s\ntest/jsonschema: %v\nJSON Schema: %v", at, text, got, want)
	}
	if want == nil {
		p.accepted++
	} else {
		p.refused++
	}
}

// changes calls do for a value, and for the value with each single change: a field removed or added, or a part
// replaced. It makes the changes in v itself, and undoes each after do.
func changes(v any, do func()) {
	do()
	others := []any{nil, true, "", "2026-03-04T05:06:07Z", strings.Repeat("x", 5000), json.Number("-1"),
		json.Number("0.5"), json.Number("1.0"), json.Number("1e12"), []any{}, map[string]any{}, []any{nil},
		map[string]any{"x": "y"}}
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			for _, v[i] = range others {
				do()
			}
			v[i] = item
			changes(item, do)
		}
	case map[string]any:
		for name, field := range v {
			delete(v, name)
			do()
			for _, other := range others {
				v[name] = other
				do()
			}
			v[name] = field
			changes(field, do)
		}
		v["no such field"] = true
		do()
		delete(v, "no such field")
	}
}

// TestKeywordsAreReadAlike: for each keyword, both implementations accept and reject the same values.
func TestKeywordsAreReadAlike(t *testing.T) {
	t.Parallel()
	p := pair{T: t}
	for _, tc := range []struct{ schema, accepted, refused string }{
		{`{"type":"integer","minimum":1,"maximum":3}`, `[1, 2.0, 3]`, `[0, 4, 1.5, "2", null, [1]]`},
		{`{"type":"number"}`, `[1, 1.5, -2e3]`, `["1", true, {}]`},
		{`{"type":["string","null"],"minLength":1,"maxLength":2}`, `["ä", "äö", null]`, `["", "abc", 1]`},
		{`{"type":"string","pattern":"^a+$"}`, `["a", "aa"]`, `["", "ab", 1]`},
		{`{"pattern":"b"}`, `["abc", 1, null]`, `["a"]`},
		{`{"enum":["a","b"]}`, `["a", "b"]`, `["c", 1, null, ["a"]]`},
		{`{"type":"string","format":"date-time"}`, `["2026-03-04T05:06:07Z", "2026-03-04T05:06:07.1+08:00"]`,
			`["2026-03-04", "2026-13-04T05:06:07Z", "05:06"]`},
		{`{"type":"string","format":"uri"}`, `["https://example.org/a?b#c", "file:///a"]`, `["", "/a", "a b", "%"]`},
		{`{"type":"array","items":{"type":"boolean"}}`, `[[], [true, false]]`, `[[1], [true, null], {}]`},
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, `[{"a":"b"}]`,
			`[{}, {"a":1}, {"a":"b","c":1}, {"A":"b"}, []]`},
		{`{"type":"object","properties":{"a":true},"additionalProperties":true}`, `[{"a":1}, {"b":null}]`, `[1]`},
		{`{"type":"object","properties":{},"additionalProperties":false}`, `[{}]`, `[{"a":1}]`},
		{`{"type":"object","additionalProperties":{"type":"integer"}}`, `[{}, {"a":1}]`, `[{"a":"1"}]`},
		{`{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}`, `[{"a":1}, {"b":1}, {"a":1,"b":1}]`,
			`[{}, {"c":1}]`},
		{`{"type":"object","properties":{"a":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null}}}`,
			`[{"a":1}, {"a":null}, {}]`, `[{"a":"1"}]`},
		{`{"type":"object","properties":{"a":false}}`, `[{}]`, `[{"a":null}]`},
		{`true`, `[1, null, {}]`, `[]`},
		{`{"title":"t","description":"d","deprecated":true}`, `[1, null]`, `[]`},
	} {
		var own jsonschema.Schema
		if err := json.Unmarshal([]byte(tc.schema), &own); err != nil {
			t.Fatal(err)
		}
		document := value(t, []byte(tc.schema))
		closeObjects(document)
		standard := compile(t, document, "")
		for _, list := range []string{tc.accepted, tc.refused} {
			for _, v := range value(t, []byte(list)).([]any) {
				if (own.Check(v) == nil) != (list == tc.accepted) {
					t.Errorf("%s of %v: %v", tc.schema, v, own.Check(v))
				}
				p.agree(&own, standard, v, tc.schema)
			}
		}
	}
}

// TestOtherSchemasAreNotRead: test/jsonschema does not ignore keywords that it does not know.
func TestOtherSchemasAreNotRead(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{`{"const":1}`, `{"items":{"uniqueItems":true}}`, `{"anyOf":[{"multipleOf":2}]}`,
		`{"properties":{"a":{"oneOf":[]}}}`, `{"type":"text"}`, `{"type":["string","any"]}`, `{"format":"email"}`,
		`{"pattern":"("}`, `{"enum":[1]}`, `[]`, `1`} {
		var s jsonschema.Schema
		if err := json.Unmarshal([]byte(schema), &s); err == nil {
			t.Errorf("%s was read", schema)
		}
	}
	shared := map[string]*jsonschema.Schema{"A": {Type: []string{"string"}}}
	for ref, found := range map[string]bool{
		"#/components/schemas/A": true, "#/components/schemas/B": false, "A": false,
	} {
		s := jsonschema.Schema{Items: &jsonschema.Schema{Ref: ref}}
		if err := s.Resolve(shared); (err == nil) != found {
			t.Errorf("%s: %v", ref, err)
		}
		if found && s.Check([]any{json.Number("1")}) == nil {
			t.Errorf("%s accepts a number", ref)
		}
	}
	for _, text := range []string{`{`, `{} {}`, ``} {
		if v, err := jsonschema.Decode([]byte(text)); err == nil {
			t.Errorf("%q is %v", text, v)
		}
	}
}
