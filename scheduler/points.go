package scheduler

import (
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// Points lists the names with which Options.Point is called. Each names a place before or after a step of the shell. A
// test that ends the process there shows how the next leader continues.
func Points() []string {
	return []string{
		pointTermBegun, pointBeforeCommit, pointAfterCommit, pointConfigCommitted, pointBeforeSubscribe,
		pointAfterSubscribe, pointBeforeAccept, pointAfterAccept, pointBeforeAck, pointAfterAck, pointBeforeKill,
		pointBeforeNotify, pointAfterNotify, pointBeforeResign,
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

// point calls Options.Point, unless the name is "".
func (r *termRunner) point(name string) {
	if name != "" {
		r.s.opt.Point(name)
	}
}

// pointsOf returns the points before and after a call, "" for none.
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
