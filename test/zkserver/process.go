package zkserver

import (
	"encoding/binary"
	"flag"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
)

// jars are the files of Debian's package zookeeper and of its dependencies; the manifest of the first one names most
// of the rest.
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
		t.Fatalf("zkserver: this test starts ZooKeeper servers: install them with: apt-get install zookeeper (%v)",
			err)
	}
}

func logFile(folder string) string { return filepath.Join(folder, "log") }

// launch starts the server that is configured in the folder.
func launch(folder string) (*child.Process, error) {
	// These options make the JVM start quickly. The heap grows only with the stored data (100,000 jobs take 300 MiB),
	// and the transaction log in steps of 1 MiB instead of 64.
	compiler := "-XX:TieredStopAtLevel=1"
	if testing.Testing() && flag.Lookup("test.bench").Value.String() != "" {
		compiler = "-XX:+TieredCompilation" // for a server that runs for long, in benchmarks
	}
	cmd := exec.Command("java", "-Xms32m", "-Xmx768m", "-XX:+UseSerialGC", compiler, "-XX:-UsePerfData",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dzookeeper.preAllocSize=1024",
		"-Dzookeeper.enforceQuota=true", "-Dzookeeper.jmx.log4j.disable=true",
		"-cp", strings.Join(jars, ":"), "org.apache.zookeeper.server.quorum.QuorumPeerMain",
		filepath.Join(folder, "zoo.cfg"))
	cmd.Dir = folder
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "LC_ALL=C.UTF-8"}
	return child.Start(cmd, logFile(folder))
}

// givesSession opens a session with the bare protocol and closes it, because a client library would wait a second
// between attempts.
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
