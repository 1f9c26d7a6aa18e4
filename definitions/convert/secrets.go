package convert

import (
	"path"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/definitions"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/secrets"
)

// hiddenHere is the end of a remark "X contains …" about a secret that ****** replaces in the result.
const hiddenHere = "a secret, which was replaced by " + secrets.Hidden +
	": apply the definition once with the secret, from a file that you do not keep; after that, " + secrets.Hidden +
	" keeps the stored secret"

// takeSecrets returns a command, or a script of a shell, with variables in place of its secrets. The variables get
// their values from files on the agents, so that the command has the same effect. If the secrets cannot be replaced by
// variables, takeSecrets replaces them by ******.
func (b *builder) takeSecrets(d *definitions.Definition, line int, shell, command string) string {
	found := secrets.Find(command)
	if len(found) == 0 {
		return command
	}
	replacements, ok := quoting(command, found)
	if !ok || !slices.Contains([]string{"sh", "bash", "dash", "ash", "ksh", "zsh"}, path.Base(shell)) {
		b.toDo(line, d.Name(), "the command contains %s", hiddenHere)
		return secrets.Hide(command)
	}
	var out strings.Builder
	from := 0
	for i, s := range found {
		name := b.setSecret(d, line, s.Name)
		out.WriteString(command[from:s.From] + strings.ReplaceAll(replacements[i], "X", "${"+name+"}"))
		from = s.To
	}
	return out.String() + command[from:]
}

// setSecret sets a variable that gets its value from a file, and returns the variable's name. It is the secret's name
// in capitals, or SECRET if a job may not set such a variable. A number is appended if the job has a variable of that
// name.
func (b *builder) setSecret(d *definitions.Definition, line int, secretName string) string {
	name := strings.ToUpper(strings.NewReplacer("-", "_", ".", "_", "[", "_").Replace(secretName))
	isReserved := strings.HasPrefix(name, "ELASTICJOB_") || strings.HasPrefix(name, "MESOS_")
	if !variableName.MatchString(name) || isReserved {
		name = "SECRET"
	}
	// firstFree appends -2, -3, …, but env accepts no hyphens.
	name = firstFree(name, func(name string) bool {
		_, taken := d.Job.Env[strings.ReplaceAll(name, "-", "_")]
		return !taken
	})
	name = strings.ReplaceAll(name, "-", "_")
	if d.Job.Env == nil {
		d.Job.Env = document.Texts{}
	}
	// The path depends only on the names of the job and the variable, so that a new job in the source changes no other
	// path.
	d.Job.Env[name] = document.Text{FromFile: "/etc/elasticjob/secrets/" + d.Name() + "." + name}
	b.toDo(line, d.Name(), "a secret in its command was replaced by the variable %s: put the secret into the file %s on the agents",
		name, d.Job.Env[name].FromFile)
	return name
}

// quoting returns for each secret of a command the text that must replace it: a variable X with the quotes that it
// needs there in the shell. ok is false if the secrets cannot be replaced in this way: if a quote is not closed, if a
// quoted secret contains that quote, or if << stands outside quotes, because a here-document has other rules.
func quoting(command string, found []secrets.Span) (replacements []string, ok bool) {
	// These are the states of the scan, by the quotes around the position. Each is the text that replaces a secret
	// there.
	const none, double, single = `"X"`, `X`, `'"X"'`
	state, isComment := none, false
	for i := 0; i < len(command); i++ {
		if len(replacements) < len(found) && i == found[len(replacements)].From {
			secret := found[len(replacements)]
			replacements = append(replacements, state)
			i = secret.To - 1
			if state == none {
				continue
			}
			quote := map[string]string{single: "'", double: `"`}[state]
			if strings.Contains(command[secret.From:secret.To], quote) {
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
			if len(replacements) == len(found) || i+1 < found[len(replacements)].From {
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
	return replacements, state == none
}

// hideRest hides the secrets that are still in a definition, and adds remarks, because definitions are meant to be
// kept in git.
func (b *builder) hideRest(d *definitions.Definition) {
	if d.Kind == definitions.App {
		shown := d.App.WithoutSecrets()
		if shown.AppURL != d.App.AppURL {
			b.toDo(0, "", "the app's appURL contains %s", hiddenHere)
		}
		if shown.BootstrapScript != d.App.BootstrapScript {
			b.toDo(0, "", "the app's bootstrapScript contains %s", hiddenHere)
		}
		d.App = shown
		return
	}
	for _, field := range secretFields(d.Job) {
		b.toDo(d.At.Line, d.Name(), "%s contains %s", field, hiddenHere)
	}
	d.Job = d.Job.WithoutSecrets()
}
