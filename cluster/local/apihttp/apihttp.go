// Package apihttp holds what the v1 HTTP APIs of the local master and agent share: reading calls, answering them, and
// streaming events.
//
// A handler uses it in Mesos' order:
//
//	if !apihttp.ReadCall(w, r, &call) { return }            // media type, syntax
//	...                                                     // validate the call: Answer(w, 400, ...)
//	apihttp.Stream(ctx, w, r, headers, events, …)           // SUBSCRIBE
//	apihttp.Answer(w, http.StatusAccepted, "")              // any other call
//
// Status codes, headers and texts are those of Mesos 1.12.
package apihttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/mesos/mesos-go/api/v1/lib/encoding"
)

// MaxBody is the maximum size of a call in bytes; a larger call is answered with 413.
const MaxBody = 64 << 20

const (
	mediaJSON     = "application/json"
	mediaProtobuf = "application/x-protobuf"
	mediaText     = "text/plain; charset=utf-8"
)

// ReadCall parses the request body into call, as JSON or protobuf according to its Content-Type. If that fails, it
// answers as Mesos does (400, 415, 413) and returns false.
func ReadCall(w http.ResponseWriter, r *http.Request, call encoding.Unmarshaler) bool {
	media := r.Header.Get("Content-Type")
	if media != mediaJSON && media != mediaProtobuf {
		Answer(w, http.StatusUnsupportedMediaType,
			"Expecting 'Content-Type' of application/json or application/x-protobuf")
		return false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			Answer(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("Call is larger than %d bytes", tooLarge.Limit))
		} else {
			Answer(w, http.StatusBadRequest, "Failed to read body: "+err.Error())
		}
		return false
	}
	if media == mediaJSON {
		err = json.Unmarshal(body, call)
	} else {
		err = call.Unmarshal(body)
	}
	if err != nil {
		Answer(w, http.StatusBadRequest, fmt.Sprintf("Failed to parse body into Call protobuf: %v", err))
		return false
	}
	return true
}

// Answer sends a status and a text. The status 202 without a text means that a call was accepted; its results arrive as
// events.
func Answer(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", mediaText)
	w.Header().Set("Content-Length", strconv.Itoa(len(message)))
	w.WriteHeader(status)
	// The client may have disconnected, and no one else needs the answer.
	_, _ = io.WriteString(w, message)
}
