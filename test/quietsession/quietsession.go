// Package quietsession is for tests that pretend a cluster: a session that takes every call and answers none.
package quietsession

import (
	"context"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
)

// Session is to be embedded in one that launches tasks, makes offers and has events.
type Session struct{}

// Err implements cluster.Session: it never breaks.
func (Session) Err() error { return nil }

// Decline implements cluster.Session.
func (Session) Decline(context.Context, []string, time.Duration) error { return nil }

// Kill implements cluster.Session.
func (Session) Kill(context.Context, cluster.Kill) error { return nil }

// EndExecutor implements cluster.Session.
func (Session) EndExecutor(context.Context, string, string) error { return nil }

// Reconcile implements cluster.Session.
func (Session) Reconcile(context.Context, []cluster.TaskRef) error { return nil }

// Acknowledge implements cluster.Session.
func (Session) Acknowledge(context.Context, cluster.Ack) error { return nil }

// StopOffers implements cluster.Session.
func (Session) StopOffers(context.Context) error { return nil }
