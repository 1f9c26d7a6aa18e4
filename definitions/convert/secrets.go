package convert

import (
	"path"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/definitions"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/secrets"
)

// leftOut is what to do about a secret for which ****** stands in the result.
const leftOut = "a secret and was left out: apply it once from a file that you do not keep; then " + secrets.Hidden + " stands for it"

// takeSecrets returns a command, or a script of a shell, with variables in place of its secrets. Their values are in
// files on the agents, so that the command works unchanged. Where no variable can stand, ****** is in its place.
func (b *builder) takeSecrets(d *definitions.Definition, line int, shell, command string) string {
	found := secrets.Find(command)
	if len(found) == 0 {
		return command
	}
	places, ok := quoting(command, found)
	if !ok || !slices.Contains([]string{"sh", "bash", "dash", "ash", "ksh", "zsh"}, path.Base(shell)) {
		b.lost(line, d.Name(), "the command contains %s", leftOut)
		return secrets.Hide(command)
	}
	var out strings.Builder
	from := 0
	for i, s := range found {
		name := b.setSecret(d, line, s.Name)
		out.WriteString(command[from:s.From] + strings.ReplaceAll(places[i], "X", "${"+name+"}"))
		from = s.To
	}
	return out.String() + command[from:]
}

// setSecret sets a variable that gets its value from a file, and returns its name.
func (b *builder) setSecret(d *definitions.Definition, line int, called string) string {
	name := strings.ToUpper(strings.NewReplacer("-", "_", ".", "_", "[", "_").Replace(called))
	if !variableName.MatchString(name) || strings.HasPrefix(name, "ELASTICJOB_") || strings.HasPrefix(name, "MESOS_") {
		name = "SECRET"
	}
	name = firstFree(name, func(name string) bool {
		_, taken := d.Job.Env[strings.ReplaceAll(name, "-", "_")]
		return !taken
	})
	name = strings.ReplaceAll(name, "-", "_")
	if d.Job.Env == nil {
		d.Job.Env = document.Texts{}
	}
	// The path depends on the job only, so that a further one in the source changes no other's.
	d.Job.Env[name] = document.Text{FromFile: "/etc/elasticjob/secrets/" + d.Name() + "." + name}
	b.lost(line, d.Name(), "a secret in its command was left out: put it into the file %s on the agents; the command gets it in %s",
		d.Job.Env[name].FromFile, name)
	return name
}

// quoting returns, for each secret of a command, a variable X with the quotes that it needs in the shell. ok is false if
// the quotes do not end, or if there is a document in the command, which has rules of its own.
func quoting(command string, found []secrets.Span) (places []string, ok bool) {
	const none, double, single = `"X"`, `X`, `'"X"'`
	state, isComment := none, false
	for i := 0; i < len(command); i++ {
		if len(places) < len(found) && i == found[len(places)].From {
			places = append(places, state)
			if i = found[len(places)-1].To - 1; state == none || isComment {
				continue
			}
			if closes := map[string]string{single: "'", double: `"`}[state]; strings.Contains(command[found[len(places)-1].From:i+1], closes) {
				return nil, false
			}
			continue
		}
		switch c := command[i]; {
		case isComment:
			isComment = c != '\n'
		case state == single:
			if c == '\'' {
				state = none
			}
		case c == '\\':
			if len(places) == len(found) || i+1 < found[len(places)].From {
				i++
			}
		case c == '"' && state == none:
			state = double
		case c == '"':
			state = none
		case state == double:
		case c == '\'':
			state = single
		case c == '#' && (i == 0 || strings.IndexByte(" \t\n;", command[i-1]) >= 0):
			isComment = true
		case c == '<' && strings.HasPrefix(command[i:], "<<"):
			return nil, false
		}
	}
	return places, state == none
}

// hideRest replaces the secrets that are still in a definition, because definitions are meant to be kept in git.
func (b *builder) hideRest(d *definitions.Definition) {
	if d.Kind == definitions.App {
		shown := d.App.WithoutSecrets()
		if shown.AppURL != d.App.AppURL || shown.BootstrapScript != d.App.BootstrapScript {
			b.lost(0, "", "the app's appURL or bootstrapScript contains %s", leftOut)
		}
		d.App = shown
		return
	}
	for _, field := range secretFields(d.Job) {
		b.lost(d.At.Line, d.Name(), "%s contains %s", field, leftOut)
	}
	d.Job = d.Job.WithoutSecrets()
}
