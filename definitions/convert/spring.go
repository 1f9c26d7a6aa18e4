package convert

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/properties"
)

// entry is a property of Spring's configuration: a value with its path. The path consists of the keys of the maps
// around the value; a key with dots stands for several keys.
type entry struct {
	setting
	path []string
}

// springDocument is a document of a configuration file.
type springDocument struct {
	line     int
	profiles string // the profiles for which the document applies; "" for all
	entries  []entry
	// job is the job's name in a document that is a job's configuration in ZooKeeper.
	job string
}

// plainPath returns the path of an entry with the plainKey of its names.
func (e entry) plainPath() string {
	var plain []string
	for _, name := range e.path {
		plain = append(plain, plainKey(name))
	}
	return strings.Join(plain, ".")
}

// springDocuments reads the documents of a file of Spring's configuration: YAML, JSON, or properties, in which
// documents are separated by "#---".
func springDocuments(text []byte) (documents []springDocument, err error) {
	if isProperties(text) {
		return propertiesDocuments(text)
	}
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var root yaml.Node
		switch err := decoder.Decode(&root); {
		case errors.Is(err, io.EOF):
			return documents, nil
		case err != nil:
			line, message := document.YAMLError(err)
			return nil, fmt.Errorf("not YAML: line %d: %s", line, message)
		}
		if nodes := 0; !isBounded(root.Content[0], 0, &nodes) {
			return nil, errors.New("it is nested too deep, or too large with its aliases written out")
		}
		for _, element := range elementsOf(root.Content[0]) {
			d := springDocument{line: element.Line}
			flattenInto(&d.entries, nil, element)
			documents = append(documents, d.withNames())
		}
	}
}

// elementsOf returns the elements of a list of maps, such as the jobs that a program has exported. For any other node
// it returns the node itself.
func elementsOf(n *yaml.Node) []*yaml.Node {
	if n.Kind == yaml.SequenceNode && len(n.Content) > 0 && withoutAlias(n.Content[0]).Kind == yaml.MappingNode {
		return n.Content
	}
	return []*yaml.Node{n}
}

// withNames returns the document with the profiles and the name of the job, which are among its entries.
func (d springDocument) withNames() springDocument {
	for _, e := range d.entries {
		switch path := e.plainPath(); path {
		case "spring.config.activate.onprofile", "spring.profiles":
			d.profiles = e.text
		case "jobname":
			d.job = e.text
		}
	}
	return d
}

// isProperties reports whether a text is a properties file: its first line with content has a '=' after a key without
// the characters of YAML, JSON and XML.
func isProperties(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' || line[0] == '!' {
			continue
		}
		key, _, found := bytes.Cut(line, []byte("="))
		return found && !bytes.ContainsAny(key, ": {[\"'<")
	}
	return false
}

// propertiesDocuments is springDocuments for properties.
func propertiesDocuments(text []byte) (documents []springDocument, err error) {
	for part := range strings.SplitSeq(strings.ReplaceAll(string(text), "\n!---", "\n#---"), "\n#---") {
		all, err := properties.Parse(part)
		if err != nil {
			return nil, err
		}
		before := bytes.Count(text[:bytes.Index(text, []byte(part))], []byte("\n"))
		d := springDocument{line: before + 1}
		for _, p := range all {
			s := setting{text: p.Value, line: before + p.Line, key: p.Key}
			d.entries = append(d.entries, entry{s, strings.Split(p.Key, ".")})
		}
		documents = append(documents, d.withNames())
	}
	return documents, nil
}

// Limits of a YAML document with its aliases expanded. With aliases, a few bytes can describe many nodes, or
// infinitely many.
const (
	maxYAMLDepth = 32
	maxYAMLNodes = 1 << 20
)

// isBounded reports whether a node is within these limits. depth is the depth of the node; nodes counts all nodes.
func isBounded(n *yaml.Node, depth int, nodes *int) bool {
	if *nodes++; depth > maxYAMLDepth || *nodes > maxYAMLNodes {
		return false
	}
	if n.Kind == yaml.AliasNode {
		return isBounded(n.Alias, depth+1, nodes)
	}
	for _, inner := range n.Content {
		if !isBounded(inner, depth+1, nodes) {
			return false
		}
	}
	return true
}

