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

// While a task runs, the executor holds the task's output files open and accesses them by their descriptors. The
// task can put links, pipes or folders in their place if the files belong to its user, but it still writes to the
// open files. No process can take a lease on a file that is held open for writing, so none can block the executor's
// access. For ended tasks, no function here follows a link or waits for a pipe.

const (
	// CauseLength limits the output in a failure's cause, in bytes. The scheduler keeps the last 2,000 bytes of the
	// whole cause, in which a sentence precedes the output.
	CauseLength = 1600
	// MessageLength limits the one-line message of an update, in bytes.
	MessageLength = 300
	// TailLength is how many bytes at the end of a stream are read for a cause. It exceeds CauseLength so that the
	// exceptions of a stack trace are found: Java prints 1024 frames, of some 100 bytes each.
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

// usedBytes returns how many bytes of the disk an output file uses: without the rest of its last block and without holes,
// but with blocks that were allocated behind its end.
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
	// bytes is what the folder uses on the disk.
	bytes int64
	// plain means that the folder contains only the output files, which have no other links and belong to the
	// executor; empty that all files are empty.
	plain, empty bool
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

// truncate empties the output files of a folder that was plain, and reports whether it still is.
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

// endOf lists the ranges of the last limit bytes of a file, without holes. With a hole a task can make its output
// larger than any disk.
func endOf(f *os.File, limit int64) ([]part, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var parts []part
	for at := int64(0); at < info.Size(); {
		p := part{at, info.Size()}
		from, err := unix.Seek(int(f.Fd()), at, unix.SEEK_DATA)
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
		at = p.to
	}
	first := len(parts)
	for ; first > 0 && limit > 0; first-- {
		p := &parts[first-1]
		p.from = max(p.from, p.to-limit)
		limit -= p.to - p.from
	}
	return parts[first:], nil
}

// Mark is how many bytes a task had written to stdout and stderr at some moment.
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

// Cause implements Sink. It uses the end of stdout if nothing but notices was written to stderr.
func (o *Files) Cause(number, what string, since Mark, show func([]byte) string) string {
	if diskFull(o.sandbox) {
		what += "; the agent's disk is full"
	}
	files := o.filesOf(number)
	if len(files) > 0 && answersStdout.Match(endOfFile(files[0], since[0])) {
		what += "; it wrote messages of the protocol to stdout: write them to its pipe (ELASTICJOB_PIPE)"
	}
	var ends [2]string
	for i, f := range slices.Backward(files) {
		if ends[i] = lastOf(endOfFile(f, since[i]), show); ends[i] != "" && !isNotice(ends[i]) {
			break
		}
	}
	return withEnds(what, ends)
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

// withEnds appends the end of a stream, of those in the order of streamNames, to the description of a failure. stdout is
// read only if stderr holds nothing but notices.
func withEnds(what string, ends [2]string) string {
	stdout, stderr := ends[0], ends[1]
	switch {
	case stdout == "" && stderr == "":
		return what + silent
	case stdout == "":
		return withEnd(what, streamNames[1], stderr)
	}
	return withEnd(what, streamNames[0], stdout)
}

// withEnd appends the end of a stream to the description of a failure.
func withEnd(what, stream, end string) string {
	return withReason(what, end) + "; end of " + stream + ":\n" + end
}

// answersStdout matches output of a resident process that takes stdout for its pipe.
var answersStdout = regexp.MustCompile(`(?m)^\s*\{.*"type"\s*:\s*"(?:hello|done)"`)

// endOfFile returns the last TailLength bytes of a file, without the part before the mark since; nothing if it can't be
// read.
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

// lastOf returns the end of a stream, at most TailLength bytes of which were read, in the form for a cause: without the
// frames of stack traces and, if there is anything else, without notices.
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
		case r == utf8.RuneError && last == r: // one for each run of bytes that are not UTF-8
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
