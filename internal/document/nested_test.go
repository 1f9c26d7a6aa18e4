package document_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/elasticjob-go/elasticjob/internal/document"
)

type nested struct {
	Name string          `json:"name"`
	Tree document.Object `json:"tree,omitempty"`
	List document.List   `json:"list,omitempty"`
}

var nestedSchema = document.MustSchema[nested]("name", nil)

// Objects and lists mean the same in JSON, in YAML and in the registry, and equal ones are equal strings.
func TestNestedIsReadAndWritten(t *testing.T) {
	t.Parallel()
	want := nested{Name: "x", Tree: `{"a":[1,{"b":"no"},null,1.50],"c":{"d":true,"e":"<&>"},"f":"2026-01-01"}`,
		List: `["a","007"]`}
	for _, body := range []string{
		`{"name":"x","list":["a","007"],"tree":{"f":"2026-01-01","c":{"e":"<&>","d":true},"a":[1,{"b":"no"},null,1.50]}}`,
		`{ "tree" : {"c":{"e":"\u003c&>","d":true},"a":[ 1, {"b":"no"},null,1.50],"f":"2026-01-01"},"list":["a","\u0030\u00307"],"name":"x"}`,
	} {
		got, _, err := nestedSchema.Decode([]byte(body), nested{})
		if err != nil || got != want {
			t.Errorf("%s: %v %s", body, err, cmp.Diff(want, got))
		}
	}
	const inYAML = "list:\n  - a\n  - '007'\nname: x\ntree:\n  a:\n    - 1\n    - b: 'no'\n    - null\n    - 1.50\n  c:\n    d: true\n    e: <&>\n  f: '2026-01-01'\n"
	if diff := cmp.Diff(inYAML, string(nestedSchema.EncodeYAML(want))); diff != "" {
		t.Error(diff)
	}
	whole, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range []string{inYAML, string(whole),
		"name: x\nlist: [a, 007]\ntree: {f: 2026-01-01, a: [1, {b: no}, ~, 1.50], c: {d: true, e: <&>}}\n"} {
		got, notes, err := nestedSchema.DecodeStored([]byte(doc))
		if err != nil || len(notes) > 0 || got != want {
			t.Errorf("%s: %v %v %s", doc, err, notes, cmp.Diff(want, got))
		}
	}
	var again nested
	if err := json.Unmarshal(whole, &again); err != nil || again != want {
		t.Errorf("%v %s", err, cmp.Diff(want, again))
	}
	if texts := want.List.Texts(); !cmp.Equal(texts, []string{"a", "007"}) || document.ListOf(texts...) != want.List {
		t.Error(texts)
	}
}

// A given object or list replaces the old one as a whole; null and empty ones mean none.
func TestNestedIsReplacedWhole(t *testing.T) {
	t.Parallel()
	base := nested{Name: "x", Tree: `{"a":1,"b":2}`, List: `["a"]`}
	for body, want := range map[string]nested{
		`{"tree":{"c":3}}`:           {Name: "x", Tree: `{"c":3}`, List: `["a"]`},
		`{"list":["b","c"]}`:         {Name: "x", Tree: base.Tree, List: `["b","c"]`},
		`{"tree":null,"list":null}`:  {Name: "x"},
		`{"tree":{},"list":[]}`:      {Name: "x"},
		`{"name":"x"}`:               base,
		`{"tree":{"a":{},"b":null}}`: {Name: "x", Tree: `{"a":{},"b":null}`, List: `["a"]`},
	} {
		got, _, err := nestedSchema.Decode([]byte(body), base)
		if err != nil || got != want {
			t.Errorf("%s: %v %s", body, err, cmp.Diff(want, got))
		}
	}
	text, err := json.Marshal(nested{Name: "x"})
	if err != nil || string(text) != `{"name":"x"}` ||
		string(nestedSchema.EncodeYAML(nested{Name: "x"})) != "name: x\n" {
		t.Errorf("%s %v", text, err)
	}
}

func TestNestedIsRefused(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"tree":"{}"}`:                          "tree: an object is expected, found a string",
		`{"tree":[]}`:                            "tree: an object is expected, found an array",
		`{"tree":{"a":{"b":1,"b":2}}}`:           "tree.a.b: is given more than once",
		`{"tree":{"a":[{"b":1},{"c":1,"c":2}]}}`: "tree.a[1].c: is given more than once",
		`{"list":"a"}`:                           "list: a list of strings is expected, found a string",
		`{"list":{"a":1}}`:                       "list: a list of strings is expected, found an object",
		`{"list":["a",1,null]}`:                  "list[1]: a string is expected; list[2]: a string is expected",
		`{"tree":` + strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat(`}`, 40) + `}`: "nested too deep",
	} {
		_, _, err := nestedSchema.Decode([]byte(body), nested{})
		var bad document.Violations
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
	for doc, want := range map[string]string{
		"name: x\ntree: a\n":          `an object is expected, found "a"`,
		"name: x\ntree: [a]\n":        "an object is expected, found a list",
		"name: x\nlist: a\n":          `a list of strings is expected, found "a"`,
		"name: x\nlist: [[a]]\n":      "list[0]: a string is expected",
		"name: x\nlist: [~]\n":        "list[0]: a string is expected",
		"name: x\ntree: &a {b: *a}\n": "nested too deep",
	} {
		if _, _, err := nestedSchema.DecodeStored([]byte(doc)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", doc, err)
		}
	}
	for tree, wrong := range map[document.Object]bool{`{"a":"b\u0000"}`: true, `{"a":"b\\u0000"}`: false,
		`{"a":"\\\u0000"}`: true} {
		if bad := nestedSchema.CheckText(nested{Tree: tree}); (len(bad) > 0) != wrong {
			t.Errorf("%s: %v", tree, bad)
		}
	}
}

// Any JSON value survives the registry unchanged.
func TestNestedReadsBack(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"no", "~", "null", "1e3", "0x1F", "2026-01-01",
		"1:30", "", " a", "a: b", "- a", "#", "'", "\n", "<<", "*a", "&a", "!a", ".inf", "1_000"}))
	valid := rapid.Map(text, func(s string) string {
		return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""),
			"")
	})
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		scalars := []*rapid.Generator[any]{valid.AsAny(), rapid.Bool().AsAny(), rapid.Int64().AsAny(),
			rapid.Float64Range(-1e6, 1e6).AsAny(), rapid.Just(any(nil))}
		if depth > 0 {
			scalars = append(scalars, rapid.SliceOfN(value(depth-1), 0, 3).AsAny(),
				rapid.MapOfN(valid, value(depth-1), 0, 3).AsAny())
		}
		return rapid.OneOf(scalars...)
	}
	rapid.Check(t, func(t *rapid.T) {
		body, err := json.Marshal(map[string]any{"name": "x",
			"tree": rapid.MapOfN(valid, value(3), 0, 4).Draw(t, "tree"),
			"list": rapid.SliceOfN(valid, 0, 4).Draw(t, "list")})
		if err != nil {
			t.Fatal(err)
		}
		want, _, err := nestedSchema.Decode(body, nested{})
		if err != nil {
			t.Fatal(err)
		}
		inJSON, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range [][]byte{nestedSchema.EncodeYAML(want), inJSON} {
			if got, _, err := nestedSchema.DecodeStored(doc); err != nil || got != want {
				t.Fatalf("%s\n%v %s", doc, err, cmp.Diff(want, got))
			}
		}
	})
}