// withoutAlias returns the node for which an alias stands, and any other node unchanged.
func withoutAlias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// flattenInto adds the values at and below a node with a path. It splits keys at their dots, except the keys directly
// below elasticjob.jobs, which are names of jobs.
func flattenInto(entries *[]entry, path []string, n *yaml.Node) {
	n = withoutAlias(n)
	if elements := elementsOf(n); elements[0] != n {
		for i, element := range elements {
			flattenInto(entries, append(slices.Clone(path), fmt.Sprintf("[%d]", i)), element)
		}
		return
	}
	if n.Kind != yaml.MappingNode {
		if len(path) > 0 {
			s := setting{text: scalarText(n), line: n.Line, key: strings.Join(path, ".")}
			*entries = append(*entries, entry{s, path})
		}
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := []string{n.Content[i].Value}
		if len(path) != 2 || !isJobs(path) {
			key = strings.Split(key[0], ".")
		}
		flattenInto(entries, append(slices.Clone(path), key...), n.Content[i+1])
	}
}

// isJobs reports whether a path begins with elasticjob.jobs.
func isJobs(path []string) bool {
	return len(path) >= 2 && plainKey(path[0]) == "elasticjob" && plainKey(path[1]) == "jobs"
}

// scalarText returns a value as a text. A list becomes its elements, separated by commas, because both forms mean the
// same in Spring.
func scalarText(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		if n.ShortTag() == "!!null" {
			return ""
		}
		return n.Value
	}
	var parts []string
	for _, element := range n.Content {
		parts = append(parts, scalarText(withoutAlias(element)))
	}
	return strings.Join(parts, ",")
}

// isActive reports whether a document for these profiles applies. profiles is a list of names, of which one must be
// chosen, or an expression of Spring with '|', '&' and '!'; "" always applies.
func isActive(profiles string, chosen []string) bool {
	for alternative := range strings.FieldsFuncSeq(profiles, func(r rune) bool { return r == ',' || r == '|' }) {
		allHold := true
		for name := range strings.SplitSeq(alternative, "&") {
			name, negated := strings.CutPrefix(strings.Trim(name, " ()"), "!")
			allHold = allHold && slices.Contains(chosen, strings.TrimSpace(name)) != negated
		}
		if allHold {
			return true
		}
	}
	return profiles == ""
}

// spring reads the jobs of Spring's configuration, in which later documents override earlier ones.
func (l *lite) spring(text []byte) error {
	documents, err := springDocuments(text)
	if err != nil {
		return err
	}
	others := map[string]bool{}
	byName := map[string]*liteJob{}
	for _, d := range documents {
		switch {
		case !isActive(d.profiles, l.options.Profiles):
			l.note(d.line, "", "the document for the profile %s is left out; give --profile %s to have it", d.profiles,
				firstProfile(d.profiles))
			continue
		case d.job != "":
			l.jobs = append(l.jobs, storedJob(d))
			continue
		}
		for _, e := range d.entries {
			l.values[e.key] = e.text
			l.addEntry(e, byName, others)
		}
	}
	if len(others) > 0 {
		l.note(0, "", "left out, as it is not ElasticJob's: %s", strings.Join(slices.Sorted(maps.Keys(others)), ", "))
	}
	return nil
}

// firstProfile returns the first name in a list or expression of profiles.
func firstProfile(profiles string) string {
	names := strings.FieldsFunc(profiles, func(r rune) bool { return strings.ContainsRune(",|&!() ", r) })
	return strings.Join(names[:min(len(names), 1)], "")
}

// storedJob returns the job of a document from ZooKeeper.
func storedJob(d springDocument) *liteJob {
	job := newLiteJob(d.job, d.line)
	for _, e := range d.entries {
		job.add(e.path, e.setting)
	}
	return job
}

// add adds a setting or property by its path within the job.
func (j *liteJob) add(path []string, s setting) {
	if plainKey(path[0]) == "props" && len(path) > 1 {
		name := strings.Join(path[1:], ".")
		s.key = "props." + name
		j.props[name] = s
		return
	}
	s.key = strings.Join(path, ".")
	j.settings[plainKey(s.key)] = s
}

// starters are the names below which starters for Spring Boot have their configuration. Only below the first one are
// there jobs.
var starters = []string{"elasticjob", "elastic.job", "spring.elasticjob", "elasticjoblite", "elaticjob", "job.elastic"}

// addEntry adds an entry to its job in byName, to the global settings, or to others.
func (l *lite) addEntry(e entry, byName map[string]*liteJob, others map[string]bool) {
	path := e.plainPath()
	switch {
	case isJobs(e.path) && len(e.path) > 3:
		name := e.path[2]
		if byName[name] == nil {
			byName[name] = newLiteJob(name, e.line)
			l.jobs = append(l.jobs, byName[name])
		}
		byName[name].add(e.path[3:], e.setting)
	case path == "spring.config.activate.onprofile", path == "spring.profiles":
	case slices.ContainsFunc(starters, func(s string) bool { return strings.HasPrefix(path, s+".") }):
		l.global = append(l.global, e.setting)
	default:
		others[cmp.Or(e.path[0], e.key)] = true
	}
}
