package output

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/executor/stacktrace"
)

// While a task runs, the executor holds the task's output files open and accesses them by their descriptors. If the
// files belong to the task's user, the task can put links, pipes or folders in their place, but its output still goes
// to the open files. The kernel grants no lease (fcntl) on a file that is open for writing, so a task can't block the
// executor's access by a lease either. In folders of ended tasks, no function here follows a link or waits for a pipe.

const (
	// CauseLength limits the output in a failure's cause, in bytes. The scheduler keeps the last 2,000 bytes of the
	// whole cause, which begins with a sentence.
	CauseLength = 1600
	// MessageLength limits the one-line message of an update, in bytes.
	MessageLength = 300
	// TailLength is how many bytes at the end of a stream are read for a cause. It is much more than CauseLength, so
	// that these bytes contain the exception of a stack trace: Java prints 1024 frames of some 100 bytes each.
	TailLength = 128 << 10
)

// openNoFollow opens a regular file, and fails if a link or a pipe is in its place.
func openNoFollow(path string, flags int) (*os.File, error) {
	return OpenRegular(path, flags|syscall.O_NOFOLLOW)
}

// OpenRegular opens a regular file. It does not block on a pipe, but follows links, because packages contain links.
func OpenRegular(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, fmt.Errorf("%s is not a regular file any more", path)
	}
	return f, nil
}

// readDirNoFollow lists a folder, and fails if a link is in its place.
func readDirNoFollow(path string) ([]fs.DirEntry, error) {
	f, err := os.OpenFile(path, syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return f.ReadDir(-1)
}

// usedBytes returns how many bytes of the disk an output file uses. It does not count holes and the rest of the last
// block, but it counts blocks that a process has allocated behind the file's end.
func usedBytes(info fs.FileInfo) int64 {
	disk := diskSize(info)
	if disk > info.Size()+allocatedAhead {
		return disk
	}
	return min(disk, info.Size())
}

// allocatedAhead is how many bytes file systems may allocate behind the end of a file by themselves, including the
// rest of its last block.
const allocatedAhead = 64 << 10

// diskSize returns how many bytes a file uses on the disk.
func diskSize(info fs.FileInfo) int64 {
	const block = 512
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * block
	}
	return info.Size()
}

// sizeOfAll returns how many bytes a folder uses on the disk, including files that tasks put there.
func sizeOfAll(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				bytes += diskSize(info)
			}
		}
		return nil
	})
	return bytes
}

// diskFull reports whether the disk of a folder has no space left for the output of tasks.
func diskFull(folder string) bool {
	const reserve = 64 << 10
	var disk syscall.Statfs_t
	return syscall.Statfs(folder, &disk) == nil && disk.Bavail*uint64(disk.Bsize) < reserve
}

// contents describes a folder of output.
type contents struct {
	// bytes is how many bytes the folder uses on the disk.
	bytes int64
	// plain means that the folder contains only the output files, and that they have no other links and belong to the
	// executor.
	plain bool
	// empty means that all files are empty.
	empty bool
}

func (o *Files) contentsOf(dir string) (c contents) {
	entries, err := readDirNoFollow(dir)
	c.plain, c.empty = err == nil && len(entries) == len(streamNames), true
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() {
			c.plain = false
			c.bytes += sizeOfAll(filepath.Join(dir, entry.Name()))
			continue
		}
		c.bytes += usedBytes(info)
		c.empty = c.empty && info.Size() == 0
		stat, ok := info.Sys().(*syscall.Stat_t)
		c.plain = c.plain && slices.Contains(streamNames, entry.Name()) &&
			(!ok || stat.Nlink == 1 && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o600 == 0o600)
	}
	return c
}

// truncate empties the output files of a folder that was plain. It returns false if the folder is not plain any more.
func (o *Files) truncate(dir string) bool {
	c := o.contentsOf(dir)
	if !c.plain || c.empty {
		return c.plain
	}
	for _, stream := range streamNames {
		f, err := openNoFollow(filepath.Join(dir, stream), os.O_WRONLY|os.O_TRUNC)
		if err != nil {
			return false
		}
		_ = f.Close()
	}
	return true
}

// part is a range of a file, in bytes from its beginning.
type part struct{ from, to int64 }

// maxParts limits the memory for a file with many holes.
const maxParts = 256

// endOf lists the ranges that contain the last limit bytes of a file. Holes are not read and do not count: with a hole
// a task can make its output larger than any disk.
func endOf(f *os.File, limit int64) ([]part, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var parts []part
	for offset := int64(0); offset < info.Size(); {
		p := part{offset, info.Size()}
		from, err := unix.Seek(int(f.Fd()), offset, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break // the rest of the file is a hole
		}
		if err == nil {
			if p.to, err = unix.Seek(int(f.Fd()), from, unix.SEEK_HOLE); err == nil {
				p.from = from
			}
		}
		if err != nil {
			p.to = info.Size() // the file was truncated, or the file system does not report holes
		}
		if parts = append(parts, p); len(parts) > maxParts {
			parts = parts[1:]
		}
		offset = p.to
	}
	first := len(parts)
	for ; first > 0 && limit > 0; first-- {
		p := &parts[first-1]
		p.from = max(p.from, p.to-limit)
		limit -= p.to - p.from
	}
	return parts[first:], nil
}

