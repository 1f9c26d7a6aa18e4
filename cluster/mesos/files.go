package mesos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/elasticjob-go/elasticjob/cluster"
)

// maxRead is how many bytes are requested at most. Agents answer with less than that.
const maxRead = 1 << 20

// Files reads sandboxes through the agents' endpoint /files/read. Its methods may be called concurrently. A path is
// either an absolute path on the agent's host, which identifies a run by its container id, or a virtual path,
// "/frameworks/F/executors/E/runs/latest/stdout", which refers to the latest run only. For a missing file or a
// garbage-collected sandbox the error wraps cluster.ErrGone; any other rejection by the agent wraps *cluster.Refused.
type Files struct {
	transport *http.Transport
	header    http.Header
}

// NewFiles returns a reader of sandboxes. It opens no connection, and ignores the options Masters, Queue and Logger.
func NewFiles(opts Options) *Files {
	opts.setDefaults()
	return &Files{transport: opts.newTransport(16), header: requestHeader(opts.Credentials, inJSON)}
}

// Close closes idle connections. Reads in progress continue.
func (f *Files) Close() { f.transport.CloseIdleConnections() }

// Read returns up to length bytes of a file from offset on. It can return fewer even before the end of the file,
// because agents limit an answer to 64 KiB. At or beyond the end it returns none. Callers therefore continue at
// offset+len(data) until they get no data.
//
// Read returns the bytes unchanged, whatever their encoding: Mesos copies even invalid UTF-8 into its JSON string. So a
// character that is split over two reads can be put together again.
func (f *Files) Read(ctx context.Context, agentURL, path string, offset int64, length int) ([]byte, error) {
	if offset < 0 || length < 0 {
		return nil, fmt.Errorf("read %s: offset %d and length %d must not be negative", path, offset, length)
	}
	data, at, err := f.read(ctx, agentURL, path, offset, min(length, maxRead))
	if err != nil {
		return nil, fmt.Errorf("read %s of agent %s: %w", path, agentURL, err)
	}
	if len(data) > 0 && at != offset {
		return nil, fmt.Errorf("read %s of agent %s: asked for offset %d, got %d", path, agentURL, offset, at)
	}
	return data, nil
}

// Size returns the current length of the file in bytes.
func (f *Files) Size(ctx context.Context, agentURL, path string) (int64, error) {
	_, end, err := f.read(ctx, agentURL, path, -1, 0) // Mesos answers offset -1 with the end
	if err != nil {
		return 0, fmt.Errorf("size of %s of agent %s: %w", path, agentURL, err)
	}
	return end, nil
}

func (f *Files) read(ctx context.Context, agentURL, path string, offset int64, length int) (data []byte, at int64,
	err error) {
	u, err := baseURL(agentURL)
	if err != nil {
		return nil, 0, err
	}
	u.Path = "/files/read"
	u.RawQuery = url.Values{
		"path": {path}, "offset": {strconv.FormatInt(offset, 10)}, "length": {strconv.Itoa(length)},
	}.Encode()
	req := (&http.Request{Method: http.MethodGet, URL: u, Host: u.Host, Header: f.header}).WithContext(ctx)
	resp, err := f.transport.RoundTrip(req)
	if err != nil {
		return nil, 0, err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		defer drainBody(resp)
		// JSON needs at most six bytes for one byte of the file: \u001f.
		body, err := io.ReadAll(io.LimitReader(resp.Body, 6*int64(length)+1024))
		if err != nil {
			return nil, 0, err
		}
		return parseChunk(body)
	case http.StatusNotFound:
		drainBody(resp)
		return nil, 0, cluster.ErrGone
	default:
		return nil, 0, answerError(resp)
	}
}

// parseChunk parses an agent's answer. It returns the bytes of the file and their offset.
func parseChunk(body []byte) (data []byte, offset int64, err error) {
	var answer struct {
		Data   json.RawMessage `json:"data"`
		Offset int64           `json:"offset"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, 0, fmt.Errorf("the agent's answer: %w", err)
	}
	if !bytes.HasPrefix(answer.Data, []byte(`"`)) {
		return nil, 0, errors.New(`the agent's answer: "data" is not a string`)
	}
	return unquote(answer.Data[1 : len(answer.Data)-1]), answer.Offset, nil
}

// escapes maps the letters of the JSON escapes that stand for a single byte to that byte.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unquote resolves the escapes of a JSON string, which it gets without the quotes, and keeps all other bytes. It writes
// the result over in. encoding/json, which must have validated the string, would replace invalid UTF-8 and so shift the
// offsets.
func unquote(in []byte) []byte {
	out := in[:0]
	for {
		n := bytes.IndexByte(in, '\\')
		if n < 0 {
			return append(out, in...)
		}
		out, in = append(out, in[:n]...), in[n:]
		if b := escapes[in[1]]; b != 0 {
			out, in = append(out, b), in[2:]
			continue
		}
		// A character may be a surrogate pair of two adjacent escapes.
		run := 0
		for len(in) > run+1 && in[run] == '\\' && in[run+1] == 'u' {
			run += len(`\u0000`)
		}
		var text string
		_ = json.Unmarshal(slices.Concat([]byte(`"`), in[:run], []byte(`"`)), &text) // the escapes are valid
		out, in = append(out, text...), in[run:]
	}
}
