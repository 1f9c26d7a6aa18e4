package mesos_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/mesos"
)

const stdout = "/frameworks/f/executors/my app@-@S0@-@1/runs/latest/tasks/1/stdout"

// agent serves /files/read as Mesos does: it copies invalid UTF-8 into the JSON unchanged, and answers with at most
// limit bytes.
func agent(t *testing.T, content []byte, limit int) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.Method != http.MethodGet || r.URL.Path != "/files/read" || q.Get("path") != stdout {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		offset, _ := strconv.Atoi(q.Get("offset"))
		length, _ := strconv.Atoi(q.Get("length"))
		if offset < 0 || offset > len(content) {
			offset = len(content)
		}
		data := content[offset:min(len(content), offset+min(length, limit))]
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"data":"%s","offset":%d}`, rawJSON(data), offset)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func rawJSON(data []byte) []byte {
	var out []byte
	for _, b := range data {
		switch {
		case b == '"' || b == '\\':
			out = append(out, '\\', b)
		case b == '\n':
			out = append(out, `\n`...)
		case b < 0x20 || b == 0x7f:
			out = fmt.Appendf(out, `\u%04x`, b)
		default:
			out = append(out, b)
		}
	}
	return out
}

func newFiles(t *testing.T, opts mesos.Options) *mesos.Files {
	t.Helper()
	f := mesos.NewFiles(opts)
	t.Cleanup(f.Close)
	return f
}

// Every byte is returned unchanged, wherever a read cuts the file.
func TestFilesAreReadWhole(t *testing.T) {
	t.Parallel()
	var content []byte
	for b := range 256 {
		content = append(content, byte(b))
	}
	content = append(content, "Grüße, 世界 🎉 \\u0041 \xc3\x28 \xed\xa0\x80\n"...)
	content = bytes.Repeat(content, 3)
	for _, limit := range []int{1, 2, 3, 7, 1 << 16} {
		url := agent(t, content, limit)
		f := newFiles(t, mesos.Options{})
		var got []byte
		for {
			data, err := f.Read(t.Context(), url, stdout, int64(len(got)), 1000)
			if err != nil {
				t.Fatal(err)
			}
			if len(data) == 0 {
				break
			}
			got = append(got, data...)
		}
		if !bytes.Equal(got, content) {
			t.Errorf("in pieces of %d: got %q", limit, got)
		}
		if size, err := f.Size(t.Context(), url, stdout); err != nil || size != int64(len(content)) {
			t.Errorf("size %d, %v", size, err)
		}
		if data, err := f.Read(t.Context(), url, stdout, int64(len(content))+5, 10); err != nil || len(data) != 0 {
			t.Errorf("beyond the end: %q, %v", data, err)
		}
	}
}

func TestFilesUnderstandAllOfJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`"\"\\\/\b\f\n\r\t"`:          "\"\\/\b\f\n\r\t",
		`"\u00e9\u4e16\ud83c\udf89"`:  "é世🎉",
		`"\ud83cx\ud83c\u0041\udf89"`: "\uFFFDx\uFFFDA\uFFFD",
		`"\ud83c"`:                    "\uFFFD",
		`""`:                          "",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{ "offset": 0, "data": %s }`, text)
		}))
		got, err := newFiles(t, mesos.Options{}).Read(t.Context(), server.URL, stdout, 0, 100)
		if err != nil || string(got) != want {
			t.Errorf("%s was read as %q, %v", text, got, err)
		}
		server.Close()
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	answer := func(status int, body string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if user, secret, ok := r.BasicAuth(); !ok || user != "ejc" || secret != "hunter2" {
				status = http.StatusUnauthorized
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	f := newFiles(t, mesos.Options{
		Credentials: &mesos.Credentials{User: "ejc", Secret: "hunter2"},
		Timeouts:    mesos.Timeouts{Answer: 5 * time.Second},
	})
	for name, tt := range map[string]struct {
		url    string
		gone   bool
		status int
	}{
		"collected":      {answer(404, ""), true, 0},
		"a folder":       {answer(400, "Cannot read a directory"), false, 400},
		"not JSON":       {answer(200, "hello"), false, 0},
		"no text":        {answer(200, `{"data":7,"offset":0}`), false, 0},
		"no data":        {answer(200, `{"offset":0}`), false, 0},
		"another offset": {answer(200, `{"data":"abc","offset":3}`), false, 0},
		"no agent":       {"http://127.0.0.1:1", false, 0},
		"no address":     {"", false, 0},
	} {
		_, err := f.Read(t.Context(), tt.url, stdout, 0, 10)
		var refused *cluster.Refused
		switch {
		case err == nil:
			t.Errorf("%s: no error", name)
		case errors.Is(err, cluster.ErrGone) != tt.gone:
			t.Errorf("%s: gone %v: %v", name, !tt.gone, err)
		case errors.As(err, &refused) != (tt.status != 0) || tt.status != 0 && refused.Status != tt.status:
			t.Errorf("%s: error %v, want status %d", name, err, tt.status)
		case strings.Contains(err.Error(), "hunter2"):
			t.Errorf("%s: the error shows a secret", name)
		}
	}
	if _, err := f.Read(t.Context(), "http://127.0.0.1:1", stdout, -1, 10); err == nil {
		t.Error("read at a negative offset")
	}
	if _, err := f.Size(t.Context(), answer(404, ""), stdout); !errors.Is(err, cluster.ErrGone) {
		t.Errorf("size of a collected file: %v", err)
	}
}
