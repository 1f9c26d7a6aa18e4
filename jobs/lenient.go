package jobs

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/elasticjob-go/elasticjob/app"
)

// Lenient converts a stored document that Check refuses, so that it means what it meant in the original, which checked
// nothing. The notes say which values are read differently or have no effect. Values with which the job cannot run
// stay unchanged, so that Check refuses the result too. shardingItemParameters stay unchanged because Check accepts
// them if CheckOptions.InForce has the same.
func (c Config) Lenient() (Config, []string) {
	l := lenient{c: c}
	l.c.Props = maps.Clone(c.Props)
	l.readTypes()
	l.readZone()
	_, notes, _ := StoredParameters(c)
	l.notes = append(l.notes, notes...)
	l.notes = append(l.notes, app.LenientAmounts(&l.c.CPUCount, &l.c.MemoryMB)...)
	for _, name := range slices.Sorted(maps.Keys(c.Props)) {
		l.readProp(name)
	}
	l.readScript()
	l.readRequest()
	l.readHandler()
	if len(l.notes) > maxNotes {
		more := len(l.notes) - maxNotes
		l.notes = append(l.notes[:maxNotes], fmt.Sprintf("%d more settings are read differently", more))
	}
	return l.c, l.notes
}

// maxNotes limits the notes of Lenient; one more note counts the others.
const maxNotes = 20

// lenient is the document that Lenient is converting, and the notes about it.
type lenient struct {
	c     Config
	notes []string
}

func (l *lenient) note(format string, args ...any) {
	l.notes = append(l.notes, fmt.Sprintf(format, args...))
}

// readTypes corrects the spelling of the types of execution and of handlers. It removes other types of handlers, such
// as those of the original's plug-ins.
func (l *lenient) readTypes() {
	// effect says what the removal of an unknown value means; with "", an unknown value stays.
	match := func(field string, value *string, effect string, known ...string) {
		if *value == "" || slices.Contains(known, *value) {
			return
		}
		for _, name := range known {
			if strings.EqualFold(strings.TrimSpace(*value), name) {
				l.note("%s %q is read as %s", field, *value, name)
				*value = name
				return
			}
		}
		if effect != "" {
			l.note("%s %q is not known here: %s", field, *value, effect)
			*value = ""
		}
	}
	match("jobExecutionType", &l.c.JobExecutionType, "", Transient, Daemon)
	match("jobExecutorServiceHandlerType", &l.c.JobExecutorServiceHandlerType, "it has no effect", ConcurrencyCPU,
		ConcurrencySingle)
	match("jobErrorHandlerType", &l.c.JobErrorHandlerType, "failed runs are logged, and nobody is notified",
		errorHandlers()...)
}

// readZone converts Java's name of a time zone.
func (l *lenient) readZone() {
	if _, err := Zone(l.c, nil); err == nil {
		return
	}
	if name := JavaZone(l.c.TimeZone); name != l.c.TimeZone {
		l.note("timeZone %q is read as %s, as in Java", l.c.TimeZone, name)
		l.c.TimeZone = name
	}
}

// drop removes a property. The note does not contain the value, which may be a secret.
func (l *lenient) drop(name, format string, args ...any) {
	delete(l.c.Props, name)
	l.note("props."+name+" "+format, args...)
}

// manualNames contains the right names of properties by the wrong names that the original's manual uses for them.
var manualNames = map[string]string{
	"wechat.connectTimeout": PropWechatConnectTimeout, "wechat.readTimeout": PropWechatReadTimeout,
	"dingtalk.connectTimeout": PropDingtalkConnectTimeout, "dingtalk.readTimeout": PropDingtalkReadTimeout,
}

// readProp corrects the name and the value of a property of a family, or removes the property if it has no effect.
func (l *lenient) readProp(name string) {
	text := l.c.Props[name]
	if right, ok := manualNames[name]; ok {
		if delete(l.c.Props, name); l.c.Prop(right) == "" {
			l.c.Props[right] = text
		}
		l.note("props.%s is read as %s", name, right)
		name = right
	}
	f := familyOf(name)
	if f == nil || text.IsReference() {
		return
	}
	p := f.find(name)
	if p == nil {
		l.drop(name, "is not known here: it has no effect")
		return
	}
	wrong := p.rule(text.Value)
	if wrong == "" {
		return
	}
	if value := p.readAsJava(text.Value); value != text.Value && p.rule(value) == "" {
		text.Value = value
		l.c.Props[name] = text
		l.note("props.%s %s: it is read as %s", name, wrong, p.show(value))
		return
	}
	canRunWithout := f.handler != "" || !p.required && name != PropHTTPURL && name != PropHTTPURI
	switch {
	case canRunWithout:
		l.drop(name, "%s: it has no effect", wrong)
	case name == PropScript && strings.TrimSpace(text.Value) == "":
		l.drop(name, "is empty: the app's bootstrapScript is run")
	}
}

