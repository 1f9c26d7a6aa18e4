package convert

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/elasticjob-go/elasticjob/definitions"
)

// liteFile is the content of a file that concerns ElasticJob-Lite: the jobs, and the names of other settings.
type liteFile struct {
	jobs   []*liteJob
	beside []setting
}

// liteYAML reads the documents of a YAML file: configurations of Spring Boot, and of jobs in ZooKeeper. JSON is YAML.
func liteYAML(text []byte) (*liteFile, error) {
	found := &liteFile{}
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var document yaml.Node
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			return found, nil
		case err != nil:
			line, message := definitions.SyntaxError(err)
			return nil, fmt.Errorf("no YAML: line %d: %s", line, message)
		}
		root := document.Content[0]
		if nodes := 0; !bounded(root, 0, &nodes) {
			return nil, errors.New("it is nested too deep, or too large with its aliases written out")
		}
		if name := child(root, "jobname"); name != nil {
			found.jobs = append(found.jobs, liteNode(name.Value, root.Line, root))
			continue
		}
		found.addSpring("elasticjob.", child(root, "elasticjob"))
		found.addSpring("", root)
	}
}

// addSpring adds the settings below elasticjob in a map of Spring Boot's configuration. prefix is the path of the
// map.
func (f *liteFile) addSpring(prefix string, settings *yaml.Node) {
	if settings == nil || settings.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(settings.Content); i += 2 {
		key, value := settings.Content[i], resolved(settings.Content[i+1])
		name, ours := strings.CutPrefix(plainKey(prefix+key.Value), "elasticjob.")
		switch {
		case !ours:
		case name != "jobs":
			f.beside = append(f.beside, setting{line: key.Line, key: prefix + key.Value})
		case value.Kind == yaml.MappingNode:
			for j := 0; j+1 < len(value.Content); j += 2 {
				f.jobs = append(f.jobs, liteNode(value.Content[j].Value, value.Content[j].Line, value.Content[j+1]))
			}
		}
	}
}

// Limits of a YAML document with its aliases expanded. With aliases, a few bytes can describe many nodes, or
// infinitely many.
const (
	maxYAMLDepth = 32
	maxYAMLNodes = 1 << 20
)

func bounded(n *yaml.Node, depth int, nodes *int) bool {
	if *nodes++; depth > maxYAMLDepth || *nodes > maxYAMLNodes {
		return false
	}
	if n.Kind == yaml.AliasNode {
		return bounded(n.Alias, depth+1, nodes)
	}
	for _, inner := range n.Content {
		if !bounded(inner, depth+1, nodes) {
			return false
		}
	}
	return true
}

// child returns the value of a key in a map, found by its plainKey; nil if there is none.
func child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if plainKey(n.Content[i].Value) == key {
			return resolved(n.Content[i+1])
		}
	}
	return nil
}

func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func liteNode(name string, line int, n *yaml.Node) *liteJob {
	job := newLiteJob(name, line)
	n = resolved(n)
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], resolved(n.Content[i+1])
		if plainKey(key.Value) == "props" {
			flatten("", value, job.props)
			continue
		}
		job.settings[plainKey(key.Value)] = setting{text: scalarText(value), line: key.Line, key: key.Value}
	}
	return job
}

// scalarText returns a value as a text. A list becomes its entries separated by commas, as Spring reads both forms
// alike.
func scalarText(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		if n.ShortTag() == "!!null" {
			return ""
		}
		return n.Value
	}
	var parts []string
	for _, one := range n.Content {
		parts = append(parts, scalarText(resolved(one)))
	}
	return strings.Join(parts, ",")
}

// flatten reads properties, which may be nested: script: {command: {line: x}} is script.command.line.
func flatten(prefix string, n *yaml.Node, into map[string]setting) {
	if n.Kind != yaml.MappingNode {
		if prefix != "" {
			into[prefix] = setting{text: scalarText(n), line: n.Line, key: "props." + prefix}
		}
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		flatten(strings.TrimPrefix(prefix+"."+n.Content[i].Value, "."), resolved(n.Content[i+1]), into)
	}
}

// Namespaces of ElasticJob in Spring: since 3.0, and before 3.0.
const (
	springNamespace     = "http://shardingsphere.apache.org/schema/elasticjob"
	springNamespacesOld = "http://www.dangdang.com/schema/ddframe/"
	springNamespaceOld  = springNamespacesOld + "job"
)

// liteXML reads the jobs of a Spring file: elasticjob:job, or in 2.x job:simple, job:dataflow and job:script.
func liteXML(text []byte) (*liteFile, error) {
	found := &liteFile{}
	decoder := xml.NewDecoder(bytes.NewReader(text))
	decoder.Entity = xml.HTMLEntity
	decoder.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	var job *liteJob
	var prop string
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, xmlError(err)
		}
		line, _ := decoder.InputPos()
		switch t := token.(type) {
		case xml.StartElement:
			if isLiteJob(t.Name) {
				job = springJob(t, line)
				found.jobs = append(found.jobs, job)
				continue
			}
			if job == nil && isLite(t.Name) {
				found.beside = append(found.beside, setting{line: line, key: t.Name.Local})
			}
			prop = ""
			if job != nil {
				prop = job.addChild(t, line)
			}
		case xml.CharData:
			if value := strings.TrimSpace(string(t)); job != nil && prop != "" && value != "" {
				job.props[prop] = setting{text: value, line: line, key: "props." + prop}
			}
		case xml.EndElement:
			if prop = ""; isLiteJob(t.Name) {
				job = nil
			}
		}
	}
}

// xmlError rewrites an error of the decoder. It omits the text after an '&', which may be a part of a password.
func xmlError(err error) error {
	var syntax *xml.SyntaxError
	if errors.As(err, &syntax) && strings.Contains(syntax.Msg, "character entity") {
		return fmt.Errorf("no XML: line %d: an & that begins no entity; write &amp; for it", syntax.Line)
	}
	return fmt.Errorf("no XML: %w", err)
}

// isLite reports whether an element belongs to ElasticJob. In 2.x the registry center has a namespace of its own.
func isLite(name xml.Name) bool {
	return name.Space == springNamespace || strings.HasPrefix(name.Space, springNamespacesOld)
}

func isLiteJob(name xml.Name) bool {
	switch name.Space {
	case springNamespace:
		return name.Local == "job"
	case springNamespaceOld:
		return name.Local == "simple" || name.Local == "dataflow" || name.Local == "script"
	}
	return false
}

func springJob(t xml.StartElement, line int) *liteJob {
	job := newLiteJob("", line)
	for _, a := range t.Attr {
		job.settings[plainKey(a.Name.Local)] = setting{text: a.Value, line: line, key: a.Name.Local}
	}
	job.name = job.settings["id"].text
	if t.Name.Local == "script" {
		job.settings["jobtype"] = setting{text: "SCRIPT", line: line, key: "job-type"}
	}
	return job
}

// addChild reads an element within a job. It returns the name of the property whose value is the element's text, or
// "".
func (j *liteJob) addChild(t xml.StartElement, line int) (prop string) {
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
			return ""
		}
		return key
	}
	return ""
}
