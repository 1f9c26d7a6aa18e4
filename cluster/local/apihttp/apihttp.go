// Package apihttp is what the v1 HTTP APIs of the local master and agent
// share: how a call is read, refused or accepted, and how events are streamed.
//
// A handler goes through it in Mesos' order:
//
//	if !apihttp.ReadCall(w, r, &call, "Call") { return }    // method, media type, syntax
//	...                                                     // validate the call: Refuse(w, 400, ...)
//	codec, ok := apihttp.Negotiate(w, r)                    // only where the answer has a body
//	stream := apihttp.NewStream(w, codec, headers)          // SUBSCRIBE
//	apihttp.Accepted(w)                                     // any other call
//
// Status codes, headers and texts are those that Mesos 1.12 sends.
package apihttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/mesos/mesos-go/api/v1/lib/encoding"
	"github.com/mesos/mesos-go/api/v1/lib/encoding/codecs"
)

// MaxBody is the largest call that is read, in bytes; a larger one is
// answered with 413.
const MaxBody = 64 << 20

const (
	mediaJSON     = "application/json"
	mediaProtobuf = "application/x-protobuf"
	text          = "text/plain; charset=utf-8"
)

// ReadCall reads the call that r carries into call, in JSON or protobuf by its
// Content-Type. When that fails, it answers as Mesos does (405, 400, 415,
// 413) and returns false. message is the protobuf message's name as Mesos
// writes it in its refusals, "Call". A type that is not known stays unset, as
// in Mesos, for the caller's validation to find.
func ReadCall(w http.ResponseWriter, r *http.Request, call encoding.Unmarshaler, message string) bool {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		Refuse(w, http.StatusMethodNotAllowed, fmt.Sprintf(
			"405 Method Not Allowed. Expecting one of { 'POST' }, but received '%s'.", r.Method))
		return false
	}
	media := r.Header.Get("Content-Type")
	switch media {
	case mediaJSON, mediaProtobuf:
	case "":
		Refuse(w, http.StatusBadRequest, "Expecting 'Content-Type' to be present")
		return false
	default:
		Refuse(w, http.StatusUnsupportedMediaType,
			"Expecting 'Content-Type' of application/json or application/x-protobuf")
		return false
	}
	body, err := readBody(w, r)
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			Refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("Call is larger than %d bytes", tooLarge.Limit))
		} else {
			Refuse(w, http.StatusBadRequest, "Failed to read body: "+err.Error())
		}
		return false
	}
	if media == mediaProtobuf {
		if err := call.Unmarshal(body); err != nil {
			Refuse(w, http.StatusBadRequest, fmt.Sprintf("Failed to parse body into %s protobuf", message))
			return false
		}
		return true
	}
	if text := jsonFault(body); text != "" {
		Refuse(w, http.StatusBadRequest, "Failed to parse body into JSON: "+text)
		return false
	}
	if err := unmarshalJSON(body, call); err != nil {
		Refuse(w, http.StatusBadRequest, fmt.Sprintf("Failed to convert JSON into %s protobuf: %v", message, err))
		return false
	}
	return true
}

// Bodies of a known size are read into one allocation: a call can hold
// thousands of tasks.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	var body bytes.Buffer
	switch n := r.ContentLength; {
	case n > MaxBody:
		return nil, &http.MaxBytesError{Limit: MaxBody}
	case n > 0:
		body.Grow(int(n) + bytes.MinRead)
	}
	_, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, MaxBody))
	return body.Bytes(), err
}

// Mesos leaves an enum unset when it does not know the value; the generated
// code refuses the whole message. Only the union's "type" matters here.
func unmarshalJSON(body []byte, call encoding.Unmarshaler) error {
	err := json.Unmarshal(body, call)
	if err == nil {
		return nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || fields["type"] == nil {
		return err
	}
	delete(fields, "type")
	without, again := json.Marshal(fields)
	if again != nil || json.Unmarshal(without, call) != nil {
		return err
	}
	return nil
}

// jsonFault says in Mesos' words what is wrong with body's syntax; it is empty
// for a JSON object.
func jsonFault(body []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(body))
	var whole json.RawMessage
	err := decoder.Decode(&whole)
	rest := body[min(decoder.InputOffset(), int64(len(body))):]
	var syntax *json.SyntaxError
	switch {
	case err == nil && len(bytes.TrimSpace(rest)) > 0:
		return "parsed JSON contained non-whitespace extra characters"
	case err == nil && !bytes.HasPrefix(bytes.TrimSpace(whole), []byte("{")):
		return "unexpected JSON type parsed"
	case err == nil:
		return ""
	case errors.As(err, &syntax):
		return syntaxError(body, int(syntax.Offset))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return syntaxError(body, len(body))
	default:
		return err.Error()
	}
}

func syntaxError(body []byte, offset int) string {
	at := max(0, min(offset, len(body))-1)
	if offset >= len(body) && len(body) > 0 && !isWord(body[len(body)-1]) {
		at = len(body)
	}
	for at > 0 && at < len(body) && isWord(body[at]) && isWord(body[at-1]) {
		at--
	}
	line := 1 + bytes.Count(body[:at], []byte("\n"))
	near, _, _ := bytes.Cut(body[at:], []byte("\n"))
	return fmt.Sprintf("syntax error at line %d near: %s", line, near)
}

func isWord(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// Negotiate picks the codec of the answer by the Accept header, JSON first as
// Mesos does. When neither JSON nor protobuf is allowed, it answers 406 and
// returns false.
func Negotiate(w http.ResponseWriter, r *http.Request) (encoding.Codec, bool) {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	for _, media := range []encoding.MediaType{codecs.MediaTypeJSON, codecs.MediaTypeProtobuf} {
		if allows(accept, string(media)) {
			return codecs.ByMediaType[media], true
		}
	}
	Refuse(w, http.StatusNotAcceptable,
		"Expecting 'Accept' to allow 'application/x-protobuf' or 'application/json'")
	return encoding.Codec{}, false
}

func allows(accept, media string) bool {
	if accept == "" {
		return true
	}
	for item := range strings.SplitSeq(accept, ",") {
		pattern, params, err := mime.ParseMediaType(strings.TrimSpace(item))
		if err != nil || (pattern != media && pattern != "application/*" && pattern != "*/*") {
			continue
		}
		q, given := params["q"]
		if weight, err := strconv.ParseFloat(q, 64); given && (err != nil || weight <= 0) {
			continue
		}
		return true
	}
	return false
}

// Refuse answers with status and Mesos' text for it.
func Refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", text)
	w.Header().Set("Content-Length", strconv.Itoa(len(message)))
	w.WriteHeader(status)
	// The peer may be gone; there is nobody else to tell.
	_, _ = io.WriteString(w, message)
}

// Accepted answers 202 without a body: the call was understood, and what
// follows from it comes as events.
func Accepted(w http.ResponseWriter) {
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusAccepted)
}
