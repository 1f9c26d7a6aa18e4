package apihttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib/encoding"
	"github.com/mesos/mesos-go/api/v1/lib/encoding/codecs"
)

// Stream is the answer to a SUBSCRIBE: events in RecordIO frames. Its handler
// must not return while Send may still be called. Its methods may be called
// concurrently.
type Stream struct {
	mu      sync.Mutex
	w       http.ResponseWriter
	control *http.ResponseController
	marshal func(encoding.Marshaler) ([]byte, error)
	frames  bytes.Buffer
	broken  error
}

// NewStream answers 200 with codec's media type and the given headers, and
// flushes them, so that the subscriber knows that it is heard before the first
// event.
func NewStream(w http.ResponseWriter, codec encoding.Codec, headers http.Header) (*Stream, error) {
	s := &Stream{w: w, control: http.NewResponseController(w), marshal: marshalProtobuf}
	if codec.Type == codecs.MediaTypeJSON {
		s.marshal = marshalJSON
	}
	for name, values := range headers {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", codec.Type.ContentType())
	w.WriteHeader(http.StatusOK)
	if err := s.control.Flush(); err != nil {
		return nil, fmt.Errorf("open an event stream: %w", err)
	}
	return s, nil
}

func marshalProtobuf(m encoding.Marshaler) ([]byte, error) { return m.Marshal() }

// The generated code writes fields that are not there as null or []; Mesos
// leaves them out.
func marshalJSON(m encoding.Marshaler) ([]byte, error) {
	encoded, err := json.Marshal(m)
	if err != nil || !bytes.Contains(encoded, []byte("null")) && !bytes.Contains(encoded, []byte("[]")) {
		return encoded, err
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	var message map[string]any
	if err := decoder.Decode(&message); err != nil {
		return nil, err
	}
	omitUnset(message)
	return json.Marshal(message)
}

func omitUnset(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			if list, ok := field.([]any); field == nil || ok && len(list) == 0 {
				delete(value, name)
				continue
			}
			omitUnset(field)
		}
	case []any:
		for _, item := range value {
			omitUnset(item)
		}
	}
}

// Send writes the events in order and flushes once. When ctx ends while the
// subscriber does not read, it gives up; the stream is broken then, as after
// any failed write, and every later Send fails too. A message that cannot be
// encoded breaks nothing: none of the events is sent.
func (s *Stream) Send(ctx context.Context, events ...encoding.Marshaler) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return s.broken
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.frames.Reset()
	for _, event := range events {
		frame, err := s.marshal(event)
		if err != nil {
			return fmt.Errorf("encode an event: %w", err)
		}
		s.frames.Write(strconv.AppendInt(s.frames.AvailableBuffer(), int64(len(frame)), 10))
		s.frames.WriteByte('\n')
		s.frames.Write(frame)
	}
	if err := s.write(ctx); err != nil {
		s.broken = fmt.Errorf("write to an event stream: %w", err)
		return s.broken
	}
	return nil
}

func (s *Stream) write(ctx context.Context) error {
	abort := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(abort)
		// Not every ResponseWriter has deadlines; then the write ends with the connection.
		_ = s.control.SetWriteDeadline(time.Now())
	})
	_, err := s.w.Write(s.frames.Bytes())
	err = errors.Join(err, s.control.Flush())
	if !stop() {
		<-abort
		return errors.Join(ctx.Err(), err)
	}
	return err
}
