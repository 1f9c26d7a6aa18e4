package jobs

import (
	"maps"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/document"
)

// Values of jobErrorHandlerType: how a failed run is handled. The run counts as failed with each of them [D81].
// The comment on the variable families (families.go) lists what to change for a new handler.
const (
	HandlerLog      = "LOG"    // the failure is logged; the default
	HandlerThrow    = "THROW"  // the same as HandlerLog
	HandlerIgnore   = "IGNORE" // the failure is not logged as a problem
	HandlerEmail    = "EMAIL"  // this and the following notify users
	HandlerWechat   = "WECHAT"
	HandlerDingtalk = "DINGTALK"
	HandlerWebhook  = "WEBHOOK" // not in the original
)

// Values of jobExecutorServiceHandlerType: how many of a daemon's shards an executor runs at once; "" is unlimited.
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
	// contains no word such as password, so that its value is shown.
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
	PropWebhookTemplate       = "webhook.template"      // the template of the body (package hook)
	PropWebhookConnectTimeout = "webhook.connectTimeoutMilliseconds"
	PropWebhookReadTimeout    = "webhook.readTimeoutMilliseconds"
)

// Notifies reports whether the job's jobErrorHandlerType notifies users of failed runs.
func (c Config) Notifies() bool {
	return slices.Contains(notifyingHandlers(), c.JobErrorHandlerType)
}

// addressProps contains, by handler, the properties that say where its notifications go. For webhooks these include the
// credentials.
var addressProps = map[string][]string{
	HandlerEmail:    {PropEmailHost, PropEmailPort, PropEmailTo, PropEmailCC, PropEmailBCC},
	HandlerWechat:   {PropWechatWebhook},
	HandlerDingtalk: {PropDingtalkWebhook},
	HandlerWebhook:  {PropWebhookURL, PropWebhookSecret, PropWebhookAuthorization},
}

// NotifyAddress returns a text that identifies where the job's notifications go. It contains secrets, so it must only
// be compared.
func (c Config) NotifyAddress() string {
	text := c.JobErrorHandlerType
	for _, name := range addressProps[c.JobErrorHandlerType] {
		text += "\x00" + c.Prop(name)
	}
	return text
}

// NotifySettings returns a text that identifies where and how the job notifies users. Jobs with the same text can
// share a message. The text contains secrets, so it must only be compared.
func (c Config) NotifySettings() string {
	text := c.JobErrorHandlerType
	for _, name := range slices.Sorted(maps.Keys(c.Props)) {
		if f := familyOf(name); f != nil && f.handler == c.JobErrorHandlerType {
			text += "\x00" + name + "\x00" + c.Prop(name)
		}
	}
	return text
}

// notifyingHandlers returns the error handlers that notify users. They are the handlers with a family of properties.
func notifyingHandlers() (types []string) {
	for _, f := range families {
		if f.handler != "" {
			types = append(types, f.handler)
		}
	}
	return types
}

// errorHandlers returns all values of jobErrorHandlerType.
func errorHandlers() []string {
	return append([]string{HandlerLog, HandlerThrow, HandlerIgnore}, notifyingHandlers()...)
}

// checkHandlers checks the types of the handlers. It accepts all types of the original, so that the original's jobs
// need no change.
func (c Config) checkHandlers() (bad document.Violations, notes []string) {
	check := func(field, value string, types ...string) {
		if value != "" && !slices.Contains(types, value) {
			bad = append(bad, document.Violate(field, value, "must be one of %s, or left out",
				strings.Join(types, ", ")))
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