// Mark is the number of bytes that a task had written to stdout and to stderr at some moment.
type Mark [2]int64

// Mark implements Sink.
func (o *Files) Mark(number string) (m Mark) {
	for i, f := range o.filesOf(number) {
		if info, err := f.Stat(); err == nil {
			m[i] = info.Size()
		}
	}
	return m
}

// Cause implements Sink. It uses the end of stdout if the task wrote nothing but notices to stderr.
func (o *Files) Cause(number, failure string, since Mark, show func([]byte) string) string {
	if diskFull(o.sandbox) {
		failure += "; the agent's disk is full"
	}
	files := o.filesOf(number)
	if len(files) > 0 && protocolOnStdout.Match(endOfFile(files[0], since[0])) {
		failure += "; it wrote messages of the protocol to stdout: write them to its pipe (ELASTICJOB_PIPE)"
	}
	var ends [2]string
	for i, f := range slices.Backward(files) {
		if ends[i] = lastOf(endOfFile(f, since[i]), show); ends[i] != "" && !isNotice(ends[i]) {
			break
		}
	}
	return withEnds(failure, ends)
}

// The ends of causes of processes that wrote nothing.
const (
	silent       = "; it wrote nothing"
	silentStderr = "; it wrote nothing to stderr"
)

// TrimSilent returns a cause without the clause that the process wrote nothing.
func TrimSilent(cause string) string {
	return strings.TrimSuffix(strings.TrimSuffix(cause, silent), silentStderr)
}

// withEnds appends the end of stdout or stderr to the description of a failure. ends are in the order of streamNames.
// The end of stdout is empty unless that of stderr has nothing but notices.
func withEnds(failure string, ends [2]string) string {
	stdout, stderr := ends[0], ends[1]
	switch {
	case stdout == "" && stderr == "":
		return failure + silent
	case stdout == "":
		return withEnd(failure, streamNames[1], stderr)
	}
	return withEnd(failure, streamNames[0], stdout)
}

// withEnd appends the end of a stream to the description of a failure.
func withEnd(failure, stream, end string) string {
	return withReason(failure, end) + "; end of " + stream + ":\n" + end
}

// protocolOnStdout matches the output of a resident process that writes its messages to stdout instead of its pipe.
var protocolOnStdout = regexp.MustCompile(`(?m)^\s*\{.*"type"\s*:\s*"(?:hello|done)"`)

// endOfFile returns the last TailLength bytes of a file, without the part before the mark since. It returns nil if the
// file can't be read.
func endOfFile(f *os.File, since int64) []byte {
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	size := info.Size()
	if size < since {
		since = 0
	}
	parts, err := endOf(f, min(size-since, TailLength))
	if err != nil {
		return nil
	}
	var end bytes.Buffer
	for _, p := range parts {
		if p.to <= since {
			continue
		}
		p.from = max(p.from, since)
		if _, err := io.Copy(&end, io.NewSectionReader(f, p.from, p.to-p.from)); err != nil {
			return nil
		}
	}
	return end.Bytes()
}

// lastOf returns the end of a stream in the form for a cause: without the frames of stack traces and, if it has other
// lines, without notices. data is at most TailLength bytes long.
func lastOf(data []byte, show func([]byte) string) string {
	if len(data) == TailLength { // the first line may be the rest of a frame
		const longest = 500
		if _, rest, ok := bytes.Cut(data, []byte("\n")); ok && len(data)-len(rest) < longest {
			data = rest
		}
		data = bytes.TrimLeftFunc(data, func(r rune) bool { return r == utf8.RuneError })
	}
	text := strings.TrimSpace(stacktrace.Shorten(printable(show(data))))
	return cutAfterException(cmp.Or(withoutNotices(text), text), CauseLength)
}

// Readable returns the last limit bytes of a text, in whole characters, without control characters and terminal
// colours, so that it can be shown anywhere.
func Readable(text string, limit int) string { return cut(strings.TrimSpace(printable(text)), limit) }

// printable returns a text without control characters and terminal colours.
func printable(text string) string {
	var b strings.Builder
	escape := false
	last := rune(0)
	for i, r := range text {
		switch {
		case r == 0x1b:
			escape = true
		case escape:
			// A sequence is ESC [ … letter; other sequences are two characters long.
			if first := text[i-1] == 0x1b; first && r != '[' || !first && r >= '@' && r <= '~' {
				escape = false
			}
		case r == utf8.RuneError && last == r: // successive bytes that are not UTF-8 become one character
		case r == '\n' || r == '\t' || r >= ' ' && r != 0x7f && (r < 0x80 || r >= 0xa0):
			b.WriteRune(r)
			last = r
		}
	}
	return b.String()
}

// cut returns the last limit bytes of a text, in whole characters.
func cut(text string, limit int) string {
	from := len(text) - limit
	if from <= 0 {
		return text
	}
	for !utf8.RuneStart(text[from]) {
		from++
	}
	return "…" + text[from:]
}
