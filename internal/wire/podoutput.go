package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// In a pod the executor has no agent to report to. While its task runs it writes records into the output of the pod's
// container, between the output of the job. Each record is an application program command of ECMA-48, which terminals
// do not show, followed by a newline.
//
//	ESC _ elasticjob; {"status":{…}} ESC \ newline
//
// A job can write records too. They can report nothing that its executor could not report, because they concern only
// the task of this output.

// MaxPodRecord bounds a record in bytes, including its frame. A pipe writes that many bytes atomically (PIPE_BUF), so
// that the output of the job never gets in between.
const MaxPodRecord = 4096

// A record is recordBegin, JSON without control characters, and recordEnd.
const (
	escape      = 0x1b
	recordBegin = "\x1b_elasticjob;"
	recordEnd   = "\x1b\\\n"
)

// PodRecord is a message of an executor in a container's output. Exactly one of its fields is set.
type PodRecord struct {
	Status *Status `json:"status,omitempty"`
	Report *Report `json:"report,omitempty"`
}

// Encode returns the bytes of r in the output. It shortens the causes of a status to the available space.
func (r PodRecord) Encode() ([]byte, error) {
	const room = MaxPodRecord - len(recordBegin) - len(recordEnd)
	var data []byte
	var err error
	switch {
	case r.Status != nil:
		data, err = r.Status.encodeWithin(room, func(s Status) any { return PodRecord{Status: &s} })
	case r.Report != nil:
		report := *r.Report
		report.Version = firstVersion
		data, err = json.Marshal(PodRecord{Report: &report})
	}
	if err == nil && len(data) > room {
		err = fmt.Errorf("it takes %d bytes, a record of a container's output has room for %d", len(data), room)
	}
	if err != nil {
		return nil, fmt.Errorf("describe task status: %w", err)
	}
	return append(append([]byte(recordBegin), data...), recordEnd...), nil
}

// PodOutput splits the stream of a container's output into the output of the job and the records of its executor. The
// zero value is ready for use.
type PodOutput struct {
	held []byte // possibly the beginning of a record
}

// Next accepts the next part of the output, which may end in the middle of a record. It returns the text of the job
// and the records. Malformed records, and records without a version, are text.
func (o *PodOutput) Next(part []byte) (text []byte, records []PodRecord) {
	rest := append(o.held, part...)
	for len(rest) > 0 {
		i := bytes.IndexByte(rest, escape)
		if i < 0 {
			text, rest = append(text, rest...), nil
			break
		}
		text, rest = append(text, rest[:i]...), rest[i:]
		record, length := readRecord(rest)
		if length == 0 {
			break // the next part shows whether it is a record
		}
		if record != nil {
			records = append(records, *record)
		} else {
			text = append(text, rest[:length]...)
		}
		rest = rest[length:]
	}
	o.held = bytes.Clone(rest)
	return text, records
}

// End returns the held text at the end of the output; an incomplete record is text.
func (o *PodOutput) End() (text []byte) {
	text, o.held = o.held, nil
	return text
}

// readRecord reads output that begins with an escape. It returns the record, or nil for text, and the length of
// either. The length is 0 if only the next part of the output shows which of them it is.
func readRecord(output []byte) (record *PodRecord, length int) {
	begin := output[:min(len(output), len(recordBegin))]
	if !bytes.HasPrefix([]byte(recordBegin), begin) {
		return nil, 1
	}
	if len(begin) < len(recordBegin) {
		return nil, 0
	}
	output = output[:min(len(output), MaxPodRecord)]
	body := output[len(recordBegin):]
	size := bytes.IndexFunc(body, func(r rune) bool { return r < ' ' })
	end := []byte(nil)
	if size >= 0 {
		body, end = body[:size], body[size:]
	}
	switch {
	case bytes.HasPrefix(end, []byte(recordEnd)):
		length = len(recordBegin) + size + len(recordEnd)
		return decodeRecord(body), length
	case len(output) < MaxPodRecord && bytes.HasPrefix([]byte(recordEnd), end):
		return nil, 0
	}
	return nil, 1
}

func decodeRecord(data []byte) *PodRecord {
	var r PodRecord
	if json.Unmarshal(data, &r) != nil || (r.Status == nil) == (r.Report == nil) {
		return nil
	}
	if r.Status != nil && r.Status.Version < 1 || r.Report != nil && r.Report.Version < 1 {
		return nil
	}
	return &r
}

// EncodeWithin encodes s in at most limit bytes. It shortens the causes to the available space, and returns an error
// if s is too long even without them.
func (s Status) EncodeWithin(limit int) ([]byte, error) {
	data, err := s.encodeWithin(limit, func(s Status) any { return s })
	if err == nil && len(data) > limit {
		err = fmt.Errorf("it takes %d bytes without its cause, and there is room for %d", len(data), limit)
	}
	if err != nil {
		return nil, fmt.Errorf("describe task status: %w", err)
	}
	return data, nil
}

// encodeWithin encodes the value that wrap returns for s, with as much of the causes as fits into limit bytes.
func (s Status) encodeWithin(limit int, wrap func(Status) any) ([]byte, error) {
	s.Version = firstVersion
	longest := len(s.Cause)
	if s.Run != nil {
		longest = max(longest, len(s.Run.Cause))
	}
	data, err := json.Marshal(wrap(s))
	if err != nil || len(data) <= limit {
		return data, err
	}
	// A binary search finds the greatest length that fits, because the JSON length of a text depends on its content.
	low, high := 0, longest
	for low < high {
		middle := (low + high + 1) / 2
		if data, err = json.Marshal(wrap(s.shortened(middle))); err != nil {
			return nil, err
		}
		if len(data) <= limit {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return json.Marshal(wrap(s.shortened(low)))
}

// shortened returns s with causes of at most length bytes.
func (s Status) shortened(length int) Status {
	s.Cause = shortenCause(s.Cause, length)
	if s.Run != nil {
		run := *s.Run
		run.Cause, s.Run = shortenCause(run.Cause, length), &run
	}
	return s
}

// cut replaces the omitted middle of a cause.
const cut = "\n…\n"

// shortenCause cuts the middle out of a cause. The beginning says what happened, and the end is the end of the
// process's output. It returns "" if there is hardly any space.
func shortenCause(text string, length int) string {
	if len(text) <= length {
		return text
	}
	if length < 2*len(cut) {
		return ""
	}
	room := length - len(cut)
	begin := room / 4
	return validUTF8(text[:begin]) + cut + validUTF8(text[len(text)-(room-begin):])
}

// validUTF8 removes characters that a cut has split.
func validUTF8(text string) string { return string(bytes.ToValidUTF8([]byte(text), nil)) }
