package convert

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/definitions"
	"github.com/elasticjob-go/elasticjob/internal/secrets"
)

// crontab reads a crontab line by line.
type crontab struct {
	*builder
	env     map[string]setting // the variables that were set above the current line, and apply to its entry
	comment string             // the comment in the previous line
}

// Crontab converts the crontab of a user, or, with Options.System, a crontab whose entries contain the user before the
// command.
func Crontab(file string, text []byte, options Options) *Result {
	c := &crontab{builder: newBuilder(file, options), env: map[string]setting{}}
	for i, line := range strings.Split(string(text), "\n") {
		c.readLine(i+1, strings.Trim(strings.TrimSuffix(line, "\r"), " \t"))
	}
	if len(c.result.Definitions) > 0 {
		c.noteOnce(0, "cron starts an entry even while its last run continues; here a job has one run at a time, and a fire that finds it running is dropped, or queued with misfire: true")
		c.noteOnce(0, "commands run in the folder of the app's package, not in the user's home: name files by absolute paths")
	}
	if options.TimeZone == "" && len(c.result.Definitions) > 0 {
		c.noteOnce(0, "crons without CRON_TZ apply in the server's time zone; give --time-zone if this machine has another")
	}
	return c.finish("/bin/true") // each job has its own command
}

// assignment matches a line that sets a variable.
var assignment = regexp.MustCompile(`^("[^"]*"|'[^']*'|[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$`)

// disabledEntry matches an entry that was commented out.
var disabledEntry = regexp.MustCompile(`^(@\w+|[-0-9*/,]+\s+[-0-9*/,]+)\s`)

// readLine reads a line without the blanks around it.
func (c *crontab) readLine(line int, text string) {
	comment := c.comment
	c.comment = ""
	switch {
	case text == "":
	case text[0] == '#':
		switch text = strings.Trim(text, "# \t"); {
		case disabledEntry.MatchString(text):
			c.note(line, "", "the entry that is commented out is left out")
		case !assignment.MatchString(text):
			c.comment = text
		}
	case assignment.MatchString(text):
		parts := assignment.FindStringSubmatch(text)
		c.setVariable(line, unquote(parts[1]), unquote(strings.TrimSpace(parts[2])))
	default:
		c.readEntry(line, strings.TrimPrefix(text, "-"), comment) // a '-' in front suppresses the log entry
	}
}

// unquote removes the quotes around a text, if it has them.
func unquote(text string) string {
	if n := len(text); n >= 2 && text[0] == text[n-1] && (text[0] == '"' || text[0] == '\'') {
		return text[1 : n-1]
	}
	return text
}

// setVariable handles a line NAME=value. cron itself uses some of the names.
func (c *crontab) setVariable(line int, name, value string) {
	switch name {
	case "MAILTO", "MAILFROM":
		if value != "" {
			c.toDo(line, "", "%s=%s has no counterpart: output is kept, and is not mailed; for mail about runs that fail set jobErrorHandlerType: EMAIL and its properties", name, value)
		}
	case "RANDOM_DELAY":
		c.toDo(line, "", "RANDOM_DELAY has no counterpart: choose different times for the crons")
	default:
		c.env[name] = setting{text: value, line: line, key: name}
	}
}

// cutWord returns the first word of a text, and the rest.
func cutWord(text string) (word, rest string) {
	text = strings.TrimLeft(text, " \t")
	if end := strings.IndexAny(text, " \t"); end >= 0 {
		return text[:end], strings.TrimLeft(text[end:], " \t")
	}
	return text, ""
}

