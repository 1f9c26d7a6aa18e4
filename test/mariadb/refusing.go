package mariadb

import (
	"context"
	"database/sql/driver"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// Refusals are the answers of a database that refuses statements, by a part of the statement. A nil answer to GET_LOCK
// is NULL.
type Refusals map[string]*mysql.MySQLError

// Refusing returns connections to a database that refuses statements.
func Refusing(c driver.Connector, r Refusals) driver.Connector { return refusing{c, r} }

type refusing struct {
	driver.Connector
	refusals Refusals
}

func (r refusing) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := r.Connector.Connect(ctx)
	return refusingConn{conn, r.refusals}, err
}

type refusingConn struct {
	driver.Conn
	refusals Refusals
}

// allowed returns the statement to run instead of query, or the refusal.
func (c refusingConn) allowed(query string) (string, error) {
	for part, refusal := range c.refusals {
		switch {
		case !strings.Contains(query, part):
		case refusal != nil:
			return "", refusal
		default:
			query = "SELECT NULL FROM (SELECT ? AS a, ? AS b) AS x"
		}
	}
	return query, nil
}

func (c refusingConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	query, err := c.allowed(query)
	if err != nil {
		return nil, err
	}
	return c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
}

func (c refusingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	query, err := c.allowed(query)
	if err != nil {
		return nil, err
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c refusingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	query, err := c.allowed(query)
	if err != nil {
		return nil, err
	}
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c refusingConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
}

func (c refusingConn) CheckNamedValue(v *driver.NamedValue) error {
	return c.Conn.(driver.NamedValueChecker).CheckNamedValue(v)
}

func (c refusingConn) ResetSession(ctx context.Context) error {
	return c.Conn.(driver.SessionResetter).ResetSession(ctx)
}

func (c refusingConn) IsValid() bool { return c.Conn.(driver.Validator).IsValid() }
