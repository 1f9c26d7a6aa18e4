package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/elasticjob-go/elasticjob/cluster/local/apihttp"
)

// The agent's files API: /files/browse, /files/read, /files/download, /files/debug. It serves the paths that
// Mesos 1.12 attaches for each executor run, and no other:
//
//	<work folder>/slaves/<agent>/frameworks/<framework>/executors/<executor>/runs/<container>
//	<work folder>/slaves/<agent>/frameworks/<framework>/executors/<executor>/runs/latest
//	/frameworks/<framework>/executors/<executor>/runs/latest
//
// The third is Mesos' virtual path. It names no container: with one it is answered with 404, so a client that asks
// for the output of a certain run has to know the absolute folder. All are served from the executor's start until its
// sandbox is removed, whether or not the executor, or its framework, has ended. Nothing outside of sandboxes is
// served: each is opened as an os.Root of its own, so a link that a job made leads nowhere.

// latestRun stands for an executor's newest run.
const latestRun = "latest"

// readLimit is the most that one read returns: 16 pages.
const readLimit = 64 << 10

var (
	errNoPath    = errors.New("expecting 'path=value' in query")
	errNoSuch    = fs.ErrNotExist
	errDirectory = errors.New("is a directory")
)

// open opens the sandbox that name leads into; rest is the way inside of it.
func (s *sandboxes) open(name string) (sandbox *os.Root, rest string, err error) {
	name = path.Clean("/" + name)
	below, absolute := strings.CutPrefix(name, s.attachedBelow())
	below = strings.TrimPrefix(below, "/")
	parts := strings.SplitN(below, "/", 7)
	if len(parts) < 6 || parts[0] != "frameworks" || parts[2] != "executors" || parts[4] != "runs" {
		return nil, "", errNoSuch
	}
	runs := filepath.Join("slaves", s.agent, "frameworks", parts[1], "executors", parts[3], "runs")
	container := parts[5]
	switch {
	case container == latestRun:
		if container, err = s.latest(runs); err != nil {
			return nil, "", err
		}
	case !absolute:
		return nil, "", errNoSuch
	}
	rest = "."
	if len(parts) == 7 {
		rest = parts[6]
	}
	sandbox, err = s.root.OpenRoot(filepath.Join(runs, container))
	return sandbox, rest, err
}

// attachedBelow is the folder below which the absolute paths of this agent's sandboxes lie.
func (s *sandboxes) attachedBelow() string {
	return filepath.ToSlash(s.options.WorkDir) + "/slaves/" + s.agent + "/"
}

// latest is the container of an executor's newest run.
func (s *sandboxes) latest(runs string) (string, error) {
	target, err := s.root.Readlink(filepath.Join(runs, latestRun))
	if err != nil {
		return "", err
	}
	container := filepath.Base(target)
	if !validID(container) || container == latestRun {
		return "", errNoSuch
	}
	return container, nil
}

// serveDebug lists the paths that are served, each with the folder that it leads to.
func (s *sandboxes) serveDebug(w http.ResponseWriter, _ *http.Request) {
	runs, err := fs.Glob(s.root.FS(), "slaves/"+s.agent+"/frameworks/*/executors/*/runs/*")
	if err != nil {
		apihttp.Refuse(w, http.StatusInternalServerError, "Failed to list sandboxes: "+err.Error()+".\n")
		return
	}
	attached := map[string]string{}
	work := filepath.ToSlash(s.options.WorkDir) + "/"
	for _, run := range runs {
		if path.Base(run) != latestRun {
			attached[work+run] = work + run
			continue
		}
		container, err := s.latest(filepath.FromSlash(path.Dir(run)))
		if err != nil {
			continue // it was removed meanwhile
		}
		_, virtual, _ := strings.Cut(run, s.agent)
		leads := work + path.Join(path.Dir(run), container)
		attached[virtual], attached[work+run] = leads, leads
	}
	body := []byte{'{'}
	for i, name := range slices.Sorted(maps.Keys(attached)) {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(appendString(body, name), ':')
		body = appendString(body, attached[name])
	}
	answerJSON(w, append(body, '}'))
}

// openFile opens a regular file in a sandbox.
func (s *sandboxes) openFile(name string) (*os.File, int64, error) {
	sandbox, rest, err := s.open(name)
	if err != nil {
		return nil, 0, err
	}
	defer sandbox.Close()
	// Without O_NONBLOCK a named pipe that a job made would hold us up.
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
		err = errNoSuch
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

func refuseFile(w http.ResponseWriter, err error, verb string) {
	switch {
	case errors.Is(err, errDirectory):
		apihttp.Refuse(w, http.StatusBadRequest, "Cannot "+verb+" a directory.\n")
	case errors.Is(err, errNoPath):
		apihttp.Refuse(w, http.StatusBadRequest, "Expecting 'path=value' in query.\n")
	default:
		// What leads out of a sandbox is, to the outside, not there.
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusNotFound)
	}
}

