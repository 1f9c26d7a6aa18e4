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
	"strconv"
	"strings"
	"syscall"

	"github.com/elasticjob-go/elasticjob/cluster/local/apihttp"
)

// The agent's files API is /files/read. It serves only files in the sandboxes of executor runs:
//
//	<work folder>/slaves/<agent>/frameworks/<framework>/executors/<executor>/runs/<container>/…
//
// A sandbox is served from the executor's start until the sandbox is removed, even after the end of the executor or
// its framework. Each sandbox is opened as an os.Root, so that links that a job created cannot lead out of it. Mesos'
// virtual paths to an executor's latest run are not supported. The scheduler keeps the paths of ended runs. If the work
// folder was moved since, such a path begins with the former work folder, and is served as well.

// readLimit is the maximum size of one answer in bytes: 16 pages.
const readLimit = 64 << 10

var (
	errDirectory  = errors.New("is a directory")
	errNotRegular = errors.New("is not a regular file")
)

// openFile opens a regular file in a sandbox and returns its size.
func (s *sandboxes) openFile(name string) (*os.File, int64, error) {
	parts := belowWorkDir(path.Clean(name), s.options.WorkDir)
	if parts == nil {
		return nil, 0, fs.ErrNotExist
	}
	sandbox, err := s.root.OpenRoot(path.Join(parts[:8]...))
	if err != nil {
		return nil, 0, err
	}
	defer sandbox.Close()
	// Without O_NONBLOCK, a named pipe that a job created would block the reader.
	file, err := sandbox.OpenFile(path.Clean(strings.Join(parts[8:], "/")), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = errDirectory
	case !info.Mode().IsRegular():
		err = errNotRegular
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

// belowWorkDir splits the part of a path that is below the work folder. The first eight parts are those of a run, from
// slaves to <container>; the ninth, if there is one, is the path within the sandbox. For a path that begins with
// another folder, belowWorkDir takes that for a former work folder. It returns nil if the path is not in a sandbox.
func belowWorkDir(name, workDir string) []string {
	below, found := strings.CutPrefix(name, workDir+"/")
	for rest := name; ; below = "slaves/" + rest {
		parts := strings.SplitN(below, "/", 9)
		if found && len(parts) >= 8 && parts[0] == "slaves" && parts[2] == "frameworks" && parts[4] == "executors" &&
			parts[6] == "runs" {
			return parts
		}
		if _, rest, found = strings.Cut(rest, "/slaves/"); !found {
			return nil
		}
	}
}

// serveRead handles /files/read. The answer contains the data from an offset on, and that offset. Without an offset in
// the query, it contains no data, and the file's size as offset.
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
	case errors.Is(err, fs.ErrNotExist):
		apihttp.Answer(w, http.StatusNotFound, "")
		return
	case err != nil:
		// A job can replace its output by something else, such as a link that leads out of the sandbox, or deny access
		// to it. The answer must not claim that there is no output.
		apihttp.Answer(w, http.StatusInternalServerError,
			"Failed to open the file: it is not a regular file, or its owner denies access.\n")
		return
	}
	defer file.Close()
	var data []byte
	at := offset
	switch {
	case offset < 0:
		at = size // only the size was requested
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
	// The client may have disconnected, and no one else needs the answer.
	_, _ = w.Write(fmt.Appendf(body, `,"offset":%d}`, at))
}

// queryNumber parses a number of at least -1 in a query. It returns -1 if the query has no such parameter.
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

// appendString appends text as a JSON string, byte for byte as Mesos does. Invalid UTF-8 is copied unchanged, so that
// clients can count offsets in bytes.
func appendString(body []byte, text string) []byte {
	body = append(body, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			body = append(body, '\\', c)
		case c < 0x20:
			body = fmt.Appendf(body, `\u%04X`, c)
		default:
			body = append(body, c)
		}
	}
	return append(body, '"')
}
