package jobs

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/spelling"
	"github.com/elasticjob-go/elasticjob/jobs/hook"
)

// family contains the known properties with one prefix. A property of no family belongs to the job's program.
type family struct {
	prefix string
	// handler is the jobErrorHandlerType that uses the family; "" if none does.
	handler string
	// directs are the properties that decide where, and how safely, the secrets of the family are sent.
	directs []string
	props   []property
}

// property is a known property.
type property struct {
	name     string
	required bool
	secrecy  secrecy
	// rule returns what is wrong with a value; "" if the value is valid.
	rule func(value string) string
}

// families are the original's properties, and those of webhooks, which are added. They decide what a job runs: a script
// if it has properties of script., a request if it has properties of http., else the app's command.
//
// A new kind of job needs a family here and a method like Config.HTTP that reports whether a job is of that kind. It
// needs a field of wire.Task in internal/wire, which scheduler/core/tasks sets. It needs a runner in executor/tasks
// (begin.go, a file like httptask.go, and newRunner in daemon.go).
//
// A new error handler needs its Handler… constant and its addressProps in handlers.go, and a family here that names it
// as the handler. It needs a sender in package notify, which New in notify/sender.go adds. Four texts list the
// handlers: the flag error-handler in cmd/elasticjob/job.go, the error of Notify in notify/sender.go, takeHandlers in
// definitions/convert/lite.go, and docs/api.md, which also lists the families.
//
// In the console, both need fields and names in pieces/families.js, and a choice in pages/jobform.js. In families.js, a
// new kind is also added to runFamily, and a new handler to byHandler.
var families = []family{
	{prefix: "script.", props: []property{
		{name: PropScript, required: true, rule: isCommand},
		{name: PropScriptContext, rule: isBool},
	}},
	{prefix: "http.", directs: []string{PropHTTPURL, PropHTTPURI, PropHTTPProxy}, props: []property{
		{name: PropHTTPURL, secrecy: secretUser, rule: isURL},
		{name: PropHTTPURI, secrecy: secretUser, rule: isURL},
		{name: PropHTTPMethod, required: true, rule: isMethod},
		{name: PropHTTPData, rule: isAny},
		{name: PropHTTPContentType, rule: isLine},
		{name: PropHTTPConnectTimeout, rule: upTo(maxHTTPTimeout)},
		{name: PropHTTPReadTimeout, rule: upTo(maxHTTPTimeout)},
		{name: PropHTTPProxy, secrecy: secretUser, rule: isProxy},
	}},
	{prefix: "streaming.", props: []property{
		{name: PropStreaming, rule: isBool},
	}},
	{prefix: "email.", handler: HandlerEmail, directs: []string{
		PropEmailHost, PropEmailPort, PropEmailSSL, PropEmailTrust, PropEmailPlainLogin,
	}, props: []property{
		{name: PropEmailHost, required: true, rule: isHost},
		{name: PropEmailPort, required: true, rule: upTo(65535)},
		{name: PropEmailUsername, required: true, rule: isAnyLine},
		{name: PropEmailPassword, required: true, secrecy: secret, rule: isAnyLine},
		{name: PropEmailFrom, required: true, rule: isAddress},
		{name: PropEmailTo, required: true, rule: isAddresses},
		{name: PropEmailCC, rule: isAddresses},
		{name: PropEmailBCC, rule: isAddresses},
		{name: PropEmailSubject, rule: isLine},
		{name: PropEmailSSL, rule: isBool},
		{name: PropEmailTrust, rule: isLine},
		{name: PropEmailPlainLogin, rule: isBool},
		{name: "email.debug", rule: isBool},
	}},
	{prefix: "wechat.", handler: HandlerWechat, directs: []string{PropWechatWebhook}, props: []property{
		{name: PropWechatWebhook, required: true, secrecy: secretToken, rule: isURL},
		{name: PropWechatConnectTimeout, rule: upTo(maxNotifyTimeout)},
		{name: PropWechatReadTimeout, rule: upTo(maxNotifyTimeout)},
	}},
	{prefix: "dingtalk.", handler: HandlerDingtalk, directs: []string{PropDingtalkWebhook}, props: []property{
		{name: PropDingtalkWebhook, required: true, secrecy: secretToken, rule: isURL},
		{name: PropDingtalkKeyword, rule: isLine},
		{name: PropDingtalkSecret, secrecy: secret, rule: isLine},
		{name: PropDingtalkConnectTimeout, rule: upTo(maxNotifyTimeout)},
		{name: PropDingtalkReadTimeout, rule: upTo(maxNotifyTimeout)},
	}},
	{prefix: "webhook.", handler: HandlerWebhook, directs: []string{PropWebhookURL}, props: []property{
		{name: PropWebhookURL, required: true, secrecy: secretToken, rule: isURL},
		{name: PropWebhookSecret, secrecy: secret, rule: isLine},
		{name: PropWebhookAuthorization, secrecy: secret, rule: isLine},
		{name: PropWebhookTemplate, rule: hook.Check},
		{name: PropWebhookConnectTimeout, rule: upTo(maxNotifyTimeout)},
		{name: PropWebhookReadTimeout, rule: upTo(maxNotifyTimeout)},
	}},
}

