package apihttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib/encoding"

	"github.com/elasticjob-go/elasticjob/cluster/local/queue"
)

// Stream is the answer to a SUBSCRIBE: events in RecordIO frames. It is for one goroutine.
type Stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	marshal func(encoding.Marshaler) ([]byte, error)
}

// NewStream answers 200 with the given headers, in protobuf where the Accept header of r names it, else in JSON, and flushes them, so
// that the subscriber knows that it is heard before the first event.
func NewStream(w http.ResponseWriter, r *http.Request, headers http.Header) (*Stream, error) {
	s, media := &Stream{w: w, control: http.NewResponseController(w), marshal: encoding.Marshaler.Marshal}, mediaProtobuf
	if !strings.Contains(r.Header.Get("Accept"), mediaProtobuf) {
		s.marshal, media = func(m encoding.Marshaler) ([]byte, error) { return json.Marshal(m) }, mediaJSON
	}
	maps.Copy(w.Header(), headers)
	w.Header().Set("Content-Type", media)
	w.WriteHeader(http.StatusOK)
	if err := s.control.Flush(); err != nil {
		return nil, fmt.Errorf("open an event stream: %w", err)
	}
	return s, nil
}

// Serve sends what is queued, and the heartbeat at its intervals, until the queue is closed or ctx ends.
func (s *Stream) Serve(ctx context.Context, events *queue.Queue[encoding.Marshaler], interval time.Duration, heartbeat encoding.Marshaler) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		queued, open := events.Take()
		if len(queued) > 0 {
			if err := s.Send(ctx, queued...); err != nil {
				return err
			}
		}
		if !open {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-events.Wake():
		case <-ticker.C:
			if err := s.Send(ctx, heartbeat); err != nil {
				return err
			}
		}
	}
}

// Send writes the events in order and flushes once. It gives up when ctx ends while the subscriber does not read. After an error
// the stream is broken.
func (s *Stream) Send(ctx context.Context, events ...encoding.Marshaler) error {
	var frames bytes.Buffer
	for _, event := range events {
		frame, err := s.marshal(event)
		if err != nil {
			return fmt.Errorf("encode an event: %w", err)
		}
		fmt.Fprintf(&frames, "%d\n", len(frame))
		frames.Write(frame)
	}
	abort := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(abort)
		// Not every ResponseWriter has deadlines; then the write ends with the connection.
		_ = s.control.SetWriteDeadline(time.Now())
	})
	_, err := s.w.Write(frames.Bytes())
	err = errors.Join(err, s.control.Flush())
	if !stop() {
		<-abort
		err = errors.Join(ctx.Err(), err)
	}
	if err != nil {
		return fmt.Errorf("write to an event stream: %w", err)
	}
	return nil
}
