package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// In a pod the executor has no agent to report to. What it says while its task runs stands in the output of the pod's
// container, between what the job writes: as records, each of which is an application program command of ECMA-48 with
// a newline behind it, which terminals don't show.
//
//	ESC _ elasticjob; {"status":{…}} ESC \ newline
//
// A job can write records, too. It can say by them no more than its executor could: they are of the one task whose
// output they are in.

// MaxPodRecord bounds a record, in bytes, with all that surrounds its JSON: a pipe takes so many bytes as a whole
// (PIPE_BUF), so nothing that the job writes gets in between.
const MaxPodRecord = 4096

// A record is recordBegin, JSON without a byte below the space, recordEnd.
const (
	escape      = 0x1b
	recordBegin = "\x1b_elasticjob;"
	recordEnd   = "\x1b\\\n"
)

// PodRecord is what an executor says in a container's output. One of its fields is set.
type PodRecord struct {
	Status *Status `json:"status,omitempty"`
	Report *Report `json:"report,omitempty"`
}

// Encode writes r as it stands in the output. Causes in its status are shortened to what there is room for.
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

// PodOutput splits a container's output, as it comes, into what the job wrote and what its executor says. The zero
// value is ready.
type PodOutput struct {
	held []byte // what may be the beginning of a record
}

// Next takes the next part of the output, cut at any byte, and gives the text that is known to be the job's, and the
// records. What looks like a record and isn't one, or is of a version that is not known, is text.
func (o *PodOutput) Next(part []byte) (text []byte, records []PodRecord) {
	rest := append(o.held, part...)
	for len(rest) > 0 {
		at := bytes.IndexByte(rest, escape)
		if at < 0 {
			text, rest = append(text, rest...), nil
			break
		}
		text, rest = append(text, rest[:at]...), rest[at:]
		record, length := readRecord(rest)
		if length == 0 {
			break // what follows decides
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

// End gives what was held back at the end of the output: text, for no record is cut off.
func (o *PodOutput) End() (text []byte) {
	text, o.held = o.held, nil
	return text
}

// readRecord reads what begins with an escape: a record, or, without one, text, of that length. The length is 0 if
// more of the output decides.
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

// EncodeWithin writes s in at most so many bytes: causes are shortened to what there is room for. It is an error if s
// is too long without them.
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

// encodeWithin writes what within makes of s, with as much of its causes as there is room for.
func (s Status) encodeWithin(limit int, within func(Status) any) ([]byte, error) {
	s.Version = firstVersion
	whole := len(s.Cause)
	if s.Run != nil {
		whole = max(whole, len(s.Run.Cause))
	}
	data, err := json.Marshal(within(s))
	if err != nil || len(data) <= limit {
		return data, err
	}
	// The longest that fits is found by halving: how long text becomes in JSON depends on what it is.
	least, most := 0, whole
	for least < most {
		middle := (least + most + 1) / 2
		if data, err = json.Marshal(within(s.shortened(middle))); err != nil {
			return nil, err
		}
		if len(data) <= limit {
			least = middle
		} else {
			most = middle - 1
		}
	}
	return json.Marshal(within(s.shortened(least)))
}

// shortened has causes of at most so many bytes.
func (s Status) shortened(length int) Status {
	s.Cause = shortenCause(s.Cause, length)
	if s.Run != nil {
		run := *s.Run
		run.Cause, s.Run = shortenCause(run.Cause, length), &run
	}
	return s
}

// cut stands for what is left out of a cause.
const cut = "\n…\n"

// shortenCause leaves the beginning of a cause, which says what happened, and its end, which is that of the process's
// output.
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

// validUTF8 is text without what was left of characters where it was cut.
func validUTF8(text string) string { return string(bytes.ToValidUTF8([]byte(text), nil)) }
