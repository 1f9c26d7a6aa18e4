package request

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/elasticjob-go/elasticjob/api/openapi"
)

// Parameter is a parameter of a query. It holds both its reader and its entry in the API's description, so that
// neither can exist without the other.
type Parameter[T any] struct {
	openapi.Parameter
	// Of returns the value in a query. A value that cannot be parsed becomes a violation, which Query.Err returns.
	Of func(*Query) T
}

// Described returns the parameter's entry in the API's description.
func (p Parameter[T]) Described() openapi.Parameter { return p.Parameter }

// Declared is a Parameter of any type, as it appears in a route's row.
type Declared interface{ Described() openapi.Parameter }

func namesOf(parameters []Declared) []string {
	names := make([]string, len(parameters))
	for i, p := range parameters {
		names[i] = p.Described().Name
	}
	return names
}

func declare[T any](name, about string, schema openapi.Schema, of func(*Query) T) Parameter[T] {
	return Parameter[T]{openapi.Parameter{Name: name, In: "query", About: about, Schema: schema}, of}
}

// WithExample returns the parameter with an example for the API's description.
func (p Parameter[T]) WithExample(example any) Parameter[T] {
	p.Example = example
	return p
}

// Mandatory returns the parameter marked as required in the API's description. The handler must check that it is
// given.
func (p Parameter[T]) Mandatory() Parameter[T] {
	p.Required = true
	return p
}

// read returns the value of a parameter, or fallback if the parameter is absent. If parse fails, it records rule as a
// violation, and the returned value has no meaning.
func read[T any](q *Query, name string, fallback T, parse func(text string) (T, error), rule string, args ...any) T {
	if !q.values.Has(name) {
		return fallback
	}
	value, err := parse(q.values.Get(name))
	if err != nil {
		q.Refuse(name, rule, args...)
	}
	return value
}

// errInvalidValue is the error for a text that is not a valid value of the parameter.
var errInvalidValue = errors.New("no value of the parameter")

// Text declares a parameter that takes any text; its value is "" if absent.
func Text(name, about string) Parameter[string] {
	return declare(name, about, openapi.Schema{"type": "string"}, func(q *Query) string { return q.values.Get(name) })
}

// Flag declares a boolean parameter; its value is false if absent.
func Flag(name, about string) Parameter[bool] {
	return declare(name, about, openapi.Schema{"type": "boolean", "default": false}, func(q *Query) bool {
		return read(q, name, false, strconv.ParseBool, "must be true or false")
	})
}

// Number declares an integer parameter from minimum to maximum. Its value is fallback if it is absent.
func Number(name, about string, fallback, minimum, maximum int) Parameter[int] {
	parse := func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if n < minimum || n > maximum {
			err = errInvalidValue
		}
		return n, err
	}
	return declare(name, about, openapi.Schema{"type": "integer", "default": fallback, "minimum": minimum,
		"maximum": maximum}, func(q *Query) int {
		return read(q, name, fallback, parse, "must be a whole number from %d to %d", minimum, maximum)
	})
}

// Bytes declares a parameter that is a number of bytes, 0 or more. Its value is fallback if it is absent. The API's
// description does not mention fallback, because it may be a marker such as -1.
func Bytes(name, about string, fallback int64) Parameter[int64] {
	parse := func(text string) (int64, error) {
		n, err := strconv.ParseUint(text, 10, 63)
		return int64(n), err
	}
	return declare(name, about, openapi.Schema{"type": "integer", "format": "int64", "minimum": 0},
		func(q *Query) int64 {
			return read(q, name, fallback, parse, "must be a number of bytes, 0 or more")
		})
}

// Choice declares a parameter that takes one of several words. Its value is the first word if it is absent. If the
// first word is "", the API's description does not list it: clients leave the parameter out instead.
func Choice(name, about string, words ...string) Parameter[string] {
	schema := openapi.Schema{"type": "string", "enum": words, "default": words[0]}
	if words[0] == "" {
		schema = openapi.Schema{"type": "string", "enum": words[1:]}
	}
	parse := func(text string) (string, error) {
		if !slices.Contains(words, text) {
			return "", errInvalidValue
		}
		return text, nil
	}
	return declare(name, about, schema, func(q *Query) string {
		return read(q, name, words[0], parse, "must be one of %s", strings.Join(words, ", "))
	})
}

// Words declares a parameter that takes one or more of the given words, separated by commas. The given words must be
// in upper case; clients may write them in any case. The value is nil if the parameter is absent or empty.
func Words(name, about string, words []string) Parameter[[]string] {
	parse := func(text string) (list []string, err error) {
		if text == "" {
			return nil, nil
		}
		for word := range strings.SplitSeq(text, ",") {
			word = strings.ToUpper(strings.TrimSpace(word))
			if !slices.Contains(words, word) {
				return nil, errInvalidValue
			}
			list = append(list, word)
		}
		return list, nil
	}
	schema := openapi.Schema{"type": "string",
		"description": "One or more of " + strings.Join(words, ", ") + ", separated by commas."}
	return declare(name, about, schema, func(q *Query) []string {
		return read(q, name, nil, parse, "must be one or more of %s, separated by commas", strings.Join(words, ", "))
	}).WithExample(words[0])
}

// When is a point in time, given either as a time or as a duration before now.
type When struct {
	time time.Time
	ago  *time.Duration
}

// Time returns the point in time. It is zero if the client gave none.
func (w When) Time(now time.Time) time.Time {
	if w.ago != nil {
		return now.Add(-*w.ago)
	}
	return w.time
}

// Moment declares a parameter that is a time or a duration before now.
func Moment(name, about string) Parameter[When] {
	parse := func(text string) (When, error) {
		if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
			return When{ago: &ago}, nil
		}
		t, err := time.Parse(time.RFC3339, text)
		return When{time: t}, err
	}
	schema := openapi.Schema{"type": "string",
		"description": "A time such as 2026-05-01T12:00:00Z, or how long ago, such as 30m or 24h."}
	return declare(name, about, schema, func(q *Query) When {
		return read(q, name, When{}, parse,
			"must be a time such as 2026-05-01T12:00:00Z (a + in it written as %%2B), or how long ago, such as 30m or 24h")
	}).WithExample("24h")
}

// Position is the row after which the next page of a list begins: its time and, if several rows may have that time,
// its id. The zero value is the beginning of the list.
type Position struct {
	At time.Time
	ID string
}

// Before declares a parameter that is a time, optionally followed by a comma and the id of an execution with that
// time.
func Before(name, about string) Parameter[Position] {
	parse := func(text string) (p Position, err error) {
		text, p.ID, _ = strings.Cut(text, ",")
		if p.At, err = time.Parse(time.RFC3339, text); err == nil && (p.At.Year() < 1970 || !utf8.ValidString(p.ID)) {
			err = errInvalidValue
		}
		return p, err
	}
	return declare(name, about, openapi.Schema{"type": "string"}, func(q *Query) Position {
		return read(q, name, Position{}, parse,
			"must be a time such as 2026-05-01T12:00:00Z (a + in it written as %%2B), or the value in an answer's Link header")
	}).WithExample("2026-05-01T12:00:00Z")
}
