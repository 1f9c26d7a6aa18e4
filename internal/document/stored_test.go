package document

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// everything has a field of each type.
type everything struct {
	Name  string  `json:"name"`
	Text  string  `json:"text"`
	Extra string  `json:"extra,omitempty"`
	On    bool    `json:"on1" default:"true"`
	Size  float64 `json:"size" default:"1"`
	Count int     `json:"count"`
	Map   Texts   `json:"map,omitempty"`
}

func everythingSchema() *Schema[everything] {
	return MustSchema[everything]("name", map[string]string{"old": "is ignored: it is old"})
}

func TestDecodeStored(t *testing.T) {
	t.Parallel()
	base := everythingSchema().Default()
	with := func(change func(*everything)) everything { c := base; change(&c); return c }
	text := func(s string) everything { return with(func(c *everything) { c.Text = s }) }
	count := func(n int) everything { return with(func(c *everything) { c.Count = n }) }
	size := func(n float64) everything { return with(func(c *everything) { c.Size = n }) }
	on := func(b bool) everything { return with(func(c *everything) { c.On = b }) }
	entries := func(m Texts) everything { return with(func(c *everything) { c.Map = m }) }
	for doc, want := range map[string]everything{
		// Texts stay texts, whatever they look like (Norway, octals, versions, dates).
		"text: no\n":                      text("no"),
		"text: 0123\n":                    text("0123"),
		"text: 1.10\n":                    text("1.10"),
		"text: 2026-01-01\n":              text("2026-01-01"),
		"text: 12:30\n":                   text("12:30"),
		"text: 'null'\n":                  text("null"),
		"text: null\n":                    base,
		"text: ~\n":                       base,
		"text:\n":                         base,
		"text: !!str null\n":              text("null"),
		"text: 'it''s # no: comment'":     text("it's # no: comment"),
		"text: a b # a comment\n":         text("a b"),
		"text: a\n  b\n\n  c\n":           text("a b\nc"),
		"text: |-\n  a\n   b\n\n  c\n":    text("a\n b\n\nc"),
		"text: |\n  a\n":                  text("a\n"),
		"text: >-\n  a\n  b\n":            text("a b"),
		"text: \"a\\tb\\u00e9\\\n  c\"\n": text("a\tbéc"),
		"text: 'a\n  b'\n":                text("a b"),
		"text: &x a\nextra: *x\n":         with(func(c *everything) { c.Text, c.Extra = "a", "a" }),
		"text: a\r\ncount: 2\r\n":         with(func(c *everything) { c.Text, c.Count = "a", 2 }),
		// Numbers of YAML 1.1.
		"count: 12\n":    count(12),
		"count: '12'\n":  count(12),
		"count: 3.0\n":   count(3),
		"count: 1_000\n": count(1000),
		"count: 010\n":   count(8),
		"count: 0x1F\n":  count(31),
		"count: -1\n":    count(-1),
		"size: 1\n":      size(1),
		"size: 128.0\n":  size(128),
		"size: 1.0E-3\n": size(0.001),
		"size: .5\n":     size(0.5),
		"on1: yes\n":     on(true),
		"on1: Off\n":     on(false),
		"on1: 'false'\n": on(false),
		"map: {}\n":      base,
		"map:\n":         base,
		"map:\n  a: 1\n  b.c: 'no'\n  d: yes\n": entries(Texts{"a": {Value: "1"}, "b.c": {Value: "no"},
			"d": {Value: "yes"}}),
		"map: !!java.util.Properties\n  a: b\n": entries(Texts{"a": {Value: "b"}}),
		"map: {a: b, 'c d': e}\n":               entries(Texts{"a": {Value: "b"}, "c d": {Value: "e"}}),
		"!!org.example.Pojo\nname: x\n":         with(func(c *everything) { c.Name = "x" }),
		"--- !!org.example.Pojo {name: x}\n":    with(func(c *everything) { c.Name = "x" }),
		"%YAML 1.1\n---\nname: x\n...\n":        with(func(c *everything) { c.Name = "x" }),
		"{name: x, count: 2}":                   with(func(c *everything) { c.Name, c.Count = "x", 2 }),
		`{"name":"x","count":2.0,"text":null}`:  with(func(c *everything) { c.Name, c.Count = "x", 2 }),
		`{"size":"0.5","map":{"a":"b"},"on1":false}`: with(func(c *everything) {
			c.Size, c.On, c.Map = 0.5, false,
				Texts{"a": {Value: "b"}}
		}),
	} {
		got, notes, err := everythingSchema().DecodeStored([]byte(doc))
		if err != nil || len(notes) > 0 {
			t.Errorf("%q: %v, %v", doc, notes, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: - wanted, + got\n%s", doc, diff)
		}
	}
}

func TestDecodeStoredNotes(t *testing.T) {
	t.Parallel()
	doc := "old: 3\nnovel: !!org.example.Thing\n  a: [1]\nlist: [1, 2]\noff: false\nzero: 0\nempty: ''\nnothing:\nname: x\n"
	got, notes, err := everythingSchema().DecodeStored([]byte(doc))
	want := []string{"old is ignored: it is old", "novel is not a field that is known here: it has no effect",
		"list is not a field that is known here: it has no effect"}
	if err != nil || got.Name != "x" || !cmp.Equal(notes, want) {
		t.Errorf("%+v, %v, %v", got, notes, err)
	}
}

func TestDecodeStoredRefuses(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("{a: ", 100) + "b" + strings.Repeat("}", 100)
	for doc, want := range map[string]string{
		"":                          "empty",
		"just words\n":              `it is "just words", and not fields`,
		"- a\n- b\n":                "it is a list, and not fields",
		"name: x\n---\nname: y":     "more than one document",
		"name: [x\n":                "not YAML: line 1",
		"name: x\nname: y\n":        "field name is given more than once",
		"name: a: b\n":              "not YAML: line 1: mapping values",
		"{\"name\": ":               "neither JSON nor YAML",
		"name: \xff\n":              "not UTF-8",
		"count: many\n":             `a whole number is expected, found "many"`,
		"count: 08\n":               "a whole number is expected",
		"count: 1.5\n":              "a whole number is expected",
		"count: 99999999999\n":      "a whole number is expected",
		"size: a lot\n":             "a number is expected",
		"on1: perhaps\n":            "true or false is expected",
		"map: x\n":                  "a map of strings is expected",
		"map:\n  a: [b]\n":          "a string is expected",
		"text: {a: b}\n":            "a string is expected, found a map",
		"text: [a]\n":               "a string is expected, found a list",
		"text: *nobody\n":           "not YAML: line 1: an alias (*) of no anchor",
		"text: " + deep + "\n":      "too deep",
		"count: x\nsize: y\n":       "size",
		"text: &a {b: *a}\n":        "",
		"a: &a {text: b}\n<<: *a\n": "merge key",
		`{"name":"x","name":"y"}`:   "field name is given more than once",
		`{"map":{"a":"1","a":"2"}}`: "in map: field a is given more than once",
	} {
		_, _, err := everythingSchema().DecodeStored([]byte(doc))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, wanted %q", doc, err, want)
		}
	}
}