// The limits of timeouts in milliseconds. A notification that takes longer than half a minute delays others.
const (
	maxHTTPTimeout   = 24 * 60 * 60 * 1000
	maxNotifyTimeout = 30 * 1000
)

// familyOf returns the family of a property; nil if it has none.
func familyOf(name string) *family {
	for i := range families {
		if strings.HasPrefix(name, families[i].prefix) {
			return &families[i]
		}
	}
	return nil
}

// find returns the property of the family with this name; nil if there is none. For a header of an HTTP job it returns
// a new property.
func (f *family) find(name string) *property {
	if header, ok := strings.CutPrefix(name, PropHTTPHeader); ok {
		p := &property{name: name, rule: isHeaderValue}
		if isSecretHeader(header) {
			p.secrecy = secret
		}
		return p
	}
	for i := range f.props {
		if f.props[i].name == name {
			return &f.props[i]
		}
	}
	return nil
}

// names returns the names of the family's properties, for messages.
func (f *family) names() []string {
	names := make([]string, len(f.props))
	for i, p := range f.props {
		names[i] = p.name
	}
	if f.prefix == "http." {
		names = append(names, PropHTTPHeader+"NAME")
	}
	return names
}

// checkProps checks the properties of all families. Its result contains no secrets.
func (c Config) checkProps() (bad document.Violations, notes []string) {
	used := map[string]bool{} // families with at least one given property
	for _, name := range slices.Sorted(maps.Keys(c.Props)) {
		if len(bad) >= maxViolations {
			return bad, notes
		}
		if strings.HasPrefix(name, PropHTTPHeader) {
			bad = append(bad, checkReference("props."+name, c.Props[name])...)
		} else if c.Props[name].IsReference() {
			bad = append(bad, document.Violate("props."+name, "",
				"must be a text: the server reads properties, too, and has no file or variable of an agent; "+
					"only env and http.header. can name one"))
		}
		f := familyOf(name)
		if f == nil {
			continue
		}
		used[f.prefix] = true
		key, text, p := textKey{"props", name}, c.Props[name], f.find(name)
		field := "props." + name
		if p == nil { // do not show the value, which may be a secret under a misspelled name
			bad = append(bad, document.Violate(field, "", "%s", f.unknown(name)))
		} else if wrong := p.rule(text.Value); wrong != "" && !text.IsReference() && !key.isPlaceholder(text) {
			bad = append(bad, document.Violate(field, key.show(text).Value, "%s", wrong))
		}
	}
	for i := range families {
		f := &families[i]
		if f.handler != "" && used[f.prefix] && f.handler != c.JobErrorHandlerType {
			notes = append(notes, fmt.Sprintf("the properties %s* have no effect without jobErrorHandlerType %s",
				f.prefix, f.handler))
		}
		inEffect := used[f.prefix]
		if f.handler != "" {
			inEffect = f.handler == c.JobErrorHandlerType
		}
		if inEffect {
			bad = append(bad, c.missing(f)...)
		}
	}
	return append(bad, c.checkHTTP(used)...), notes
}

