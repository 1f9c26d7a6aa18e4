package database

import (
	"context"
	"errors"
	"fmt"
	"slices"

	mysqldriver "github.com/go-sql-driver/mysql"
)

// Error numbers of MySQL and MariaDB.
const (
	duplicateEntry = 1062
	noSuchTable    = 1146
	outOfRange     = 1690
)

var (
	// ends are the errors of a connection or statement that ended early, after which the outcome is unknown: shutdown,
	// interrupted, killed, idle for too long, broken packets, errors within a COMMIT.
	ends = []uint16{1053, 1317, 1927, 4031, 1152, 1158, 1159, 1160, 1161, 1026, 1180, 1598}
	// passing are temporary refusals that leave nothing behind: too many connections, lock wait timeouts, deadlocks, a
	// cluster node that can't take writes.
	passing = []uint16{1040, 1203, 1226, 1205, 1213, 1047, 3101}
	// readOnly are the errors with which a replica refuses writes.
	readOnly = []uint16{1290, 1836, 1792}
	// denied are missing permissions, wrong passwords and a missing database.
	denied = []uint16{1044, 1045, 1049, 1130, 1142, 1143, 1227, 1698}
	// full are full disks and tables.
	full = []uint16{1021, 1041, 1114}
)

// is reports whether err is one of these errors of the server.
func is(err error, numbers ...uint16) bool {
	var answer *mysqldriver.MySQLError
	return errors.As(err, &answer) && slices.Contains(numbers, answer.Number)
}

// lost reports whether the outcome of a statement is unknown: the server gave no answer, or one of ends.
func lost(err error) bool {
	var answer *mysqldriver.MySQLError
	return err != nil && (!errors.As(err, &answer) || is(err, ends...))
}

// heals reports whether a failed statement may be retried.
func heals(err error) bool {
	return lost(err) || is(err, passing...) || is(err, readOnly...) || errors.Is(err, errReadOnly)
}

var errReadOnly = errors.New("the database is read-only")

// explain adds what to do next to an error of the database.
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
		err = fmt.Errorf("%w: set max_allowed_packet of the database to %d or more", err, minPacket)
	}
	return fmt.Errorf("%s in the database %s: %w", doing, p.name, err)
}
