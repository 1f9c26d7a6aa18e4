package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// jsonRecords returns all objects in a JSON text, at any depth. Fields that are objects or arrays have the text "".
func jsonRecords(text []byte) (records []record, err error) {
	r := jsonReader{text: text, decoder: json.NewDecoder(bytes.NewReader(text))}
	r.decoder.UseNumber()
	for {
		before := r.decoder.InputOffset()
		_, err = r.value(0)
		switch {
		case err == io.EOF && r.decoder.InputOffset() == before:
			return r.records, nil
		case err == io.EOF:
			err = io.ErrUnexpectedEOF
			fallthrough
		case err != nil:
			return nil, fmt.Errorf("line %d: not JSON: %w", r.line(), err)
		}
	}
}

// jsonReader reads JSON and collects its objects.
type jsonReader struct {
	text    []byte
	decoder *json.Decoder
	records []record
}

// line returns the line of the end of the last token.
func (r *jsonReader) line() int {
	return bytes.Count(r.text[:r.decoder.InputOffset()], []byte("\n")) + 1
}

// maxJSONDepth limits how deeply values are nested, because value is recursive.
const maxJSONDepth = 100

// value reads one value. It returns the text of a text, number or boolean, and otherwise "".
func (r *jsonReader) value(depth int) (scalar string, err error) {
	token, err := r.decoder.Token()
	if err != nil {
		return "", err
	}
	if depth > maxJSONDepth {
		return "", fmt.Errorf("it is nested deeper than %d", maxJSONDepth)
	}
	switch token {
	case json.Delim('{'):
		settings := map[string]setting{}
		r.records = append(r.records, record{r.line(), settings})
		for r.decoder.More() {
			key, err := r.decoder.Token()
			if err != nil {
				return "", err
			}
			value, err := r.value(depth + 1)
			if err != nil {
				return "", err
			}
			name := fmt.Sprint(key)
			settings[plainKey(name)] = setting{text: value, line: r.line(), key: name}
		}
	case json.Delim('['):
		for r.decoder.More() {
			if _, err := r.value(depth + 1); err != nil {
				return "", err
			}
		}
	case nil:
		return "", nil
	default:
		return fmt.Sprint(token), nil
	}
	_, err = r.decoder.Token() // the end of the object or array
	return "", err
}
