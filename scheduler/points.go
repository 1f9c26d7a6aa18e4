package scheduler

import (
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// Points are the names that Options.Point is called with, each before or after what its name says.
// A test that ends the process there shows what the next leader makes of it.
func Points() []string {
	return []string{
		pointTermBegun, pointBeforeCommit, pointAfterCommit, pointConfigCommitted, pointBeforeSubscribe,
		pointAfterSubscribe,
		pointBeforeAccept, pointAfterAccept, pointBeforeAck, pointAfterAck, pointBeforeKill, pointBeforeNotify,
		pointAfterNotify, pointBeforeResign,
	}
}

const (
	pointTermBegun       = "term-begun"
	pointBeforeCommit    = "before-commit"
	pointAfterCommit     = "after-commit"
	pointConfigCommitted = "config-committed"
	pointBeforeSubscribe = "before-subscribe"
	pointAfterSubscribe  = "after-subscribe"
	pointBeforeAccept    = "before-accept"
	pointAfterAccept     = "after-accept"
	pointBeforeAck       = "before-ack"
	pointAfterAck        = "after-ack"
	pointBeforeKill      = "before-kill"
	pointBeforeNotify    = "before-notify"
	pointAfterNotify     = "after-notify"
	pointBeforeResign    = "before-resign"
)

// point passes a point, if there is one.
func (r *termRunner) point(name string) {
	if name != "" {
		r.s.opt.Point(name)
	}
}

// pointsOf are those before and after a call, "" for none.
func pointsOf(call step.Call) (before, after string) {
	switch call.(type) {
	case step.CallLaunch:
		return pointBeforeAccept, pointAfterAccept
	case step.CallAcknowledge:
		return pointBeforeAck, pointAfterAck
	case step.CallKill:
		return pointBeforeKill, ""
	}
	return "", ""
}
