package mariadb

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
)

// find returns the path of a program. Servers are in folders that only root's PATH contains.
func find(program string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	for _, folder := range []string{"/usr/sbin", "/usr/local/sbin", "/usr/bin"} {
		if path := filepath.Join(folder, program); executable(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("tests start MariaDB servers, and there is no %s: install it with: apt-get install mariadb-server-core mariadb-client-core", program)
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// mysqld returns the server program of a MySQL, which all tests then use instead of MariaDB.
func mysqld() string { return os.Getenv("MYSQLD") }

// install creates the system tables. The user root has no password, because the server listens on the loopback
// interface only, and ends with the test.
func install(folder string) error {
	me, err := user.Current()
	if err != nil {
		return err
	}
	program, args := mysqld(), []string{"--initialize-insecure", "--init-file=" + filepath.Join(folder, "init.sql")}
	if program == "" {
		if program, err = find("mariadb-install-db"); err != nil {
			return err
		}
		args = []string{"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve",
			"--rpm"} // as packages do, without touching the system's files
	} else if err := os.WriteFile(filepath.Join(folder, "init.sql"),
		// MySQL's own root user can only connect through the socket.
		[]byte("CREATE USER root@'127.0.0.1'; GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;\n"),
		0o600); err != nil {
		return err
	}
	cmd := exec.Command(program, append([]string{"--no-defaults", "--datadir=" + filepath.Join(folder, "data"),
		"--user=" + me.Username}, args...)...)
	cmd.Dir = folder
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + folder,
		"TMPDIR=" + folder, "LC_ALL=C.UTF-8"}
	process, err := child.Start(cmd, logFile(folder))
	if err != nil {
		return err
	}
	<-process.Done()
	if !cmd.ProcessState.Success() {
		return fmt.Errorf("%s: %s: %s", program, cmd.ProcessState, child.LastWords(logFile(folder)))
	}
	return nil
}

func logFile(folder string) string { return filepath.Join(folder, "log") }

// launch starts the server of the folder.
func launch(folder string, port int, flags []string) (*child.Process, error) {
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	program, own := mysqld(), []string{"--skip-log-bin", "--mysqlx=0", "--secure-file-priv=NULL"}
	if program == "" {
		own = nil
		program, err = find("mariadbd")
	}
	if err != nil {
		return nil, err
	}
	// Unusual defaults, so that code that depends on the usual ones fails.
	args := append([]string{"--no-defaults", "--datadir=" + filepath.Join(folder, "data"), "--user=" + me.Username,
		"--bind-address=127.0.0.1", fmt.Sprintf("--port=%d", port), "--socket=socket", "--pid-file=pid",
		"--skip-name-resolve",
		"--tmpdir=" + folder, "--innodb-buffer-pool-size=128M", "--innodb-flush-log-at-trx-commit=1",
		"--default-time-zone=+05:30", "--character-set-server=latin1", "--sql-mode=", "--autocommit=0"}, append(own,
		flags...)...)
	cmd := exec.Command(program, args...)
	cmd.Dir = folder
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + folder, "LC_ALL=C.UTF-8"}
	return child.Start(cmd, logFile(folder))
}

// open returns a connection pool of the server's root user. It connects at the first use.
func (s *Server) open() (*sql.DB, error) {
	c := s.config("root", "", "")
	c.MultiStatements = true
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

func (s *Server) config(user, password, database string) *mysql.Config {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.DBName = user, password, database
	c.Net, c.Addr = "tcp", s.Address()
	c.Params = map[string]string{"autocommit": "1"}
	c.Logger = log.New(io.Discard, "", 0) // about connections that a killed server breaks
	return c
}

// ready waits until the server answers.
func (s *Server) ready() error {
	db, err := s.open()
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		// Another server might answer on a port that this one failed to get.
		if s.process.ListensAt(s.port) && db.PingContext(ctx) == nil {
			return nil
		}
		select {
		case <-s.process.Done():
			return fmt.Errorf("the server for %s ended: %s", s.Address(), child.LastWords(logFile(s.folder)))
		case <-ctx.Done():
			return fmt.Errorf("the server at %s does not answer after %v: %s", s.Address(), patience,
				child.LastWords(logFile(s.folder)))
		case <-poll.C:
		}
	}
}
