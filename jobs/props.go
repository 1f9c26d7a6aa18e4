package jobs

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/document"
)

// Properties that the scheduler or the executor reads.
const (
	// PropScript is a script job's command line.
	PropScript = "script.command.line"
	// PropScriptContext decides whether the sharding context is the last argument of the script job's command line, as
	// in the original (contract 5.3). The default is "true"; "false", in upper or lower case, leaves it out.
	PropScriptContext = "script.context.argument"
	// PropHTTPURL and PropHTTPURI are two names for the URL of an HTTP job. The original reads PropHTTPURI.
	PropHTTPURL            = "http.url"
	PropHTTPURI            = "http.uri"
	PropHTTPMethod         = "http.method"
	PropHTTPData           = "http.data"
	PropHTTPContentType    = "http.content.type"
	PropHTTPConnectTimeout = "http.connect.timeout.milliseconds"
	PropHTTPReadTimeout    = "http.read.timeout.milliseconds"
	// PropHTTPProxy is the proxy of an HTTP job: a URL, or "environment". PropHTTPHeader is the prefix of the
	// properties with its headers.
	PropHTTPProxy  = "http.proxy"
	PropHTTPHeader = "http.header."
	// PropStreaming makes a dataflow job fetch and process until no data is left.
	PropStreaming = "streaming.process"
)

// The default timeouts of an HTTP job in milliseconds, which are the original's (contract 5.5).
const (
	DefaultHTTPConnectTimeout = 3000
	DefaultHTTPReadTimeout    = 5000
)

// OwnProps returns the properties for the job's program: those of no family, and those of streaming, which the SDKs
// use. The program gets no others, because they may contain secrets, such as those of error handlers.
func (c Config) OwnProps() map[string]string {
	own := make(map[string]string, len(c.Props))
	for name, text := range c.Props {
		if f := familyOf(name); f == nil || f.prefix == "streaming." {
			own[name] = text.Value
		}
	}
	return own
}

// ContextArgument reports whether the sharding context is an additional argument of the job's processes. It is one for
// script jobs, unless PropScriptContext is false.
func (c Config) ContextArgument() bool {
	return c.Prop(PropScript) != "" && !strings.EqualFold(c.Prop(PropScriptContext), "false")
}

// Prop returns the value of a property; "" if it is not given.
func (c Config) Prop(name string) string { return c.Props[name].Value }

// HTTPRequest is the request of an HTTP job.
type HTTPRequest struct {
	URL, Method, Data, ContentType, Proxy string
	// Headers are additional headers by name. Secret headers are marked as secrets.
	Headers document.Texts
	// The timeouts are in milliseconds.
	ConnectTimeout, ReadTimeout int64
}

// HTTP returns the request of an HTTP job. For other jobs it returns false.
func (c Config) HTTP() (HTTPRequest, bool) {
	url := cmp.Or(c.Prop(PropHTTPURL), c.Prop(PropHTTPURI))
	if url == "" {
		return HTTPRequest{}, false
	}
	timeout := func(name string, byDefault int64) int64 {
		if n, err := strconv.ParseInt(c.Prop(name), 10, 64); err == nil && n > 0 {
			return n
		}
		return byDefault
	}
	var headers document.Texts
	for name, text := range c.Props {
		if header, ok := strings.CutPrefix(name, PropHTTPHeader); ok {
			if headers == nil {
				headers = document.Texts{}
			}
			text.Secret = text.Secret || text.IsReference() || isSecretHeader(header)
			headers[header] = text
		}
	}
	return HTTPRequest{
		URL: url, Method: strings.ToUpper(c.Prop(PropHTTPMethod)), Data: c.Prop(PropHTTPData),
		ContentType: c.Prop(PropHTTPContentType), Proxy: c.Prop(PropHTTPProxy), Headers: headers,
		ConnectTimeout: timeout(PropHTTPConnectTimeout, DefaultHTTPConnectTimeout),
		ReadTimeout:    timeout(PropHTTPReadTimeout, DefaultHTTPReadTimeout),
	}, true
}
