package outbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// temporary is the suffix of the name of a file that is being written.
const temporary = ".new"

func asideName(k Key) string { return fmt.Sprintf("uncertain-%d-%d", k.Term, k.Number) }

// loadAside finds a batch that an earlier process has set aside. It ignores files with other names.
func (l *Log) loadAside(name string) error {
	var k Key
	if _, err := fmt.Sscanf(name, "uncertain-%d-%d", &k.Term, &k.Number); err != nil || name != asideName(k) {
		return nil
	}
	size, err := l.size(name)
	if err != nil {
		return err
	}
	l.aside = append(l.aside, k)
	l.bytes += size
	return nil
}

// SetAside stores a batch in a separate file until RemoveAside. When it returns nil, the file is on disk, and the
// caller may mark the entry as done.
func (l *Log) SetAside(e Entry) error {
	kind, data := l.codec.pack(e.Data)
	f := frame{kind: kind, term: e.Term, number: e.Number, time: e.Time.UnixMilli(), rows: e.Rows, data: data}
	if err := l.writeAside(e.Key, f.append(nil)); err != nil {
		return fmt.Errorf("set a batch of the history aside: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.aside, e.Key) {
		l.aside = append(l.aside, e.Key)
		l.bytes += f.size()
	}
	return nil
}

func (l *Log) writeAside(k Key, b []byte) (err error) {
	name := asideName(k)
	f, err := l.fs.Open(name+temporary, os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, l.fs.Remove(name+temporary))
	}
	return errors.Join(l.fs.Rename(name+temporary, name), l.fs.Sync())
}

// Aside lists the batches that are set aside.
func (l *Log) Aside() []Key {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.aside)
}

// ReadAside reads a batch that is set aside. If the file is damaged, ReadAside counts and logs that, and returns an
// entry without data.
func (l *Log) ReadAside(k Key) (e Entry, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("read a batch of the history that was set aside: %w", err)
		}
	}()
	f, err := l.fs.Open(asideName(k), 0)
	if err != nil {
		return Entry{}, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Size()
	if err != nil {
		return Entry{}, err
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return Entry{}, err
	}
	e = Entry{Key: k, Outcome: Uncertain}
	fr, ok := parse(b)
	if ok {
		e.Rows, e.Time = fr.rows, time.UnixMilli(fr.time)
		e.Data, err = l.codec.unpack(fr)
	}
	if !ok || err != nil {
		l.recordDamage(asideName(k), 0, size, "no frame with a valid checksum")
		e.Data = nil
	}
	return e, nil
}

// RemoveAside removes a batch that was set aside.
func (l *Log) RemoveAside(k Key) error {
	var size int64
	if f, err := l.fs.Open(asideName(k), 0); err == nil {
		size, err = f.Size()
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("remove a batch of the history that was set aside: %w", err)
		}
	}
	if err := l.fs.Remove(asideName(k)); err != nil {
		return fmt.Errorf("remove a batch of the history that was set aside: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.aside = slices.DeleteFunc(l.aside, func(other Key) bool { return other == k })
	l.bytes -= size
	return nil
}
