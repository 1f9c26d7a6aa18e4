package zkserver

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// jars are where Debian's packages zookeeper and what it depends on put them;
// the first one's manifest names most of the rest.
var jars = []string{"/usr/share/java/zookeeper.jar", "/usr/share/java/slf4j-simple.jar"}

func requirePackage(t testing.TB) {
	t.Helper()
	_, err := exec.LookPath("java")
	for _, jar := range jars {
		if err == nil {
			_, err = os.Stat(jar)
		}
	}
	if err != nil {
		t.Fatalf("zkserver: this test starts ZooKeeper servers: install them with: apt-get install zookeeper (%v)", err)
	}
}

// process is a running server.
type process struct {
	pid  int
	done chan struct{} // closed when it has ended and was waited for
}

func logFile(folder string) string { return filepath.Join(folder, "log") }

// launch starts the server that is configured in the folder.
func launch(folder string) (*process, error) {
	log, err := os.OpenFile(logFile(folder), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	// A JVM that starts at once; the heap grows only with what is stored (100,000
	// jobs take 300 MiB), and the transaction log in steps of 1 MiB instead of 64.
	cmd := exec.Command("java", "-Xms32m", "-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dzookeeper.preAllocSize=1024", "-Dzookeeper.enforceQuota=true", "-Dzookeeper.jmx.log4j.disable=true",
		"-cp", strings.Join(jars, ":"), "org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(folder, "zoo.cfg"))
	cmd.Dir = folder
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "LC_ALL=C.UTF-8"}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}

	p := &process{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The signal at the parent's death is for the death of the thread
		// that started the process: this one stays to its end.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		_ = log.Close()
		if err == nil {
			p.pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			_ = cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start java: %w", err)
	}
	return p, nil
}

// kill ends the process and waits for its end. No process is ended already.
func (p *process) kill() {
	if p == nil {
		return
	}
	select {
	case <-p.done: // its pid may be another's by now
	default:
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
		<-p.done
	}
}

// listensAt reports whether the socket that listens at the port is this process's.
func (p *process) listensAt(port int) bool {
	var sockets []string
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", p.pid, table))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line) // number, local address, remote address, state, …, inode
			if len(fields) > 9 && strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", port)) && fields[3] == "0A" {
				sockets = append(sockets, "socket:["+fields[9]+"]")
			}
		}
	}
	if len(sockets) == 0 {
		return false
	}
	folder := fmt.Sprintf("/proc/%d/fd", p.pid)
	files, err := os.ReadDir(folder)
	if err != nil {
		return false
	}
	for _, f := range files {
		link, err := os.Readlink(filepath.Join(folder, f.Name()))
		for _, socket := range sockets {
			if err == nil && link == socket {
				return true
			}
		}
	}
	return false
}

// givesSession opens a session by the bare protocol and closes it: a client
// library would wait a second between tries.
func givesSession(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
	hello := binary.BigEndian.AppendUint32(nil, 44)
	hello = append(hello, make([]byte, 4+8)...)                   // protocol version, last zxid seen
	hello = binary.BigEndian.AppendUint32(hello, 1000)            // session timeout in ms
	hello = append(hello, make([]byte, 8)...)                     // no session yet
	hello = binary.BigEndian.AppendUint32(hello, 16)              // its password
	hello = append(hello, make([]byte, 16)...)                    //
	goodbye := []byte{0, 0, 0, 8, 0, 0, 0, 1, 255, 255, 255, 245} // request 1: close
	if _, err := conn.Write(hello); err != nil {
		return false
	}
	answer := make([]byte, 4+4+4+8) // length, protocol version, timeout, session
	if _, err := io.ReadFull(conn, answer); err != nil || binary.BigEndian.Uint64(answer[12:]) == 0 {
		return false
	}
	_, _ = conn.Write(goodbye)
	_, _ = io.Copy(io.Discard, conn)
	return true
}

// freePorts finds ports where nobody listens, below those that systems give to
// clients, so that a server that is started again finds its own still free.
func freePorts(n int) (ports []int, err error) {
	var held []net.Listener
	defer func() {
		for _, l := range held {
			_ = l.Close()
		}
	}()
	for range 100 * n {
		if len(ports) == n {
			return ports, nil
		}
		port := 10_000 + rand.IntN(20_000)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			held = append(held, l)
			ports = append(ports, port)
		}
	}
	return nil, fmt.Errorf("only %d of %d ports are free", len(ports), n)
}
