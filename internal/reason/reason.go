// Package reason represents the reason for a state as a value: a code with arguments.
//
// Decisions compare codes. Users read the sentence of Words, which fills the template of a code in one of the languages
// (words.go). Codes and arguments are stored and returned together with the sentence, so that programs need not parse
// sentences and a console can show them in its reader's language.
//
// To add a reason, add a constructor with its code beside those of its kind (kills.go, ends.go, waits.go,
// placement.go, fires.go, notes.go), its words to en.txt and zh.txt, and an example to reason_test.go. make docs then
// adds its words to the console and to docs/reasons.md.
package reason

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Code identifies a kind of reason. Codes are stored in the registry and returned by the API, so they never change.
type Code string

// Reason is a code with its arguments. It is immutable. The zero value means no reason.
type Reason struct{ *content }

type content struct {
	code Code
	args []arg
}

// arg is one argument: a text, or another reason.
type arg struct {
	name  string
	text  string
	inner Reason
}

// build creates a reason. It leaves out empty arguments, so that a template can test for them.
func build(code Code, args ...arg) Reason {
	n := 0
	for _, a := range args {
		if a.text != "" || !a.inner.IsZero() {
			args[n] = a
			n++
		}
	}
	args = args[:n]
	return Reason{&content{code: code, args: args}}
}

func text[T ~string](name string, value T) arg { return arg{name: name, text: string(value)} }

func number[T ~int | ~int32 | ~int64](name string, value T) arg {
	return arg{name: name, text: strconv.FormatInt(int64(value), 10)}
}

// timestamp formats a time with a precision of seconds.
func timestamp(name string, t time.Time) arg { return arg{name: name, text: t.Format(time.RFC3339)} }

func duration(name string, d time.Duration) arg { return arg{name: name, text: d.String()} }

func nested(name string, inner Reason) arg { return arg{name: name, inner: inner} }

// IsZero reports whether there is no reason.
func (r Reason) IsZero() bool { return r.content == nil }

// Code returns the code of the reason, or "" if there is none.
func (r Reason) Code() Code {
	if r.content == nil {
		return ""
	}
	return r.code
}

// Is reports whether the reason has one of these codes.
func (r Reason) Is(codes ...Code) bool { return !r.IsZero() && slices.Contains(codes, r.code) }

// Equal reports whether two reasons have the same code and arguments.
func (r Reason) Equal(other Reason) bool {
	if r.content == other.content {
		return true
	}
	return !r.IsZero() && !other.IsZero() && r.code == other.code &&
		slices.EqualFunc(r.args, other.args, func(a, b arg) bool {
			return a.name == b.name && a.text == b.text && a.inner.Equal(b.inner)
		})
}

// Or returns the reason, or other if there is none.
func (r Reason) Or(other Reason) Reason {
	if r.IsZero() {
		return other
	}
	return r
}

// arg returns the argument with a name, or nil if there is none.
func (r Reason) arg(name string) *arg {
	for i := range r.args {
		if r.args[i].name == name {
			return &r.args[i]
		}
	}
	return nil
}

// Args returns the arguments for an API response. An argument is a string or, for a nested reason, a map of "code" and
// "args". Args returns nil if there are none, and for plain text, which the response contains anyway.
func (r Reason) Args() map[string]any {
	if r.Is(PlainText) {
		return nil
	}
	return r.allArgs()
}

func (r Reason) allArgs() map[string]any {
	if r.IsZero() || len(r.args) == 0 {
		return nil
	}
	args := make(map[string]any, len(r.args))
	for _, a := range r.args {
		if args[a.name] = a.text; !a.inner.IsZero() {
			inner := map[string]any{"code": string(a.inner.code)}
			if innerArgs := a.inner.allArgs(); innerArgs != nil {
				inner["args"] = innerArgs
			}
			args[a.name] = inner
		}
	}
	return args
}

// String is Words in English.
func (r Reason) String() string { return r.Words(English) }

// MarshalJSON writes {"code": …, "args": {…}} with the arguments in their order. It writes null if there is no reason.
func (r Reason) MarshalJSON() ([]byte, error) {
	if r.IsZero() {
		return []byte("null"), nil
	}
	var b bytes.Buffer
	r.encode(&b)
	return b.Bytes(), nil
}

func (r Reason) encode(b *bytes.Buffer) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false) // escaping could make the output of a failed process six times as long
	quote := func(text string) {
		_ = e.Encode(text) // never fails for a string
		b.Truncate(b.Len() - 1)
	}
	b.WriteString(`{"code":`)
	quote(string(r.code))
	for i, a := range r.args {
		b.WriteString([...]string{`,"args":{`, `,`}[min(i, 1)])
		quote(a.name)
		b.WriteByte(':')
		if a.inner.IsZero() {
			quote(a.text)
		} else {
			a.inner.encode(b)
		}
	}
	if len(r.args) > 0 {
		b.WriteByte('}')
	}
	b.WriteByte('}')
}

// UnmarshalJSON reads the output of MarshalJSON. It also reads a string, as earlier releases stored it, like FromText.
func (r *Reason) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte(`"`)) {
		var words string
		if err := json.Unmarshal(data, &words); err != nil {
			return fmt.Errorf("read a reason: %w", err)
		}
		*r = FromText(words)
		return nil
	}
	var stored *struct {
		Code Code
		Args json.RawMessage
	}
	if err := json.Unmarshal(data, &stored); err != nil {
		return fmt.Errorf("read a reason: %w", err)
	}
	if *r = (Reason{}); stored == nil || stored.Code == "" {
		return nil
	}
	args, err := decodeArgs(stored.Args)
	if err != nil {
		return fmt.Errorf("read the arguments of reason %s: %w", stored.Code, err)
	}
	*r = Reason{&content{code: stored.Code, args: args}}
	return nil
}

// decodeArgs reads arguments in their stored order, because Equal compares them in order.
func decodeArgs(data []byte) (args []arg, err error) {
	if len(data) == 0 {
		return nil, nil
	}
	in := json.NewDecoder(bytes.NewReader(data))
	if begin, err := in.Token(); err != nil || begin != json.Delim('{') {
		return nil, errors.Join(err, errors.New("not a JSON object"))
	}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return nil, err
		}
		a := arg{name: fmt.Sprint(name)}
		if value[0] == '"' {
			err = json.Unmarshal(value, &a.text)
		} else {
			err = json.Unmarshal(value, &a.inner)
		}
		if err != nil {
			return nil, err
		}
		args = append(args, a)
	}
	return args, nil
}
