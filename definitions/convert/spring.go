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

// entry is a property of Spring's configuration: a value with its path, the keys of the maps around it. A key with dots
// stands for several.
type entry struct {
	setting
	path []string
}

// springDocument is a document of a configuration file, with the profiles for which it counts.
type springDocument struct {
	line     int
	profiles string // "" if it always counts
	entries  []entry
	// job is the name in a document that is a job's configuration in ZooKeeper.
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

// springDocuments reads a file of Spring's configuration: YAML with its documents, JSON, or properties, whose documents
// are separated by #---.
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
		if nodes := 0; !bounded(root.Content[0], 0, &nodes) {
			return nil, errors.New("it is nested too deep, or too large with its aliases written out")
		}
		for _, one := range parts(root.Content[0]) {
			d := springDocument{line: one.Line}
			flattenInto(&d.entries, nil, one)
			documents = append(documents, d.finished())
		}
	}
}

// parts returns the elements of a list of maps, such as the jobs that a program has exported; otherwise the node itself.
func parts(n *yaml.Node) []*yaml.Node {
	if n.Kind == yaml.SequenceNode && len(n.Content) > 0 && resolved(n.Content[0]).Kind == yaml.MappingNode {
		return n.Content
	}
	return []*yaml.Node{n}
}

// finished finds the profiles and the name of the job among the entries.
func (d springDocument) finished() springDocument {
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

// isProperties reports whether a text is a properties file: its first line with content has a '=' behind a dotted key.
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

func propertiesDocuments(text []byte) (documents []springDocument, err error) {
	for part := range strings.SplitSeq(strings.ReplaceAll(string(text), "\n!---", "\n#---"), "\n#---") {
		all, err := properties.Parse(part)
		if err != nil {
			return nil, err
		}
		before := bytes.Count(text[:bytes.Index(text, []byte(part))], []byte("\n"))
		d := springDocument{line: before + 1}
		for _, p := range all {
			d.entries = append(d.entries, entry{setting{text: p.Value, line: before + p.Line, key: p.Key}, strings.Split(p.Key, ".")})
		}
		documents = append(documents, d.finished())
	}
	return documents, nil
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

func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// flattenInto adds the values below a node. Below elasticjob.jobs a key is a job's name, which may have dots.
func flattenInto(entries *[]entry, path []string, n *yaml.Node) {
	n = resolved(n)
	if elements := parts(n); elements[0] != n {
		for i, one := range elements {
			flattenInto(entries, append(slices.Clone(path), fmt.Sprintf("[%d]", i)), one)
		}
		return
	}
	if n.Kind != yaml.MappingNode {
		if len(path) > 0 {
			*entries = append(*entries, entry{setting{text: scalarText(n), line: n.Line, key: strings.Join(path, ".")}, path})
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

// active reports whether a document for these profiles counts: one of a list must be active. Expressions of Spring with
// '&' and '!' are evaluated, too.
func active(profiles string, chosen []string) bool {
	for one := range strings.FieldsFuncSeq(profiles, func(r rune) bool { return r == ',' || r == '|' }) {
		all := true
		for name := range strings.SplitSeq(one, "&") {
			name, negated := strings.CutPrefix(strings.Trim(name, " ()"), "!")
			all = all && slices.Contains(chosen, strings.TrimSpace(name)) != negated
		}
		if all {
			return true
		}
	}
	return profiles == ""
}

// spring adds the jobs of a configuration, in which later documents override earlier ones.
func (l *lite) spring(text []byte) error {
	documents, err := springDocuments(text)
	if err != nil {
		return err
	}
	others := map[string]bool{}
	byName := map[string]*liteJob{}
	for _, d := range documents {
		switch {
		case !active(d.profiles, l.options.Profiles):
			l.note(d.line, "", "the document for the profile %s is left out; give --profile %s to have it", d.profiles,
				firstProfile(d.profiles))
			continue
		case d.job != "":
			l.jobs = append(l.jobs, stored(d))
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

func firstProfile(profiles string) string {
	names := strings.FieldsFunc(profiles, func(r rune) bool { return strings.ContainsRune(",|&!() ", r) })
	return strings.Join(names[:min(len(names), 1)], "")
}

// stored returns the job of a document from ZooKeeper.
func stored(d springDocument) *liteJob {
	job := newLiteJob(d.job, d.line)
	for _, e := range d.entries {
		job.add(e.path, e.setting)
	}
	return job
}

// add adds a setting with its path within a job.
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

// starters are the names below which starters for Spring Boot have their configuration; only the first one has jobs.
var starters = []string{"elasticjob", "elastic.job", "spring.elasticjob", "elasticjoblite", "elaticjob", "job.elastic"}

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
		l.beside = append(l.beside, e.setting)
	default:
		others[cmp.Or(e.path[0], e.key)] = true
	}
}
