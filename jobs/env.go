package jobs

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/document"
)

// Environment is the job's env as its executor gets it.
type Environment struct {
	// The maps are by the name of a variable of env. Texts has given values, Files has the paths of files on the agent
	// that contain the value, and Variables has the names of the executor's variables that contain it.
	Texts, Files, Variables map[string]string
	// Secrets are the names of texts in env and props that are marked as secrets, sorted.
	Secrets []string
}

// Environment returns the job's env.
func (c Config) Environment() Environment {
	e := Environment{Texts: map[string]string{}, Files: map[string]string{}, Variables: map[string]string{}}
	for _, texts := range []document.Texts{c.Env, c.Props} {
		for name, text := range texts {
			if text.Secret {
				e.Secrets = append(e.Secrets, name)
			}
		}
	}
	slices.Sort(e.Secrets)
	for name, text := range c.Env {
		switch {
		case text.FromFile != "":
			e.Files[name] = text.FromFile
		case text.FromEnv != "":
			e.Variables[name] = text.FromEnv
		default:
			e.Texts[name] = text.Value
		}
	}
	return e
}

var variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

const variableRule = "the name of a variable must be letters, digits and '_', not beginning with a digit"

// checkEnv checks the variables of env. Its violations do not contain values, because values may be secrets.
func (c Config) checkEnv() document.Violations {
	var bad document.Violations
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		field, text := "env."+name, c.Env[name]
		switch {
		case len(bad) >= maxViolations:
			return bad
		case !variablePattern.MatchString(name):
			bad = append(bad, document.Violate(field, "", variableRule))
		case strings.HasPrefix(name, "ELASTICJOB_"), strings.HasPrefix(name, "MESOS_"):
			bad = append(bad, document.Violate(field, "",
				"names that begin with ELASTICJOB_ or MESOS_ are the scheduler's own; choose another"))
		case len(name)+len(text.Value) > MaxParameterBytes:
			bad = append(bad, document.Violate(field, "", "must be at most %d KiB; put data into the package",
				MaxParameterBytes>>10))
		}
		bad = append(bad, checkReference(field, text)...)
	}
	return bad
}

// checkReference checks the file or the variable that a text refers to.
func checkReference(field string, text document.Text) (bad document.Violations) {
	_, name, _ := strings.Cut(field, ".")
	isCleanPath := path.IsAbs(text.FromFile) && path.Clean(text.FromFile) == text.FromFile
	if text.FromFile != "" && (!isCleanPath || len(text.FromFile) > maxPath) {
		bad = append(bad, document.Violate(field+".fromFile", text.FromFile,
			"must be the absolute path of a file on the agent, without '.', '..' and doubled slashes, "+
				"such as /etc/elasticjob/secrets/%s", strings.ToLower(name)))
	}
	switch {
	case text.FromEnv == "":
	case !variablePattern.MatchString(text.FromEnv):
		bad = append(bad, document.Violate(field+".fromEnv", text.FromEnv, variableRule))
	case slices.ContainsFunc(ownVariables,
		func(prefix string) bool { return strings.HasPrefix(text.FromEnv, prefix) }):
		bad = append(bad, document.Violate(field+".fromEnv", text.FromEnv,
			"names a variable that is the executor's own, as all are that begin with %s",
			strings.Join(ownVariables, ", ")))
	}
	return bad
}

// maxPath is Linux' limit of a path in bytes.
const maxPath = 4095

// ownVariables are the prefixes of the variables that executors get from their agents, some of which are secrets, and
// from the scheduler. A job must not refer to such variables; executors refuse them too.
var ownVariables = []string{"MESOS_", "LIBPROCESS_", "ELASTICJOB_"}
