package database

import (
	"context"
	"errors"
	"fmt"
	"slices"

	mysqldriver "github.com/go-sql-driver/mysql"
)

// Numbers of MySQL's and MariaDB's errors.
const (
	duplicateEntry = 1062
	noSuchTable    = 1146
	outOfRange     = 1690
)

var (
	// ends are answers that the end of a connection or of a statement gives, by which nobody knows what was done:
	// shutdown, interrupted, killed, idle for too long, trouble with packets, and errors in the middle of a COMMIT.
	ends = []uint16{1053, 1317, 1927, 4031, 1152, 1158, 1159, 1160, 1161, 1026, 1180, 1598}
	// passing are refusals that heal with time and leave nothing behind: too many connections, lock wait timeouts,
	// deadlocks, a node of a cluster that can't take writes.
	passing = []uint16{1040, 1203, 1226, 1205, 1213, 1047, 3101}
	// readOnly are what a replica refuses writes with.
	readOnly = []uint16{1290, 1836, 1792}
	// denied are missing permissions, wrong passwords and a database that is not there.
	denied = []uint16{1044, 1045, 1049, 1130, 1142, 1143, 1227, 1698}
	// full are disks and tables without room.
	full = []uint16{1021, 1041, 1114}
)

// is reports whether an error is one of these answers of the server.
func is(err error, numbers ...uint16) bool {
	var answer *mysqldriver.MySQLError
	return errors.As(err, &answer) && slices.Contains(numbers, answer.Number)
}

// lost reports whether nobody knows what the server has done: it gave no answer, or one that says so.
func lost(err error) bool {
	var answer *mysqldriver.MySQLError
	return err != nil && (!errors.As(err, &answer) || is(err, ends...))
}

// heals reports whether a statement that failed may be tried again.
func heals(err error) bool {
	return lost(err) || is(err, passing...) || is(err, readOnly...) || errors.Is(err, errReadOnly)
}

var errReadOnly = errors.New("the database is read-only")

// explain adds what to do to an error of the database.
func (p *place) explain(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("it does not answer in time: %w", err)
	case is(err, denied...):
		err = fmt.Errorf("%w: look at user, password and database, and grant that user SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER and INDEX on it", err)
	case is(err, readOnly...), errors.Is(err, errReadOnly):
		err = fmt.Errorf("%w: is it a replica? Name the server that takes writes, or make this one that", err)
	case is(err, full...):
		err = fmt.Errorf("%w: give the database's disk more room", err)
	case is(err, 1153):
		err = fmt.Errorf("%w: set max_allowed_packet of the database to %d or more", err, leastPacket)
	}
	return fmt.Errorf("%s in the database %s: %w", doing, p.name, err)
}