// A written document is read back unchanged.
func TestEncodeYAMLReadsBack(t *testing.T) {
	t.Parallel()
	tricky := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z0-9:#'"\\\[\]{}&*!|>%@~ .,+=?/_-]{0,12}`),
		rapid.SampledFrom([]string{"no", "yes", "null", "~", "0123", "1e3", "2026-01-01", "1:30", "=", "<<", "- a",
			"a: b", "a #b", " a", "a ", "'", "''", "\n", "a\nb\n", ".inf", "0x1F", "? a", "* * * * * ?", "...",
			"---"}))
	rapid.Check(t, func(t *rapid.T) {
		valid := func(s string) string { return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "") }
		c := everything{Name: valid(tricky.Draw(t, "name")), Text: valid(tricky.Draw(t, "text")),
			Extra: valid(tricky.Draw(t, "extra")),
			On:    rapid.Bool().Draw(t, "on"), Size: float64(rapid.Int64Range(0, 1e9).Draw(t, "size")) / 1000,
			Count: rapid.IntRange(-9, 1e6).Draw(t, "count")}
		for range rapid.IntRange(0, 3).Draw(t, "entries") {
			if c.Map == nil {
				c.Map = Texts{}
			}
			c.Map[valid(tricky.Draw(t, "key"))] = drawText(t,
				func(label string) string { return valid(tricky.Draw(t, label)) })
		}
		doc := everythingSchema().EncodeYAML(c)
		got, _, err := everythingSchema().DecodeStored(doc)
		if err != nil || !cmp.Equal(got, c) {
			t.Fatalf("%v\n%s\n%s", err, doc, cmp.Diff(c, got))
		}
	})
}

// YAML 1.1 limits a name within a line to 1024 characters.
func TestLongNamesReadBack(t *testing.T) {
	t.Parallel()
	for _, length := range []int{100, 1000, 1022, 1023, 1024, 1025, 5000} {
		for _, letter := range []string{"a", "'", "\n", "ä"} {
			want := everything{Map: Texts{strings.Repeat(letter, length): {Value: "a"}, "b": {Value: "c"}}}
			doc := everythingSchema().EncodeYAML(want)
			if got, _, err := everythingSchema().DecodeStored(doc); err != nil || !cmp.Equal(got, want) {
				t.Errorf("%d times %q: %v\n%.300s", length, letter, err, doc)
			}
		}
	}
}

// drawText returns a text in one of its forms.
func drawText(t *rapid.T, draw func(label string) string) Text {
	switch rapid.IntRange(0, 4).Draw(t, "form") {
	case 0:
		return Text{Value: draw("secret value"), Secret: true}
	case 1:
		return Text{FromFile: "/" + draw("file")}
	case 2:
		return Text{FromEnv: "A" + draw("variable")}
	}
	return Text{Value: draw("value")}
}

func TestFields(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"appName: a\ncpuCount: 0.1\nappCacheEnable: true\n":    `{"appCacheEnable":true,"appName":"a","cpuCount":0.1}`,
		`{"jobParameter":"2026-05-01","shardingTotalCount":3}`: `{"jobParameter":"2026-05-01","shardingTotalCount":3}`,
		"jobParameter: 2026-05-01\ntimeZone: ~\n":              `{"jobParameter":"2026-05-01","timeZone":null}`,
		"a: &x 1\nb: *x\nc: .inf\n":                            `{"a":1,"b":1,"c":".inf"}`,
		"env:\n  A: {fromFile: /x}\n  B: [1, 0x10, 1e3]\n":     `{"env":{"A":{"fromFile":"/x"},"B":[1,16,1e3]}}`,
	} {
		d, err := Fields([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got, err := json.Marshal(d); err != nil || string(got) != want {
			t.Errorf("%q: %s, %v: want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                "empty",
		"- a":             "not fields",
		"a: 1\na: 2\n":    "line 2: field a is given more than once",
		"a: 1\n---\nb: 2": "more than one document",
		"a: [1":           "not YAML",
		"a: *secret":      "an alias (*) of no anchor",
	} {
		_, err := Fields([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v: want %q in it, and no value", text, err, want)
		}
	}
}
