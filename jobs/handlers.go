package jobs

import (
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/document"
)

// Types of jobErrorHandlerType: how a failed run is handled. It counts as failed with each of them [D81].
const (
	HandlerLog      = "LOG"    // it is logged; the default
	HandlerThrow    = "THROW"  // the same as HandlerLog
	HandlerIgnore   = "IGNORE" // it is not logged as a problem
	HandlerEmail    = "EMAIL"
	HandlerWechat   = "WECHAT"
	HandlerDingtalk = "DINGTALK"
	HandlerWebhook  = "WEBHOOK" // added
)

// Types of jobExecutorServiceHandlerType: how many of a daemon's shards an executor runs at once; "" is unlimited.
const (
	ConcurrencyCPU    = "CPU"
	ConcurrencySingle = "SINGLE_THREAD"
)

// Properties of error handlers.
const (
	PropEmailHost     = "email.host"
	PropEmailPort     = "email.port"
	PropEmailUsername = "email.username"
	PropEmailPassword = "email.password"
	PropEmailFrom     = "email.from"
	PropEmailTo       = "email.to"
	PropEmailCC       = "email.cc"
	PropEmailBCC      = "email.bcc"
	PropEmailSubject  = "email.subject"
	PropEmailSSL      = "email.useSsl"
	PropEmailTrust    = "email.ssl.trust"

	PropWechatWebhook        = "wechat.webhook"
	PropWechatConnectTimeout = "wechat.connectTimeoutMilliseconds"
	PropWechatReadTimeout    = "wechat.readTimeoutMilliseconds"

	PropDingtalkWebhook        = "dingtalk.webhook"
	PropDingtalkKeyword        = "dingtalk.keyword"
	PropDingtalkSecret         = "dingtalk.secret"
	PropDingtalkConnectTimeout = "dingtalk.connectTimeoutMilliseconds"
	PropDingtalkReadTimeout    = "dingtalk.readTimeoutMilliseconds"

	PropWebhookURL            = "webhook.url"
	PropWebhookSecret         = "webhook.secret"
	PropWebhookConnectTimeout = "webhook.connectTimeoutMilliseconds"
	PropWebhookReadTimeout    = "webhook.readTimeoutMilliseconds"
)

// Notifies reports whether the job's jobErrorHandlerType notifies people of failed runs.
func (c Config) Notifies() bool {
	return slices.Contains(notifyingHandlers(), c.JobErrorHandlerType)
}

// notifyingHandlers are the error handlers that notify people: those that have properties of their own (families).
func notifyingHandlers() (types []string) {
	for _, f := range families {
		if f.handler != "" {
			types = append(types, f.handler)
		}
	}
	return types
}

// errorHandlers are all types of jobErrorHandlerType.
func errorHandlers() []string {
	return append([]string{HandlerLog, HandlerThrow, HandlerIgnore}, notifyingHandlers()...)
}

// checkHandlers checks the types of the handlers. All types of the original are accepted, so that its jobs need no
// change.
func (c Config) checkHandlers() (bad document.Violations, notes []string) {
	check := func(field, value string, known ...string) {
		if value != "" && !slices.Contains(known, value) {
			bad = append(bad, document.Violate(field, value, "must be one of %s, or left out",
				strings.Join(known, ", ")))
		}
	}
	const service = "jobExecutorServiceHandlerType"
	check(service, c.JobExecutorServiceHandlerType, ConcurrencyCPU, ConcurrencySingle)
	if c.JobExecutorServiceHandlerType != "" && len(bad) == 0 && c.JobExecutionType != Daemon {
		notes = append(notes, service+" has no effect on jobs that are not "+Daemon)
	}
	check("jobErrorHandlerType", c.JobErrorHandlerType, errorHandlers()...)
	return bad, notes
}
