package jobs

import (
	"cmp"
	"strconv"
	"strings"
)

// Properties that the scheduler or the executor reads.
const (
	// PropScript holds a script job's command line.
	PropScript = "script.command.line"
	// PropScriptContext has the script job's command line end with the sharding context, as the original's (contract
	// 5.3); "false", in any case, leaves it out. It is "true" by default.
	PropScriptContext = "script.context.argument"
	// PropHTTPURL and PropHTTPURI, the original's real key, hold the address of an HTTP job.
	PropHTTPURL            = "http.url"
	PropHTTPURI            = "http.uri"
	PropHTTPMethod         = "http.method"
	PropHTTPData           = "http.data"
	PropHTTPContentType    = "http.content.type"
	PropHTTPConnectTimeout = "http.connect.timeout.milliseconds"
	PropHTTPReadTimeout    = "http.read.timeout.milliseconds"
	// PropStreaming has a dataflow job fetch and process until there is nothing left.
	PropStreaming = "streaming.process"
)

// Defaults of an HTTP job's timeouts, in milliseconds: the original's (contract 5.5).
const (
	DefaultHTTPConnectTimeout = 3000
	DefaultHTTPReadTimeout    = 5000
)

// OwnProps are the properties that are passed on to a job's program: its own, and those of streaming, which is for its
// SDK. No others reach an agent: they may be secrets of error handlers.
func (c Config) OwnProps() map[string]string {
	own := make(map[string]string, len(c.Props))
	for name, text := range c.Props {
		if f := familyOf(name); f == nil || f.prefix == "streaming." {
			own[name] = text.Value
		}
	}
	return own
}

// ContextArgument says whether the command of the job's processes gets the sharding context as one more argument: only
// that of a script job does, unless PropScriptContext is false.
func (c Config) ContextArgument() bool {
	return c.Prop(PropScript) != "" && !strings.EqualFold(c.Prop(PropScriptContext), "false")
}

// Prop is the value of a property, "" if it is not given.
func (c Config) Prop(name string) string { return c.Props[name].Value }

// HTTPRequest is the request that an HTTP job is.
type HTTPRequest struct {
	URL, Method, Data, ContentType string
	// Timeouts in milliseconds.
	ConnectTimeout, ReadTimeout int64
}

// HTTP is the request of an HTTP job, and false for every other job.
func (c Config) HTTP() (HTTPRequest, bool) {
	url := cmp.Or(c.Prop(PropHTTPURL), c.Prop(PropHTTPURI))
	if url == "" {
		return HTTPRequest{}, false
	}
	millis := func(name string, byDefault int64) int64 {
		if n, err := strconv.ParseInt(c.Prop(name), 10, 64); err == nil && n > 0 {
			return n
		}
		return byDefault
	}
	return HTTPRequest{
		URL: url, Method: strings.ToUpper(c.Prop(PropHTTPMethod)), Data: c.Prop(PropHTTPData),
		ContentType:    c.Prop(PropHTTPContentType),
		ConnectTimeout: millis(PropHTTPConnectTimeout, DefaultHTTPConnectTimeout),
		ReadTimeout:    millis(PropHTTPReadTimeout, DefaultHTTPReadTimeout),
	}, true
}
