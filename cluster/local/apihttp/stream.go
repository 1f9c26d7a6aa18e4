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

// Stream answers the SUBSCRIBE request r with events in RecordIO frames: the queued events, and heartbeat at the given
// interval. It returns nil when the queue is closed and all its events are written, and an error when ctx ends or a
// write fails. The events are in protobuf if the Accept header names it, and otherwise in JSON. The headers are sent
// before the first event, so that the subscriber knows that its request was accepted.
func Stream(
	ctx context.Context, w http.ResponseWriter, r *http.Request, headers http.Header,
	events *queue.Queue[encoding.Marshaler], interval time.Duration, heartbeat encoding.Marshaler,
) error {
	s, media := &stream{w: w, control: http.NewResponseController(w), marshal: encoding.Marshaler.Marshal},
		mediaProtobuf
	if !strings.Contains(r.Header.Get("Accept"), mediaProtobuf) {
		s.marshal, media = func(m encoding.Marshaler) ([]byte, error) { return json.Marshal(m) }, mediaJSON
	}
	maps.Copy(w.Header(), headers)
	w.Header().Set("Content-Type", media)
	w.WriteHeader(http.StatusOK)
	if err := s.control.Flush(); err != nil {
		return fmt.Errorf("open an event stream: %w", err)
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		queued, open := events.Take()
		if err := s.send(ctx, queued...); err != nil || !open {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-events.Wake():
		case <-ticker.C:
			if err := s.send(ctx, heartbeat); err != nil {
				return err
			}
		}
	}
}

// stream writes events to one subscriber. Only one goroutine may use it.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	marshal func(encoding.Marshaler) ([]byte, error)
}

// send writes the events in order and flushes once. If ctx ends while the subscriber does not read, send returns an
// error. After an error the stream is unusable.
func (s *stream) send(ctx context.Context, events ...encoding.Marshaler) error {
	if len(events) == 0 {
		return nil
	}
	var frames bytes.Buffer
	for _, event := range events {
		frame, err := s.marshal(event)
		if err != nil {
			return fmt.Errorf("encode an event: %w", err)
		}
		fmt.Fprintf(&frames, "%d\n", len(frame))
		frames.Write(frame)
	}
	aborted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(aborted)
		// Some ResponseWriters have no deadlines; the write then ends with the connection.
		_ = s.control.SetWriteDeadline(time.Now())
	})
	_, err := s.w.Write(frames.Bytes())
	err = errors.Join(err, s.control.Flush())
	if !stop() {
		<-aborted
		err = errors.Join(ctx.Err(), err)
	}
	if err != nil {
		return fmt.Errorf("write to an event stream: %w", err)
	}
	return nil
}