// readEntry reads an entry: a time, with --system a user, flags of BSD's cron, and a command.
func (c *crontab) readEntry(line int, text, comment string) {
	t, rest := cutTime(text)
	user := ""
	if c.options.System {
		user, rest = cutWord(rest)
	} else if first, command := cutWord(rest); slices.Contains(systemUsers, first) && command != "" {
		user, rest = first, command
		c.noteOnce(line, fmt.Sprintf(
			"%s was read as the user of the entry, as in /etc/crontab; give --system if other entries have one, too",
			first))
	}
	for flag, command := cutWord(rest); bsdFlags[flag] != ""; flag, command = cutWord(rest) {
		c.note(line, "", "the flag %s is left out: %s", flag, bsdFlags[flag])
		rest = command
	}
	if rest == "" {
		c.toDo(line, "", "not an entry of a crontab, left out: an entry has five columns%s and a command",
			map[bool]string{true: ", a user"}[c.options.System])
		return
	}
	if user != "" {
		c.toDoOnce(line, fmt.Sprintf("entries of the user %s: the agents' executors decide which user runs a job, not the job; set up the executors so that they run as that user", user))
	}
	crons, note, err := t.crons()
	if err != nil {
		c.toDo(line, "", "the entry is left out: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	c.addTimed(line, crons, comment, rest)
	switch {
	case len(crons) == 0:
		c.toDo(line, c.last().Name(), "%s; the job runs on trigger only", note)
	case note != "":
		c.note(line, c.last().Name(), "%s", note)
	}
	first, second := cutWord(rest)
	looksLikeUser := plainWord.MatchString(first) && first != "cd" && !slices.Contains(wrappers, first)
	if !c.options.System && user == "" && looksLikeUser && programPath.MatchString(second) {
		c.toDo(line, c.last().Name(), "if %s is not a program but the user who runs the entry, import with --system",
			first)
	}
}

// systemUsers are names that are read as the user of an entry even without --system, because no program has such a
// name.
var systemUsers = []string{"root", "www-data", "nobody", "daemon", "postgres", "mysql", "nginx", "apache", "httpd",
	"jenkins", "ubuntu", "ec2-user", "centos", "debian", "deploy", "oracle", "hadoop", "tomcat", "redis", "vagrant"}

// bsdFlags are the flags before the command in crontabs of FreeBSD and OpenBSD, with the reason why they are not
// needed.
var bsdFlags = map[string]string{
	"-n": "the output of successful runs is kept, too",
	"-q": "nothing is logged by cron here",
	"-s": "a job runs once at a time anyway",
}

// programPath matches a command that begins with the path of a program or script.
var programPath = regexp.MustCompile(`^/\S*(?:bin/|\.(?:sh|py|pl|php|rb)(?:\s|$))`)

// plainWord matches a word that may be the name of a user.
var plainWord = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// addTimed adds one job for each cron of an entry, or a single job without a cron if there are none.
func (c *crontab) addTimed(line int, crons []string, comment, command string) {
	c.addJob(line, comment, command, "")
	for i, expression := range crons {
		if i > 0 {
			c.addJob(line, comment, command, "-weekday")
		}
		c.setCron(c.last(), line, expression)
	}
	if len(crons) > 1 {
		c.toDo(line, c.last().Name(), "the entry fires on a day of the month or of the week, which needs two jobs; on a day that matches both they both run: make sure that the command tolerates that")
	}
}

// last returns the definition that was added last.
func (c *crontab) last() *definitions.Definition {
	return c.result.Definitions[len(c.result.Definitions)-1]
}

// addJob adds a job without a cron. text is the entry without its time; suffix is added to the job's name.
func (c *crontab) addJob(line int, comment, text, suffix string) {
	command, input := splitPercent(text)
	shown := secrets.Hide(command) // the name is made of it, and names are shown everywhere
	hash := sha256.Sum256([]byte(shown))
	d := c.job(line, commandName(shown)+suffix, hex.EncodeToString(hash[:2]), "crontab")
	d.Job.Description = comment
	shell := "/bin/sh"
	for _, name := range slices.Sorted(maps.Keys(c.env)) {
		value := c.env[name].text
		switch {
		case name == "SHELL":
			shell = value
		case name == "CRON_TZ":
			d.Job.TimeZone = value
		case strings.HasPrefix(name, "ELASTICJOB_"), strings.HasPrefix(name, "MESOS_"),
			!variableName.MatchString(name):
			c.toDo(line, d.Name(), "the variable %s can't be set: such a name is not allowed for env", name)
		default:
			c.setEnv(d, c.env[name].line, name, value)
		}
	}
	command = c.takeSecrets(d, line, shell, command)
	if shown := secrets.Hide(input); shown != input {
		c.toDo(line, d.Name(), "its standard input contains %s", hiddenHere)
		input = shown
	}
	if input != "" {
		command = "{ " + command + "\n} <<'CRON_INPUT'\n" + input + "\nCRON_INPUT\n"
	}
	setCommand(d, shell+" -c "+quote(command))
	c.notePrivileged(line, d.Name(), command)
}

// variableName matches a name that env accepts.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// splitPercent splits a text at the first '%' that is not escaped by '\', into the command and its standard input.
// Each further '%' becomes a line break.
func splitPercent(text string) (command, input string) {
	var parts [2]strings.Builder
	part := 0
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == '%':
			parts[part].WriteByte('%')
			i++
		case text[i] == '%' && part == 0:
			part = 1
		case text[i] == '%':
			parts[part].WriteByte('\n')
		default:
			parts[part].WriteByte(text[i])
		}
	}
	return strings.TrimSpace(parts[0].String()), parts[1].String()
}

// wrappers are programs that run another program. A job is named after the other program.
var wrappers = []string{
	"sudo", "nice", "ionice", "flock", "timeout", "env", "exec", "command", "nohup", "time", "test", "[",
	"sh", "bash", "dash", "zsh", "python", "python2", "python3", "php", "perl", "ruby", "node", "java",
}

var (
	// leadingCD matches a change of the folder before the command.
	leadingCD = regexp.MustCompile(`^cd\s+\S+\s*(&&|;)\s*`)
	// argument matches arguments that say what a command does. Other arguments may be secrets, or may say nothing.
	argument = regexp.MustCompile(`^[A-Za-z/.][A-Za-z0-9_:./-]*$`)
)

// commandName returns a name for a command: its first word that is not a wrapper, an option, a number or a variable,
// and up to three arguments. The name depends only on the command, so that a new entry renames no other job.
func commandName(command string) string {
	const maxArguments = 3
	var parts []string
	afterOption := false
	for word := range strings.FieldsSeq(leadingCD.ReplaceAllString(command, "")) {
		if len(parts) > 0 && strings.ContainsAny(word[:1], "|;&><12") || len(parts) > maxArguments {
			break
		}
		endsCommand := strings.HasSuffix(word, ";")
		word = strings.Trim(word, `"'();`)
		base := path.Base(word)
		plain := strings.TrimSuffix(base, path.Ext(base))
		isOption := strings.HasPrefix(word, "-")
		switch {
		case isOption, strings.Contains(word, "="), strings.Trim(plain, "0123456789.") == "",
			strings.HasSuffix(base, ".lock"):
		case len(parts) == 0 && !slices.Contains(wrappers, base):
			parts = append(parts, plain)
		case len(parts) > 0 && !afterOption && argument.MatchString(word):
			parts = append(parts, plain)
		}
		afterOption = isOption && len(parts) > 0
		if endsCommand && len(parts) > 0 {
			break
		}
	}
	return cmp.Or(strings.Join(parts, "-"), "command")
}
