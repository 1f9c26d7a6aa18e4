// Package documenttest contains tests that apply to the schema of every document.
package documenttest

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/elasticjob-go/elasticjob/internal/document"
)

// Violations returns the violations in an error. Any other error fails the test.
func Violations(t *testing.T, err error) document.Violations {
	t.Helper()
	var bad document.Violations
	if !errors.As(err, &bad) {
		t.Fatalf("got error %v, want Violations", err)
	}
	return bad
}

// Refused is a body with exactly one violation, whose field, value and beginning of the message are given.
type Refused = struct{ Body, Field, Value, Want string }

// Refuses decodes each body over the stored document, and expects its violation and no other.
func Refuses[C any](t *testing.T, schema *document.Schema[C], stored C, all []Refused) {
	t.Helper()
	for _, test := range all {
		t.Run(test.Body, func(t *testing.T) {
			t.Parallel()
			_, _, err := schema.Decode([]byte(test.Body), stored)
			bad := Violations(t, err)
			if len(bad) != 1 || bad[0].Field != test.Field || bad[0].Value != test.Value ||
				!strings.HasPrefix(bad[0].Message, test.Want) {
				t.Errorf("got %+v, want %s %s %q", bad, test.Field, test.Value, test.Want)
			}
		})
	}
}

// Encode returns a document as JSON.
func Encode(t interface{ Fatal(...any) }, document any) []byte {
	data, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// RoundTrips expects that each document decodes to the document that was encoded.
func RoundTrips[C any](t *testing.T, schema *document.Schema[C], defaults C, all *rapid.Generator[C]) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		want := all.Draw(t, "config")
		got, notes, err := schema.Decode(Encode(t, want), defaults)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || len(notes) > 0 || diff != "" {
			t.Fatal(err, notes, diff)
		}
	})
}

// MergesOneField expects that a body with one field changes only that field. It skips the first field, the name.
func MergesOneField[C any](t *testing.T, schema *document.Schema[C], all *rapid.Generator[C]) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		base, other := all.Draw(t, "base"), all.Draw(t, "other")
		i := rapid.IntRange(1, reflect.TypeFor[C]().NumField()-1).Draw(t, "field")
		name, _, _ := strings.Cut(reflect.TypeFor[C]().Field(i).Tag.Get("json"), ",")
		body := Encode(t, map[string]any{name: reflect.ValueOf(other).Field(i).Interface()})
		want := base
		reflect.ValueOf(&want).Elem().Field(i).Set(reflect.ValueOf(other).Field(i))
		got, _, err := schema.Decode(body, base)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatal(string(body), err, diff)
		}
	})
}
