package outbox

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"syscall"
)

// disk is a folder in memory that tracks which data would survive a crash of the machine, and fails at a given step.
type disk struct {
	mu     sync.Mutex
	rng    *rand.Rand
	files  map[string]*content // as processes see them
	synced map[string]*content // names that would survive a crash
	fault  error               // the error of one step
	steps  int                 // how many steps succeed before fault; negative: all
	full   bool                // writes that extend a file fail
	dead   bool                // the machine has crashed: steps and reads fail
	hang   chan struct{}       // if not nil, an fsync waits until hang is closed
	locked bool
}

// content is the content of a file. Until an fsync, a crash may keep any part of what was written.
type content struct {
	data   []byte
	synced []byte
}

// errCrash as the fault makes all later steps and reads fail too.
var errCrash = errors.New("the machine has crashed")

func newDisk(seed uint64) *disk {
	return &disk{rng: rand.New(rand.NewPCG(seed, 0)), files: map[string]*content{}, synced: map[string]*content{},
		steps: -1}
}

// step counts one step that changes something, and returns its error if it fails. The caller holds mu.
func (d *disk) step() error {
	if d.dead {
		return errCrash
	}
	if d.steps--; d.steps != -1 {
		return nil
	}
	if errors.Is(d.fault, errCrash) {
		d.dead = true
	}
	return d.fault
}

func (d *disk) crashed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dead
}

// crash returns the disk as the next process finds it after a crash.
func (d *disk) crash() *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := newDisk(d.rng.Uint64())
	names := maps.Clone(d.synced)
	for _, name := range slices.Sorted(maps.Keys(d.files)) { // unsynced names may survive
		if d.rng.IntN(2) == 0 {
			names[name] = d.files[name]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c := names[name]
		data := slices.Clone(c.synced)
		for i := range c.data { // in pages of 7 bytes, each of which may have reached the disk
			if i%7 == 0 && d.rng.IntN(2) == 0 {
				end := min(i+7, len(c.data))
				data = append(data, make([]byte, max(0, end-len(data)))...)
				copy(data[i:end], c.data[i:end])
			}
		}
		next.files[name] = &content{slices.Clone(data), data}
		next.synced[name] = next.files[name]
	}
	return next
}

func (d *disk) Lock() (io.Closer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.locked {
		return nil, errors.New("another process uses it")
	}
	d.locked = true
	return unlocker{d}, nil
}

type unlocker struct{ d *disk }

func (u unlocker) Close() error {
	u.d.mu.Lock()
	defer u.d.mu.Unlock()
	u.d.locked = false
	return nil
}

func (d *disk) Names() ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.files)), nil
}

func (d *disk) Open(name string, flag int) (File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.files[name]
	if flag&os.O_CREATE != 0 {
		if err := d.step(); err != nil {
			return nil, err
		}
	}
	switch {
	case c == nil && flag&os.O_CREATE == 0:
		return nil, fs.ErrNotExist
	case c != nil && flag&os.O_EXCL != 0:
		return nil, fs.ErrExist
	case c == nil:
		c = &content{}
		d.files[name] = c
	case flag&os.O_TRUNC != 0:
		c.data = nil
	}
	return &opened{d, c}, nil
}

func (d *disk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return err
	}
	d.files[to] = d.files[from]
	delete(d.files, from)
	return nil
}

func (d *disk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return err
	}
	if d.files[name] == nil {
		return fs.ErrNotExist
	}
	delete(d.files, name)
	return nil
}

func (d *disk) Sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return err
	}
	d.synced = maps.Clone(d.files)
	return nil
}

// flip changes a byte of a file, like a faulty disk.
func (d *disk) flip(name string, at int) {
	d.files[name].data[at] ^= 0x55
}

type opened struct {
	d *disk
	c *content
}

func (o *opened) ReadAt(p []byte, off int64) (int, error) {
	o.d.mu.Lock()
	defer o.d.mu.Unlock()
	if o.d.dead {
		return 0, errCrash
	}
	return bytes.NewReader(o.c.data).ReadAt(p, off)
}

func (o *opened) WriteAt(p []byte, off int64) (int, error) {
	o.d.mu.Lock()
	defer o.d.mu.Unlock()
	err := o.d.step()
	if o.d.full && int(off)+len(p) > len(o.c.data) {
		err = errNoSpace
	}
	if err != nil { // a part of p may be written
		if o.d.dead && !errors.Is(err, errCrash) {
			return 0, err
		}
		p = p[:o.d.rng.IntN(len(p)+1)]
	}
	o.c.data = append(o.c.data, make([]byte, max(0, int(off)+len(p)-len(o.c.data)))...)
	copy(o.c.data[off:], p)
	return len(p), err
}

func (o *opened) Size() (int64, error) {
	o.d.mu.Lock()
	defer o.d.mu.Unlock()
	return int64(len(o.c.data)), nil
}

func (o *opened) Truncate(size int64) error {
	o.d.mu.Lock()
	defer o.d.mu.Unlock()
	if err := o.d.step(); err != nil {
		return err
	}
	o.c.data = o.c.data[:size]
	return nil
}

func (o *opened) Sync() error {
	o.d.mu.Lock()
	hang := o.d.hang
	o.d.mu.Unlock()
	if hang != nil {
		<-hang
	}
	o.d.mu.Lock()
	defer o.d.mu.Unlock()
	if err := o.d.step(); err != nil {
		return err
	}
	o.c.synced = slices.Clone(o.c.data)
	return nil
}

func (o *opened) Close() error { return nil }

// errNoSpace is the error of a full disk.
var errNoSpace error = syscall.ENOSPC

// errDisk is the error of a faulty disk.
var errDisk error = syscall.EIO
