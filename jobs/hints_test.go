package jobs_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// violationOf decodes a valid document with one field replaced, and returns the message about this field; "" if there
// is none.
func violationOf[C any](t *testing.T, schema *document.Schema[C], valid C, field string, value any,
	check func(C) document.Violations) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{field: value})
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := schema.Decode(body, valid)
	bad, _ := err.(document.Violations)
	for _, v := range bad.And(check(c)) {
		if v.Field == field || strings.HasPrefix(v.Field, field+".") {
			return v.Message
		}
	}
	return ""
}

// checkJSONSchema checks that the JSON Schema of a kind of document says what check accepts: every field exists with
// its type and default, values at its limits are accepted, and values beyond them are refused.
func checkJSONSchema[C any](t *testing.T, schema *document.Schema[C], hints map[string]document.Hint, valid C,
	check func(C) document.Violations) {
	t.Helper()
	text, err := json.Marshal(schema.JSONSchema("x", hints))
	if err != nil {
		t.Fatal(err)
	}
	var published struct {
		Required   []string
		Properties map[string]struct {
			Type, Description string
			Default           json.RawMessage
			Deprecated        bool
			Minimum, Maximum  *float64
			Enum              []string
			MaxLength         int
		}
	}
	if err := json.Unmarshal(text, &published); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	defaults, _ := json.Marshal(schema.Default())
	var byDefault map[string]json.RawMessage
	_ = json.Unmarshal(defaults, &byDefault)
	for _, name := range schema.Fields() {
		p, exists := published.Properties[name]
		if !exists || p.Description == "" || p.Type == "" || p.Deprecated {
			t.Errorf("%s: %+v", name, p)
			continue
		}
		if slices.Contains(published.Required, name) {
			if p.Default != nil || violationOf(t, schema, valid, name, nil, check) == "" {
				t.Errorf("%s is required, but null is accepted, or it has a default: %s", name, p.Default)
			}
		} else if hints[name].Or != "" {
			if p.Default != nil || violationOf(t, schema, valid, name, nil, check) == "" {
				t.Errorf("%s or %s is required, but a document without both is accepted, or it has a default: %s", name,
					hints[name].Or, p.Default)
			}
		} else if want, written := byDefault[name]; written && string(want) != string(p.Default) || p.Default == nil {
			t.Errorf("%s has the default %s, the schema says %s", name, want, p.Default)
		} else if why := violationOf(t, schema, valid, name, p.Default, check); why != "" {
			t.Errorf("the default of %s is refused: %s", name, why)
		}
		for _, word := range p.Enum {
			if why := violationOf(t, schema, valid, name, word, check); why != "" {
				t.Errorf("%s=%s is refused: %s", name, word, why)
			}
		}
		if len(p.Enum) > 0 && violationOf(t, schema, valid, name, "NONE_OF_THESE", check) == "" {
			t.Errorf("%s accepts other words", name)
		}
		if p.MaxLength > 0 && violationOf(t, schema, valid, name, strings.Repeat("a", p.MaxLength+1), check) == "" {
			t.Errorf("%s accepts more than %d characters", name, p.MaxLength)
		}
		if p.Minimum != nil {
			if why := violationOf(t, schema, valid, name, *p.Minimum, check); why != "" {
				t.Errorf("the minimum of %s is refused: %s", name, why)
			}
			below := *p.Minimum - 0.0005
			if p.Type == "integer" {
				below = *p.Minimum - 1
			}
			if violationOf(t, schema, valid, name, below, check) == "" {
				t.Errorf("%s accepts less than %g", name, *p.Minimum)
			}
		}
		if p.Maximum != nil {
			if why := violationOf(t, schema, valid, name, *p.Maximum, check); why != "" {
				t.Errorf("the maximum of %s is refused: %s", name, why)
			}
			if violationOf(t, schema, valid, name, *p.Maximum+1, check) == "" {
				t.Errorf("%s accepts more than %g", name, *p.Maximum)
			}
		}
	}
	for name := range hints {
		if !slices.Contains(schema.Fields(), name) {
			t.Errorf("there is a hint for %s, but no such field", name)
		}
	}
	for name, p := range published.Properties {
		if !p.Deprecated && !slices.Contains(schema.Fields(), name) {
			t.Errorf("%s is not a field", name)
		}
	}
	if first := fmt.Sprintf(`"properties":{"%s":`, schema.Fields()[0]); !strings.Contains(string(text), first) {
		t.Errorf("the fields are not in their order: %s", text)
	}
}

func TestJobSchemaMatchesCheck(t *testing.T) {
	t.Parallel()
	valid := jobs.Default()
	valid.AppName, valid.JobExecutionType, valid.ShardingTotalCount, valid.CPUCount, valid.MemoryMB, valid.Cron = "a",
		jobs.Transient, 1, 1, 1, "0 0 3 * * ?"
	valid.Props = nil
	checkJSONSchema(t, jobs.Schema, jobs.Hints(), valid, func(c jobs.Config) document.Violations {
		if c.Notifies() { // such a handler requires props, which would have violations
			c.JobErrorHandlerType = ""
		}
		bad, _ := c.Check(options())
		return bad
	})
	if names := slices.Sorted(maps.Keys(jobs.Hints())); len(names) != len(jobs.Schema.Fields()) {
		t.Errorf("hints for %v", names)
	}
}

func TestAppSchemaMatchesCheck(t *testing.T) {
	t.Parallel()
	valid := app.Default()
	valid.AppURL, valid.BootstrapScript = "http://h/p.tgz", "bin/start.sh"
	checkJSONSchema(t, app.Schema, app.Hints(), valid,
		func(c app.Config) document.Violations { return c.Check(app.CheckOptions{}) })
}
