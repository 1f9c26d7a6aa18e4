package database

import (
	"context"
	"errors"
	"fmt"
	"slices"

	mysqldriver "github.com/go-sql-driver/mysql"

	"github.com/elasticjob-go/elasticjob/internal/netproblem"
)

// These are error numbers of MySQL and MariaDB.
const (
	duplicateEntry = 1062
	noSuchTable    = 1146
	packetTooLarge = 1153
	outOfRange     = 1690
)

var (
	// brokenCodes are errors of a connection or statement that ended early, so that the outcome is unknown: shutdown,
	// interrupted, killed, idle for too long, broken packets, errors within a COMMIT.
	brokenCodes = []uint16{1053, 1317, 1927, 4031, 1152, 1158, 1159, 1160, 1161, 1026, 1180, 1598}
	// temporaryCodes are errors that change nothing and that a retry may resolve: too many connections, lock wait
	// timeouts, deadlocks, a cluster node that can't take writes.
	temporaryCodes = []uint16{1040, 1203, 1226, 1205, 1213, 1047, 3101}
	// readOnlyCodes are the errors with which a replica refuses writes.
	readOnlyCodes = []uint16{1290, 1836, 1792}
	// deniedCodes are the errors for missing permissions, wrong passwords and a missing database.
	deniedCodes = []uint16{1044, 1045, 1049, 1130, 1142, 1143, 1227, 1698}
	// diskFullCodes are the errors for full disks and full tables.
	diskFullCodes = []uint16{1021, 1114}
	// outOfMemoryCodes are the errors of a server that has no memory left.
	outOfMemoryCodes = []uint16{1037, 1038, 1041}
)

// hasCode reports whether err is one of these errors of the server.
func hasCode(err error, numbers ...uint16) bool {
	var answer *mysqldriver.MySQLError
	return errors.As(err, &answer) && slices.Contains(numbers, answer.Number)
}

// isOutcomeUnknown reports whether the outcome of a statement is unknown: err is not an answer of the server, or it is
// one of brokenCodes. It is also true for errors of this package.
func isOutcomeUnknown(err error) bool {
	var answer *mysqldriver.MySQLError
	return err != nil && (!errors.As(err, &answer) || hasCode(err, brokenCodes...))
}

// isRetryable reports whether a failed statement may be retried.
func isRetryable(err error) bool {
	return isOutcomeUnknown(err) || hasCode(err, temporaryCodes...) || hasCode(err, readOnlyCodes...)
}

var errReadOnly = errors.New("the database is read-only")

// explain returns an error of the database together with the failed action and with what to do next. It returns nil
// for nil.
func (s *store) explain(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("no answer in time: %w", err)
	case hasCode(err, deniedCodes...):
		err = fmt.Errorf("%w: check user, password and database, and grant that user SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER and INDEX on it", err)
	case hasCode(err, readOnlyCodes...), errors.Is(err, errReadOnly):
		err = fmt.Errorf("%w: it may be a replica; name a server that accepts writes, or make this one accept them",
			err)
	case hasCode(err, diskFullCodes...):
		err = fmt.Errorf("%w: free space on the database's disk", err)
	case hasCode(err, outOfMemoryCodes...):
		err = fmt.Errorf("%w: give the database's machine more memory, or the database smaller buffers", err)
	case hasCode(err, packetTooLarge):
		err = fmt.Errorf("%w: set max_allowed_packet of the database to %d or more", err, minPacket)
	}
	return fmt.Errorf("%s in the database %s: %w%s", doing, s.name, err, netproblem.Advice(err))
}
