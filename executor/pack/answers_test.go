package pack_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
)

// request is a request that a server received.
type request struct {
	number int // from 1
	*http.Request
}

// answer is the behaviour of a server.
type answer func(http.ResponseWriter, request)

// brokenOff sends the first half of a text and closes the connection.
func brokenOff(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Length", fmt.Sprint(len(text)))
	_, _ = io.WriteString(w, text[:len(text)/2])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// resumed breaks off its answer to the first request, and gives the second answer to the second request.
func resumed(tag string, second answer) answer {
	return func(w http.ResponseWriter, r request) {
		if r.number > 1 {
			second(w, r)
			return
		}
		w.Header().Set("ETag", tag)
		brokenOff(w, longScript)
	}
}

// part answers with a part of a text, whether the request asked for it or not.
func part(w http.ResponseWriter, tag, text string, from int) {
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(text)-1, len(text)))
	h.Set("Content-Length", fmt.Sprint(len(text)-from))
	w.WriteHeader(http.StatusPartialContent)
	_, _ = io.WriteString(w, text[from:])
}

func whole(text string) answer {
	return func(w http.ResponseWriter, r request) { _, _ = io.WriteString(w, text) }
}

// bare answers with these bytes and closes the connection, which Go's server does not do by itself.
func bare(t *testing.T, text string) answer {
	return func(w http.ResponseWriter, r request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, text)
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
		_, _ = io.Copy(io.Discard, conn)
		_ = conn.Close()
	}
}
