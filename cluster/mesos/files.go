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

// maxRead is more than an agent answers at once.
const maxRead = 1 << 20

// Files reads the sandboxes that agents keep, over their /files/read. Its methods may be called concurrently. Paths
// are absolute ones of the agent's host, which name a run by its container id, or virtual,
// "/frameworks/F/executors/E/runs/latest/stdout", which can only name the newest. A file that isn't there, or whose
// sandbox was collected, gives an error that wraps cluster.ErrGone; another no of the agent one that wraps
// *cluster.Refused.
type Files struct {
	transport *http.Transport
	header    http.Header
}

// NewFiles connects to nothing yet. Of the options Masters, Queue and Logger are not used.
func NewFiles(opts Options) *Files {
	opts.complete()
	return &Files{transport: opts.newTransport(16), header: requestHeader(opts.Credentials, inJSON)}
}

// Close gives idle connections back; reads that are under way go on.
func (f *Files) Close() { f.transport.CloseIdleConnections() }

// Read returns up to length bytes of a file from offset on: fewer at the file's end,
// and also before, since agents limit an answer to 64 KiB; none at or beyond the end. So one reads on at
// offset+len(data) until nothing comes.
//
// The bytes are the file's own, whatever their encoding: Mesos puts what is no UTF-8 into the
// JSON string as it is, and it is taken from there unchanged, so that a character
// which two reads cut in half comes together again.
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

// Size is the file's length in bytes, now.
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
		defer discard(resp)
		// A byte takes at most six in JSON: \u001f.
		body, err := io.ReadAll(io.LimitReader(resp.Body, 6*int64(length)+1024))
		if err != nil {
			return nil, 0, err
		}
		return parseChunk(body)
	case http.StatusNotFound:
		discard(resp)
		return nil, 0, cluster.ErrGone
	default:
		return nil, 0, answered(resp)
	}
}

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

// plain are the escapes of a JSON string that stand for one byte.
var plain = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unquote resolves the escapes in the text of a JSON string that encoding/json found to be
// well-formed, in place, and leaves all other bytes alone; encoding/json itself would
// replace those that are no UTF-8, and then offsets were wrong as well.
func unquote(in []byte) []byte {
	out := in[:0]
	for {
		n := bytes.IndexByte(in, '\\')
		if n < 0 {
			return append(out, in...)
		}
		out, in = append(out, in[:n]...), in[n:]
		if b := plain[in[1]]; b != 0 {
			out, in = append(out, b), in[2:]
			continue
		}
		// Characters may be pairs of those that stand beside each other.
		run := 0
		for len(in) > run+1 && in[run] == '\\' && in[run+1] == 'u' {
			run += len(`\u0000`)
		}
		var text string
		_ = json.Unmarshal(slices.Concat([]byte(`"`), in[:run], []byte(`"`)), &text) // well-formed
		out, in = append(out, text...), in[run:]
	}
}
