package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"unicode/utf8"

	"github.com/elasticjob-go/elasticjob/internal/secrets"
)

// SyntaxError says where and why a body is not a JSON object.
type SyntaxError struct {
	// Line and Column are in characters, and count from 1.
	Line, Column int
	Message      string
}

// Error returns a sentence that the sender of the body can read.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("the body is not a JSON object: line %d, column %d: %s", e.Line, e.Column, e.Message)
}

type member struct {
	name string
	raw  json.RawMessage
}

// parseObject splits a body into its members, in order, including duplicates.
func parseObject(body []byte) ([]member, error) {
	fail := func(offset int, message string) error {
		before := body[:offset]
		line := bytes.Count(before, []byte("\n")) + 1
		column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
		return &SyntaxError{Line: line, Column: column, Message: message}
	}
	if offset := firstNotUTF8(body); offset >= 0 {
		return nil, fail(offset, "this byte is not UTF-8")
	}
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	start := len(body) - len(trimmed)
	if len(trimmed) == 0 {
		return nil, fail(start, `the body is empty; send an object such as {"name": "value"}`)
	}
	var value json.RawMessage
	if err := json.Unmarshal(body, &value); err != nil {
		var syntax *json.SyntaxError
		if !errors.As(err, &syntax) {
			return nil, fail(0, err.Error())
		}
		if syntax.Error() == "unexpected end of JSON input" {
			return nil, fail(len(body), "the body ends in the middle of a value")
		}
		return nil, fail(max(0, min(int(syntax.Offset)-1, len(body))), syntax.Error())
	}
	if trimmed[0] != '{' {
		return nil, fail(start, "an object is expected, found "+describe(trimmed))
	}
	members, err := splitObject(trimmed)
	if err != nil {
		return nil, fail(start, err.Error())
	}
	return members, nil
}

// firstNotUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func firstNotUTF8(body []byte) int {
	for i := 0; i < len(body); {
		r, size := utf8.DecodeRune(body[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// splitObject splits an object that is valid JSON.
func splitObject(object []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	var members []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: fmt.Sprint(name)}
		if err := dec.Decode(&m.raw); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	return members, nil
}

// isReadable reports whether readValue can read into a value of this type.
func isReadable(into reflect.Value) bool {
	switch into.Addr().Interface().(type) {
	case *string, **string, *bool, *float64, *int, *Texts, *Object, *List:
		return true
	}
	return false
}

// readValue reads the JSON value of a field into an addressable value. It is strict: it accepts no number in a string
// and no fraction for an integer.
func readValue(name string, raw json.RawMessage, into reflect.Value) Violations {
	wrong := func(expected string) Violations {
		return Violations{Violate(name, shownRaw(raw), "%s is expected, found %s", expected, describe(raw))}
	}
	isNumber := raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
	switch p := into.Addr().Interface().(type) {
	case *string:
		if json.Unmarshal(raw, p) != nil {
			return wrong("a string")
		}
	case **string:
		text := reflect.New(into.Type().Elem())
		if bad := readValue(name, raw, text.Elem()); len(bad) > 0 {
			return bad
		}
		into.Set(text)
	case *bool:
		if json.Unmarshal(raw, p) != nil {
			return wrong("true or false")
		}
	case *float64:
		if !isNumber {
			return wrong("a number")
		}
		n, err := strconv.ParseFloat(string(raw), 64)
		if err != nil {
			return Violations{Violate(name, string(raw), "the number is too large")}
		}
		*p = n
	case *int:
		if !isNumber {
			return wrong("a whole number")
		}
		// Whole numbers may be written as 3.0 or 3e2, as many languages do.
		n, err := strconv.ParseFloat(string(raw), 64)
		switch {
		case err != nil || n < math.MinInt32 || n > math.MaxInt32:
			return Violations{Violate(name, string(raw), "the number is too large")}
		case n != math.Trunc(n):
			return Violations{Violate(name, string(raw), "a whole number is expected, found a fraction")}
		}
		*p = int(n)
	case *Texts:
		if raw[0] != '{' {
			return Violations{Violate(name, "", "an object of strings is expected, found %s", describe(raw))}
		}
		return readMap(name, raw, p)
	case *Object:
		return readObject(name, raw, p)
	case *List:
		return readList(name, raw, p)
	}
	return nil
}

// readMap reads a map of texts. It leaves values out of violations, because they may be secrets.
func readMap(name string, raw json.RawMessage, into *Texts) Violations {
	members, err := splitObject(raw)
	if err != nil {
		return Violations{Violate(name, "", "%s", err.Error())}
	}
	var bad Violations
	read := make(Texts, len(members))
	for _, m := range members {
		path := name + "." + m.name
		value, violations := readText(path, m.raw)
		if _, repeated := read[m.name]; repeated {
			violations = Violations{Violate(path, "", "is given more than once")}
		}
		bad = append(bad, violations...)
		read[m.name] = value
	}
	if len(bad) > maxFieldViolations {
		bad = append(bad[:maxFieldViolations], Violate(name, "", "%s wrong",
			moreOf(len(bad)-maxFieldViolations, "entry is", "entries are")))
	}
	if len(read) > 0 {
		*into = read
	}
	return bad
}

// shownRaw returns a JSON value as a violation may show it, without objects, arrays and secrets in texts.
func shownRaw(raw json.RawMessage) string {
	var text string
	switch {
	case raw[0] == '{' || raw[0] == '[':
		return ""
	case raw[0] == '"' && json.Unmarshal(raw, &text) == nil:
		if shown := secrets.Hide(text); shown != text {
			return shown
		}
	}
	return string(raw)
}

// describe names the type of a JSON value for messages.
func describe(raw json.RawMessage) string {
	switch raw[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}
