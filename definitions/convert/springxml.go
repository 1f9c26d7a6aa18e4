package convert

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Namespaces of ElasticJob in Spring: since 3.0, and before 3.0.
const (
	springNamespace     = "http://shardingsphere.apache.org/schema/elasticjob"
	springNamespacesOld = "http://www.dangdang.com/schema/ddframe/"
	springNamespaceOld  = springNamespacesOld + "job"
)

// springFile reads an XML file of Spring, token by token.
type springFile struct {
	*lite
	job    *liteJob       // the job of the current element; nil outside of jobs
	depth  int            // the depth of the current element within the job
	prop   string         // the property whose value is the text of the current element; "" if there is none
	inner  string         // the setting whose value is the text of the current element; "" if there is none
	others map[string]int // the number of elements that are not ElasticJob's, by name
}

// xml reads the jobs of an XML file of Spring: elasticjob:job; in 2.x job:simple, job:dataflow and job:script; in 1.x
// job:bean.
func (l *lite) xml(text []byte) error {
	f := &springFile{lite: l, others: map[string]int{}}
	decoder := xml.NewDecoder(bytes.NewReader(text))
	decoder.Entity = xml.HTMLEntity
	decoder.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // it is UTF-8 by now
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return xmlError(err)
		}
		line, _ := decoder.InputPos()
		f.readToken(token, line)
	}
	if len(f.others) > 0 {
		var names []string
		for _, name := range slices.Sorted(maps.Keys(f.others)) {
			names = append(names, fmt.Sprintf("%s (%d)", name, f.others[name]))
		}
		l.note(0, "", "elements left out, as they are not ElasticJob's: %s", strings.Join(names, ", "))
	}
	return nil
}

// readToken reads the next token of the file.
func (f *springFile) readToken(token xml.Token, line int) {
	switch t := token.(type) {
	case xml.StartElement:
		switch {
		case isLiteJob(t.Name):
			f.job, f.depth = springJob(t, line), 0
			f.jobs = append(f.jobs, f.job)
		case f.job != nil:
			f.depth++
			f.prop, f.inner = f.job.addChild(t, line)
		default:
			f.readOther(t, line)
		}
	case xml.CharData:
		value := strings.TrimSpace(string(t))
		switch {
		case f.job == nil || value == "":
		case f.prop != "":
			f.job.props[f.prop] = setting{text: value, line: line, key: "props." + f.prop}
		case f.inner != "":
			f.job.settings[plainKey(f.inner)] = setting{text: value, line: line, key: f.inner}
		}
	case xml.EndElement:
		if f.prop, f.inner = "", ""; f.job != nil && f.depth == 0 {
			f.job = nil
		}
		f.depth--
	}
}

// readOther reads the start of an element outside of jobs.
func (f *springFile) readOther(t xml.StartElement, line int) {
	class := ""
	for _, a := range t.Attr {
		if a.Name.Local == "class" {
			class = a.Value
		}
	}
	switch {
	case t.Name.Local == "property-placeholder":
		for _, a := range t.Attr {
			if a.Name.Local == "location" && len(f.options.Properties) == 0 {
				f.toDo(line, "", "the values of ${…} are in %s: import again with --properties and that file", a.Value)
			}
		}
	case isLite(t.Name):
		f.global = append(f.global, setting{line: line, key: t.Name.Local})
	case strings.HasSuffix(class, "SpringJobScheduler"), strings.HasSuffix(class, "JobScheduler"),
		strings.HasSuffix(class, "ScheduleJobBootstrap"):
		f.toDo(line, "", "the bean of the class %s is a job, which is not read from this form: read it from ZooKeeper, with --zk", class)
	case t.Name.Local != "beans":
		f.others[t.Name.Local]++
	}
}

// xmlError returns the error for an error of the decoder, without the text after an '&', which may be part of a
// password.
func xmlError(err error) error {
	var syntax *xml.SyntaxError
	if errors.As(err, &syntax) && strings.Contains(syntax.Msg, "character entity") {
		return fmt.Errorf("not XML: line %d: an & that does not begin an entity; write &amp; for it", syntax.Line)
	}
	return fmt.Errorf("not XML: %w", err)
}

// isLite reports whether an element belongs to ElasticJob. In 2.x there is another namespace for the registry center.
func isLite(name xml.Name) bool {
	return name.Space == springNamespace || strings.HasPrefix(name.Space, springNamespacesOld)
}

// isLiteJob reports whether an element is a job.
func isLiteJob(name xml.Name) bool {
	switch name.Space {
	case springNamespace:
		return name.Local == "job"
	case springNamespaceOld:
		return slices.Contains([]string{"simple", "dataflow", "script", "bean"}, name.Local)
	}
	return false
}

// springJob returns a job with the attributes of its element as settings.
func springJob(t xml.StartElement, line int) *liteJob {
	job := newLiteJob("", line)
	for _, a := range t.Attr {
		if a.Name.Space == "xmlns" || a.Name.Local == "xmlns" {
			continue
		}
		job.settings[plainKey(a.Name.Local)] = setting{text: a.Value, line: line, key: a.Name.Local}
	}
	job.name = job.settings["id"].text
	if t.Name.Local == "script" {
		job.settings["jobtype"] = setting{text: "SCRIPT", line: line, key: "job-type"}
	}
	return job
}

// addChild reads the start of an element within a job. If the text of the element is the value of a property or
// setting, addChild returns the property as prop or the setting as inner.
func (j *liteJob) addChild(t xml.StartElement, line int) (prop, inner string) {
	attributes := map[string]string{}
	for _, a := range t.Attr {
		attributes[a.Name.Local] = a.Value
	}
	switch t.Name.Local {
	case "listener", "distributed-listener":
		j.listeners = append(j.listeners, attributes["class"]+attributes["ref"])
	case "prop", "entry":
		key := attributes["key"] + attributes["name"]
		if value, given := attributes["value"]; given {
			j.props[key] = setting{text: value, line: line, key: "props." + key}
			return "", ""
		}
		return key, ""
	default:
		key := t.Name.Local
		for name, value := range attributes {
			j.settings[plainKey(key+"."+name)] = setting{text: value, line: line, key: key + "." + name}
		}
		return "", "<" + key + ">"
	}
	return "", ""
}