func answerJSON(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	// The peer may be gone; there is nobody else to tell.
	_, _ = w.Write(body)
}

func (s *sandboxes) serveBrowse(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("path")
	if name == "" {
		refuseFile(w, errNoPath, "")
		return
	}
	sandbox, rest, err := s.open(name)
	if err != nil {
		refuseFile(w, err, "")
		return
	}
	defer sandbox.Close()
	if _, err := sandbox.Stat(rest); err != nil {
		refuseFile(w, err, "")
		return
	}
	// Of something that is no folder the listing is empty, as in Mesos.
	entries, _ := fs.ReadDir(sandbox.FS(), path.Clean(rest))
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	body := []byte{'['}
	for _, entry := range entries {
		info, err := sandbox.Stat(path.Join(rest, entry.Name()))
		if err != nil {
			continue // a link that leads out, or one that is gone
		}
		if len(body) > 1 {
			body = append(body, ',')
		}
		body = appendFileInfo(body, path.Join(name, entry.Name()), info)
	}
	answerJSON(w, append(body, ']'))
}

func appendFileInfo(body []byte, name string, info fs.FileInfo) []byte {
	var owner, group string
	var links uint64
	if stat, is := info.Sys().(*syscall.Stat_t); is {
		links = uint64(stat.Nlink)
		owner, group = strconv.Itoa(int(stat.Uid)), strconv.Itoa(int(stat.Gid))
		if u, err := user.LookupId(owner); err == nil {
			owner = u.Username
		}
		if g, err := user.LookupGroupId(group); err == nil {
			group = g.Name
		}
	}
	body = append(body, `{"gid":`...)
	body = appendString(body, group)
	body = append(body, `,"mode":`...)
	body = appendString(body, modeString(info.Mode()))
	body = fmt.Appendf(body, `,"mtime":%d.0,"nlink":%d,"path":`, info.ModTime().Unix(), links)
	body = appendString(body, name)
	body = fmt.Appendf(body, `,"size":%d,"uid":`, info.Size())
	body = appendString(body, owner)
	return append(body, '}')
}

func modeString(mode fs.FileMode) string {
	kind := "-"
	switch {
	case mode.IsDir():
		kind = "d"
	case mode&fs.ModeNamedPipe != 0:
		kind = "p"
	case mode&fs.ModeSocket != 0:
		kind = "s"
	case mode&fs.ModeCharDevice != 0:
		kind = "c"
	case mode&fs.ModeDevice != 0:
		kind = "b"
	}
	return kind + mode.Perm().String()[1:]
}

func (s *sandboxes) serveRead(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	name := query.Get("path")
	if name == "" {
		refuseFile(w, errNoPath, "read")
		return
	}
	offset, text := queryNumber(query, "offset")
	length := int64(-1)
	if text == "" {
		length, text = queryNumber(query, "length")
	}
	if text != "" {
		apihttp.Refuse(w, http.StatusBadRequest, text)
		return
	}
	file, size, err := s.openFile(name)
	if err != nil {
		refuseFile(w, err, "read")
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
			apihttp.Refuse(w, http.StatusInternalServerError, "Failed to read file: "+err.Error()+".\n")
			return
		}
		data = data[:n]
	}
	body := make([]byte, 0, len(data)+len(data)/8+64)
	body = append(body, `{"data":`...)
	body = appendString(body, string(data))
	answerJSON(w, fmt.Appendf(body, `,"offset":%d}`, at))
}

// queryNumber reads a number of at least -1, which is also what stands for none.
func queryNumber(query url.Values, name string) (number int64, fault string) {
	if !query.Has(name) {
		return -1, ""
	}
	text := query.Get(name)
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Sprintf("Failed to parse %s: Failed to convert '%s' to number.\n", name, text)
	}
	if number < -1 {
		return 0, fmt.Sprintf("Negative %s provided: %d.\n", name, number)
	}
	return number, ""
}

func (s *sandboxes) serveDownload(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("path")
	if name == "" {
		refuseFile(w, errNoPath, "download")
		return
	}
	file, _, err := s.openFile(name)
	if err != nil {
		refuseFile(w, err, "download")
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		refuseFile(w, err, "download")
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", path.Base(name)))
	http.ServeContent(w, r, "", info.ModTime(), file)
}

// appendString writes text as a JSON string, byte for byte as Mesos does: what
// is not UTF-8 stays as it is, so that offsets can be counted in bytes.
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