// readAsJava returns how Java reads a value that breaks the property's rule. It recognizes the type of a property by
// the values that the rule accepts.
func (p *property) readAsJava(value string) string {
	value = strings.TrimSpace(value)
	isBoolean := p.rule("true") == "" && p.rule("yes") != ""
	if isBoolean { // everything but true is false in Java
		return strconv.FormatBool(strings.EqualFold(value, "true"))
	}
	isTimeout := strings.HasSuffix(strings.ToLower(p.name), "milliseconds")
	if n, err := strconv.Atoi(value); isTimeout && err == nil && n >= 0 {
		// The value is 0, which is unlimited in Java, or exceeds the limit.
		limit := maxHTTPTimeout
		if !strings.HasPrefix(p.name, "http.") {
			limit = maxNotifyTimeout
		}
		return strconv.Itoa(limit)
	}
	if u, err := url.Parse(value); err == nil && u.User != nil && p.secrecy == secretUser {
		u.User = nil // Java does not send it
		return u.String()
	}
	isAddressList := p.rule("a@example.com,b@example.com") == "" && p.rule("a") != ""
	if isAddressList {
		isSeparator := func(r rune) bool { return strings.ContainsRune(",; ", r) }
		return strings.Join(strings.FieldsFunc(value, isSeparator), ",")
	}
	return value
}

// readScript quotes the words of a command line that SplitCommand refuses. It splits the words as the original does,
// for which only quotes and blanks have a meaning.
func (l *lenient) readScript() {
	text := l.c.Props[PropScript]
	wrong := isCommand(text.Value)
	if strings.TrimSpace(text.Value) == "" || wrong == "" {
		return
	}
	if words := javaWords(text.Value); len(words) > 0 && isCommand(app.JoinCommand(words)) == "" {
		text.Value = app.JoinCommand(words)
		l.c.Props[PropScript] = text
		l.note("props.%s: %s. As before, such characters are passed to the program", PropScript, wrong)
	}
}

// javaWords splits a command line as Apache Commons Exec does: quotes group words, and backslashes have no meaning. It
// returns no words if a quote is not closed.
func javaWords(line string) (words []string) {
	var word strings.Builder
	inWord, quote := false, rune(0)
	for _, r := range line {
		switch {
		case r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, inWord = r, true
		case quote == 0 && r == ' ':
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		return nil
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}

// readRequest removes those properties of an HTTP job that have no effect in their combination. A job without a URL is
// not an HTTP job, so that all of them are removed.
func (l *lenient) readRequest() {
	if l.c.Prop(PropHTTPURL) == "" && l.c.Prop(PropHTTPURI) == "" {
		for _, name := range slices.Sorted(maps.Keys(l.c.Props)) {
			if strings.HasPrefix(name, "http.") {
				l.drop(name, "has no effect without %s", PropHTTPURI)
			}
		}
		return
	}
	if uri, given := l.c.Props[PropHTTPURI]; given && uri.Value != "" {
		if other, both := l.c.Props[PropHTTPURL]; both && other.Value != uri.Value {
			l.drop(PropHTTPURL, "has no effect beside %s, which the original reads", PropHTTPURI)
		}
	}
	method := strings.ToUpper(l.c.Prop(PropHTTPMethod))
	if _, given := l.c.Props[PropHTTPData]; given && slices.Contains(methods, method) &&
		!slices.Contains(methodsWithBody, method) {
		l.drop(PropHTTPData, "has no effect with the method %s, whose requests have no body", method)
	}
}

// readHandler removes the error handler if it cannot notify anybody, because required properties are missing.
func (l *lenient) readHandler() {
	for i := range families {
		f := &families[i]
		if f.handler == "" || f.handler != l.c.JobErrorHandlerType {
			continue
		}
		var missing []string
		for _, p := range f.props {
			if _, given := l.c.Props[p.name]; p.required && !given {
				missing = append(missing, "props."+p.name)
			}
		}
		if len(missing) > 0 {
			l.note("jobErrorHandlerType %s has no effect, and nobody is notified of failed runs: give %s",
				f.handler, strings.Join(missing, ", "))
			l.c.JobErrorHandlerType = ""
		}
	}
}
