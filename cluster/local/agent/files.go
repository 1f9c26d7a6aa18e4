package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/elasticjob-go/elasticjob/cluster/local/apihttp"
)

// The agent's files API: /files/read. It serves the paths that Mesos 1.12 attaches for each executor run, and no other:
//
//	<work folder>/slaves/<agent>/frameworks/<framework>/executors/<executor>/runs/<container>
//	<work folder>/slaves/<agent>/frameworks/<framework>/executors/<executor>/runs/latest
//	/frameworks/<framework>/executors/<executor>/runs/latest
//
// The third is Mesos' virtual path. It names no container: with one it is answered with 404, so a client that asks for the output
// of a certain run has to know the absolute folder. All are served from the executor's start until its sandbox is removed, whether
// or not the executor, or its framework, has ended. Nothing outside of sandboxes is served: each is opened as an os.Root of its
// own, so a link that a job made leads nowhere.

// latestRun stands for an executor's newest run.
const latestRun = "latest"

// readLimit is the most that one read returns: 16 pages.
const readLimit = 64 << 10

var errDirectory = errors.New("is a directory")

// open opens the sandbox that name leads into; rest is the way inside of it.
func (s *sandboxes) open(name string) (sandbox *os.Root, rest string, err error) {
	name = path.Clean("/" + name)
	below, absolute := strings.CutPrefix(name, s.options.WorkDir+"/slaves/"+s.agent+"/")
	below = strings.TrimPrefix(below, "/")
	parts := strings.SplitN(below, "/", 7)
	if len(parts) < 6 || parts[0] != "frameworks" || parts[2] != "executors" || parts[4] != "runs" {
		return nil, "", fs.ErrNotExist
	}
	runs := filepath.Join("slaves", s.agent, "frameworks", parts[1], "executors", parts[3], "runs")
	container := parts[5]
	switch {
	case container == latestRun:
		target, err := s.root.Readlink(filepath.Join(runs, latestRun))
		if container = filepath.Base(target); err != nil || !validID(container) || container == latestRun {
			return nil, "", fs.ErrNotExist
		}
	case !absolute:
		return nil, "", fs.ErrNotExist
	}
	rest = path.Clean(strings.Join(parts[6:], "/"))
	sandbox, err = s.root.OpenRoot(filepath.Join(runs, container))
	return sandbox, rest, err
}

// openFile opens a regular file in a sandbox.
func (s *sandboxes) openFile(name string) (*os.File, int64, error) {
	sandbox, rest, err := s.open(name)
	if err != nil {
		return nil, 0, err
	}
	defer sandbox.Close()
	// Without O_NONBLOCK a named pipe that a job made would block the reader.
	file, err := sandbox.OpenFile(rest, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = errDirectory
	case !info.Mode().IsRegular():
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

func (s *sandboxes) serveRead(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	name := query.Get("path")
	if name == "" {
		apihttp.Answer(w, http.StatusBadRequest, "Expecting 'path=value' in query.\n")
		return
	}
	offset, err := queryNumber(query, "offset")
	length, failed := queryNumber(query, "length")
	if err = errors.Join(err, failed); err != nil {
		apihttp.Answer(w, http.StatusBadRequest, err.Error())
		return
	}
	file, size, err := s.openFile(name)
	switch {
	case errors.Is(err, errDirectory):
		apihttp.Answer(w, http.StatusBadRequest, "Cannot read a directory.\n")
		return
	case err != nil:
		// What leads out of a sandbox does not exist for those outside.
		apihttp.Answer(w, http.StatusNotFound, "")
		return
	}
	defer file.Close()
	var data []byte
	at := offset
	switch {
	case offset < 0:
		at = size // only the size is asked for
	case offset < size && length != 0:
		if length < 0 || length > size-offset {
			length = size - offset
		}
		data = make([]byte, min(length, readLimit))
		n, err := file.ReadAt(data, offset)
		if err != nil && !errors.Is(err, io.EOF) {
			apihttp.Answer(w, http.StatusInternalServerError, "Failed to read file: "+err.Error()+".\n")
			return
		}
		data = data[:n]
	}
	body := make([]byte, 0, len(data)+len(data)/8+64)
	body = append(body, `{"data":`...)
	body = appendString(body, string(data))
	w.Header().Set("Content-Type", "application/json")
	// The peer may be gone, and nobody else waits for the answer.
	_, _ = w.Write(fmt.Appendf(body, `,"offset":%d}`, at))
}

// queryNumber reads a number of at least -1, which is also what stands for none.
func queryNumber(query url.Values, name string) (int64, error) {
	if !query.Has(name) {
		return -1, nil
	}
	number, err := strconv.ParseInt(query.Get(name), 10, 64)
	if err != nil || number < -1 {
		return 0, fmt.Errorf("failed to parse %s: '%s' is not a number from -1 on", name, query.Get(name))
	}
	return number, nil
}

// appendString writes text as a JSON string, byte for byte as Mesos does: what is not UTF-8 stays as it is, so that offsets can be
// counted in bytes.
func appendString(body []byte, text string) []byte {
	body = append(body, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			body = append(body, '\\', c)
		case c == '\b':
			body = append(body, `\b`...)
		case c == '\f':
			body = append(body, `\f`...)
		case c == '\n':
			body = append(body, `\n`...)
		case c == '\r':
			body = append(body, `\r`...)
		case c == '\t':
			body = append(body, `\t`...)
		case c < 0x20:
			body = fmt.Appendf(body, `\u%04X`, c)
		default:
			body = append(body, c)
		}
	}
	return append(body, '"')
}
