package convert

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// liteYAML reads the documents of a YAML file: those of Spring Boot, and configurations from ZooKeeper. JSON is YAML.
func liteYAML(text []byte) (found []*liteJob, err error) {
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var document yaml.Node
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			return found, nil
		case err != nil:
			return nil, fmt.Errorf("no YAML: %.150s", strings.TrimPrefix(err.Error(), "yaml: "))
		}
		root := document.Content[0]
		if nodes := 0; !bounded(root, 0, &nodes) {
			return nil, errors.New("it is nested too deep, or too large with its aliases written out")
		}
		if name := child(root, "jobname"); name != nil {
			found = append(found, liteNode(name.Value, root.Line, root))
			continue
		}
		all := child(child(root, "elasticjob"), "jobs")
		if all == nil {
			all = child(root, "elasticjob.jobs")
		}
		if all == nil || all.Kind != yaml.MappingNode {
			continue
		}
		for i := 0; i+1 < len(all.Content); i += 2 {
			found = append(found, liteNode(all.Content[i].Value, all.Content[i].Line, all.Content[i+1]))
		}
	}
}

// Bounds of a YAML document with its aliases written out, which make few bytes many nodes, or without end.
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

// child is the value of a key in a map, by its plain form; nil if there is none.
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
		job.settings[plainKey(key.Value)] = setting{scalarText(value), key.Line, key.Value}
	}
	return job
}

// scalarText is a value as a text: a list as its entries with commas between them, which is how Spring reads both.
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

// flatten reads props, which may be nested: script: {command: {line: x}} is script.command.line.
func flatten(prefix string, n *yaml.Node, into map[string]setting) {
	if n.Kind != yaml.MappingNode {
		if prefix != "" {
			into[prefix] = setting{scalarText(n), n.Line, "props." + prefix}
		}
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		flatten(strings.TrimPrefix(prefix+"."+n.Content[i].Value, "."), resolved(n.Content[i+1]), into)
	}
}

// Namespaces of ElasticJob in Spring, since 3.0 and before that.
const (
	springNamespace    = "http://shardingsphere.apache.org/schema/elasticjob"
	springNamespaceOld = "http://www.dangdang.com/schema/ddframe/job"
)

// liteXML reads the jobs of a Spring file: elasticjob:job, or in 2.x job:simple, job:dataflow and job:script.
func liteXML(text []byte) (found []*liteJob, err error) {
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
			return nil, fmt.Errorf("no XML: %w", err)
		}
		line, _ := decoder.InputPos()
		switch t := token.(type) {
		case xml.StartElement:
			if isLiteJob(t.Name) {
				job = springJob(t, line)
				found = append(found, job)
				continue
			}
			prop = ""
			if job != nil {
				prop = job.addChild(t, line)
			}
		case xml.CharData:
			if value := strings.TrimSpace(string(t)); job != nil && prop != "" && value != "" {
				job.props[prop] = setting{value, line, "props." + prop}
			}
		case xml.EndElement:
			if prop = ""; isLiteJob(t.Name) {
				job = nil
			}
		}
	}
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
		job.settings[plainKey(a.Name.Local)] = setting{a.Value, line, a.Name.Local}
	}
	job.name = job.settings["id"].text
	if t.Name.Local == "script" {
		job.settings["jobtype"] = setting{"SCRIPT", line, "job-type"}
	}
	return job
}

// addChild reads an element within a job; it is the name of a property whose value is its text, or "".
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
			j.props[key] = setting{value, line, "props." + key}
			return ""
		}
		return key
	}
	return ""
}