// unknown returns the message for a property that the family does not contain, with a name that was probably meant.
func (f *family) unknown(name string) string {
	known := "known are " + strings.Join(f.names(), ", ")
	if near := spelling.Nearest(name, f.names()); near != "" {
		return fmt.Sprintf("unknown property; did you mean %s? (%s)", near, known)
	}
	return "unknown property; " + known
}

// missing returns a violation, with the original's message, for each required property that is not given.
func (c Config) missing(f *family) (bad document.Violations) {
	for _, p := range f.props {
		if _, given := c.Props[p.name]; p.required && !given {
			bad = append(bad, document.Violate("props."+p.name, "", "The property `%s` is required.", p.name))
		}
	}
	return bad
}

// checkHTTP checks the combination of an HTTP job's properties. used contains the prefixes of the families with given
// properties.
func (c Config) checkHTTP(used map[string]bool) (bad document.Violations) {
	if !used["http."] {
		return nil
	}
	violate := func(name, format string, args ...any) {
		bad = append(bad, document.Violate("props."+name, "", format, args...))
	}
	if used["script."] {
		violate(PropScript,
			"is of a script job and http.* of an HTTP job: a job is one of them; remove the other's properties")
	}
	url, hasURL := c.Props[PropHTTPURL]
	uri, hasURI := c.Props[PropHTTPURI]
	switch {
	case !hasURL && !hasURI:
		violate(PropHTTPURL, "The property `%s` is required.", PropHTTPURL)
	case hasURL && hasURI && url.Value != uri.Value:
		violate(PropHTTPURI, "differs from %s, and means the same; give one of them", PropHTTPURL)
	}
	bad = append(bad, c.checkHeaders()...)
	method := strings.ToUpper(c.Prop(PropHTTPMethod))
	if _, given := c.Props[PropHTTPData]; given && slices.Contains(methods, method) &&
		!slices.Contains(methodsWithBody, method) {
		violate(PropHTTPData, "has no effect with the method %s, whose requests have no body; remove it, or use one of %s",
			method, strings.Join(methodsWithBody, ", "))
	}
	return bad
}

// checkHeaders checks the names of an HTTP job's headers.
func (c Config) checkHeaders() (bad document.Violations) {
	byHeader := map[string]string{} // the property, by lower-case header
	for _, name := range slices.Sorted(maps.Keys(c.Props)) {
		header, ok := strings.CutPrefix(name, PropHTTPHeader)
		if !ok {
			continue
		}
		wrong, lower := "", strings.ToLower(header)
		switch {
		case !headerPattern.MatchString(header):
			wrong = "the name of a header must be letters, digits and hyphens, such as http.header.Authorization"
		case lower == "content-type":
			wrong = "is the header that " + PropHTTPContentType + " sets; use that"
		case slices.Contains(ownHeaders, lower):
			wrong = "is a header that every request has, or that its connection decides; leave it out"
		case byHeader[lower] != "":
			wrong = "is the same header as " + byHeader[lower] + "; give one of them"
		}
		if byHeader[lower] = name; wrong != "" {
			bad = append(bad, document.Violate("props."+name, "", "%s", wrong))
		}
	}
	return bad
}

var (
	headerPattern = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	// ownHeaders are the headers that the executor or its connection sets.
	ownHeaders = []string{"shardingcontext", "content-length", "transfer-encoding", "connection", "upgrade", "te",
		"trailer", "keep-alive", "proxy-connection"}
)

// The following functions are rules of properties: each returns what is wrong with a value, or "".

var (
	methodsWithBody = []string{"POST", "PUT", "PATCH", "DELETE"}
	methods         = append([]string{"GET", "HEAD", "OPTIONS"}, methodsWithBody...)
)
