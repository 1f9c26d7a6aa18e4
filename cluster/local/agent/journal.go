package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

// journal is the append-only file of one executor run. Each record is one line of JSON. A record that kill -9 cut off
// is the last one and has no line end; nothing that depends on it was sent. The journal is not synced; the package
// comment gives the reason.
//
// Disk blocks are allocated ahead, so that a task that fills the disk cannot prevent the recording of other tasks'
// updates.
//
// The journal of a long-lived executor is rewritten when most of it belongs to tasks that have ended. Its size is
// therefore proportional to the live state, and an append costs O(1) on average.
type journal struct {
	path      string
	file      *os.File
	size      int64
	rewriteAt int64 // the size at which it is rewritten
	allocated int64 // the size up to which blocks are allocated
}

// rewriteAbove is the minimum size in bytes at which a journal is rewritten.
const rewriteAbove = 1 << 20

// preallocateStep is the size in bytes by which blocks are allocated. At least half of it is always allocated ahead.
const preallocateStep = 1 << 20

// record is one line of a journal. Kind determines its meaning; see the constants.
type record struct {
	Kind string `json:"k"`
	// Task is the id of the task that the record is about.
	Task string `json:"t,omitempty"`
	// Tasks are the ids of a recSent record.
	Tasks []string                    `json:"ts,omitempty"`
	Info  *link.Proto[mesos.TaskInfo] `json:"i,omitempty"`
	// Status is the update of a recUpdate record. UUID is that of the acknowledged update in a recAcked record. In a
	// recTask record of a rewritten journal, UUID holds the UUIDs of all acknowledged updates, concatenated.
	Status *link.Proto[mesos.TaskStatus] `json:"p,omitempty"`
	UUID   []byte                        `json:"u,omitempty"`
	Run    *run                          `json:"run,omitempty"`
	Proc   *process                      `json:"proc,omitempty"`
	// Sent is set for a task that was sent to its executor when it was recorded.
	Sent bool `json:"s,omitempty"`
	// Forget is set for the shutdown of an executor whose framework was removed.
	Forget bool `json:"f,omitempty"`
}

// The kinds of records.
const (
	recRun      = "run"      // the description of the executor that is about to be started; written before the fork
	recForked   = "forked"   // its process
	recTask     = "task"     // a task for it
	recSent     = "sent"     // tasks that were sent to it
	recUpdate   = "update"   // a status update, not yet acknowledged
	recAcked    = "acked"    // the acknowledgement of the oldest update
	recShutdown = "shutdown" // its shutdown has begun
	recEnded    = "ended"    // its process is gone
)

// run is the description from which an executor is started.
type run struct {
	Container string                          `json:"container"`
	Mark      uint64                          `json:"mark"`
	Framework link.Proto[mesos.FrameworkInfo] `json:"framework"`
	Executor  link.Proto[mesos.ExecutorInfo]  `json:"executor"`
}

// createJournal creates a journal with its first records.
func createJournal(path string, first ...record) (*journal, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create an executor's journal: %w", err)
	}
	j := &journal{path: path, file: file, rewriteAt: rewriteAbove}
	if err := j.append(first...); err != nil {
		return nil, errors.Join(err, j.remove())
	}
	return j, nil
}

// openJournal opens a journal for appending and returns its records. It cuts off a last record that is incomplete.
func openJournal(path string) (*journal, []record, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open an executor's journal: %w", err)
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("read an executor's journal: %w", err), file.Close())
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	var records []record
	for line := range bytes.Lines(data[:whole]) {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			err = fmt.Errorf("read an executor's journal %s, record %d: %w", path, len(records)+1, err)
			return nil, nil, errors.Join(err, file.Close())
		}
		records = append(records, r)
	}
	if err := file.Truncate(int64(whole)); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("cut the torn end off a journal: %w", err), file.Close())
	}
	j := &journal{path: path, file: file, size: int64(whole), rewriteAt: rewriteAbove}
	j.preallocate()
	return j, records, nil
}

func encode(records []record) ([]byte, error) {
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	for i := range records {
		if err := encoder.Encode(&records[i]); err != nil {
			return nil, fmt.Errorf("encode a journal record: %w", err)
		}
	}
	return lines.Bytes(), nil
}

// append writes the records in one write: all of them or none.
func (j *journal) append(records ...record) error {
	lines, err := encode(records)
	if err != nil {
		return err
	}
	if _, err := j.file.Write(lines); err != nil {
		// A part may have been written and must not precede the next record. Truncating also frees the allocated
		// blocks.
		j.allocated = 0
		return fmt.Errorf("append to an executor's journal: %w", errors.Join(err, j.file.Truncate(j.size)))
	}
	j.size += int64(len(lines))
	j.preallocate()
	return nil
}

// preallocate allocates blocks for the next records. If the disk is full, the next append tries again.
func (j *journal) preallocate() {
	if j.size+preallocateStep/2 > j.allocated && unix.Fallocate(int(j.file.Fd()), unix.FALLOC_FL_KEEP_SIZE, j.size,
		preallocateStep) == nil {
		j.allocated = j.size + preallocateStep
	}
}

// replace replaces the journal by a new file with these records. It renames that file, so that a crash leaves either
// the old or the new one.
func (j *journal) replace(records []record) error {
	lines, err := encode(records)
	if err != nil {
		return err
	}
	temp := j.path + ".new"
	if err := os.WriteFile(temp, lines, 0o600); err != nil {
		return fmt.Errorf("rewrite an executor's journal: %w", err)
	}
	file, err := os.OpenFile(temp, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("rewrite an executor's journal: %w", err)
	}
	if err := os.Rename(temp, j.path); err != nil {
		return fmt.Errorf("rewrite an executor's journal: %w", errors.Join(err, file.Close()))
	}
	err = j.file.Close()
	j.file, j.size, j.rewriteAt, j.allocated = file, int64(len(lines)), max(rewriteAbove, 4*int64(len(lines))), 0
	j.preallocate()
	return err
}

func (j *journal) close() error { return j.file.Close() }

func (j *journal) remove() error { return errors.Join(j.file.Close(), os.Remove(j.path)) }
