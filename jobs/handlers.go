package jobs

import (
	"maps"
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
	// PropEmailPlainLogin permits logins that send the password in clear text on a connection without TLS. Its name
	// has no word of a secret, so that its value is shown.
	PropEmailPlainLogin = "email.allowPlaintextLogin"

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
	PropWebhookAuthorization  = "webhook.authorization" // the header Authorization
	PropWebhookTemplate       = "webhook.template"      // of the body (package hook)
	PropWebhookConnectTimeout = "webhook.connectTimeoutMilliseconds"
	PropWebhookReadTimeout    = "webhook.readTimeoutMilliseconds"
)

// Notifies reports whether the job's jobErrorHandlerType notifies people of failed runs.
func (c Config) Notifies() bool {
	return slices.Contains(notifyingHandlers(), c.JobErrorHandlerType)
}

// addressProps are the properties that say where the notifications of a handler go, and as whom.
var addressProps = map[string][]string{
	HandlerEmail:    {PropEmailHost, PropEmailPort, PropEmailTo, PropEmailCC, PropEmailBCC},
	HandlerWechat:   {PropWechatWebhook},
	HandlerDingtalk: {PropDingtalkWebhook},
	HandlerWebhook:  {PropWebhookURL, PropWebhookSecret, PropWebhookAuthorization},
}

// NotifyAddress identifies where the job's notifications go. It contains secrets. It must only be compared.
func (c Config) NotifyAddress() string {
	text := c.JobErrorHandlerType
	for _, name := range addressProps[c.JobErrorHandlerType] {
		text += "\x00" + c.Prop(name)
	}
	return text
}

// NotifySettings identifies how, and where, the job notifies people: jobs with the same settings can share a message.
// It contains secrets. It must only be compared.
func (c Config) NotifySettings() string {
	text := c.JobErrorHandlerType
	for _, name := range slices.Sorted(maps.Keys(c.Props)) {
		if f := familyOf(name); f != nil && f.handler == c.JobErrorHandlerType {
			text += "\x00" + name + "\x00" + c.Prop(name)
		}
	}
	return text
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
