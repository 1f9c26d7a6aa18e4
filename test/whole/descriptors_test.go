package whole_test

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOutOfFileDescriptors: a server without free file descriptors still answers, rejects clients that want to follow
// events, says in its log and at /healthz what to do, and recovers when there are free ones.
func TestOutOfFileDescriptors(t *testing.T) {
	m := start(t)
	open, err := strconv.Atoi(m.Metric("process_open_fds"))
	if err != nil {
		t.Fatal(err)
	}
	limit := uint64(open) + 40
	if err := unix.Prlimit(m.ServerPID(), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: limit}, nil); err != nil {
		t.Fatal(err)
	}
	var held []net.Conn
	for range 64 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(m.URL(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
	}
	m.Until("the log says that the descriptors are used up", func() string {
		if log := m.ServerLog(); !strings.Contains(log, "out of file descriptors") ||
			!strings.Contains(log, fmt.Sprintf(`"limit":%d`, limit)) {
			return log
		}
		return ""
	})
	for range 100 {
		m.OK("GET", "/api/app/list", "")
	}
	m.Refused(http.StatusServiceUnavailable, "out_of_descriptors", "GET", "/api/events", "")
	if health := m.OK("GET", "/healthz", ""); !strings.Contains(health, "used up its file descriptors") {
		t.Error(health)
	}
	for _, conn := range held {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	m.Until("/healthz no longer warns", func() string {
		if health := m.OK("GET", "/healthz", ""); strings.Contains(health, "warning") {
			return health
		}
		return ""
	})
	if err := m.Stream("/api/events").Close(); err != nil {
		t.Error(err)
	}
}
