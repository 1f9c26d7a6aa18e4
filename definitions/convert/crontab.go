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

// crontab reads a crontab line by line. Variables apply to the entries below them.
type crontab struct {
	*builder
	env     map[string]setting
	comment string // the comment in the previous line
}

// Crontab converts the crontab of a user, or, with Options.System, one whose entries contain the user before the
// command.
func Crontab(file string, text []byte, options Options) *Result {
	c := &crontab{builder: newBuilder(file, options), env: map[string]setting{}}
	for i, line := range strings.Split(string(text), "\n") {
		c.readLine(i+1, strings.Trim(strings.TrimSuffix(line, "\r"), " \t"))
	}
	if len(c.result.Definitions) > 0 {
		c.remarkOnce(0, false, "cron starts an entry even while its last run continues; here a job has one run at a time, and a fire that finds it running is dropped, or queued with misfire: true")
		c.remarkOnce(0, false, "commands run in the folder of the app's package, not in the user's home: name files by absolute paths")
	}
	if options.TimeZone == "" && len(c.result.Definitions) > 0 {
		c.remarkOnce(0, false, "crons without CRON_TZ apply in the server's time zone; give --time-zone if this machine has another")
	}
	return c.finish("/bin/true") // each job has its own command
}

var assignment = regexp.MustCompile(`^("[^"]*"|'[^']*'|[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$`)

// disabledEntry matches an entry that was commented out.
var disabledEntry = regexp.MustCompile(`^(@\w+|[-0-9*/,]+\s+[-0-9*/,]+)\s`)

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
		c.set(line, unquote(parts[1]), unquote(strings.TrimSpace(parts[2])))
	default:
		c.readEntry(line, strings.TrimPrefix(text, "-"), comment) // a '-' in front suppresses the log entry
	}
}

func unquote(text string) string {
	if n := len(text); n >= 2 && text[0] == text[n-1] && (text[0] == '"' || text[0] == '\'') {
		return text[1 : n-1]
	}
	return text
}

// set handles a line NAME=value. cron itself uses some of the names.
func (c *crontab) set(line int, name, value string) {
	switch name {
	case "MAILTO", "MAILFROM":
		if value != "" {
			c.lost(line, "", "%s=%s has no counterpart: output is kept, and is not mailed; for mail about runs that fail set jobErrorHandlerType: EMAIL and its properties", name, value)
		}
	case "RANDOM_DELAY":
		c.lost(line, "", "RANDOM_DELAY has no counterpart: choose different times for the crons")
	default:
		c.env[name] = setting{text: value, line: line, key: name}
	}
}

// cut splits off the first word.
func cut(text string) (word, rest string) {
	text = strings.TrimLeft(text, " \t")
	if end := strings.IndexAny(text, " \t"); end >= 0 {
		return text[:end], strings.TrimLeft(text[end:], " \t")
	}
	return text, ""
}

// readEntry reads a time, with --system a user, flags of BSD's cron, and a command.
func (c *crontab) readEntry(line int, text, comment string) {
	t, rest := cutTime(text)
	user := ""
	if c.options.System {
		user, rest = cut(rest)
	} else if first, command := cut(rest); slices.Contains(systemUsers, first) && command != "" {
		user, rest = first, command
		c.remarkOnce(line, false, fmt.Sprintf("%s was read as the user of the entry, as in /etc/crontab; give --system if other entries have one, too", first))
	}
	for flag, command := cut(rest); bsdFlags[flag] != ""; flag, command = cut(rest) {
		c.note(line, "", "the flag %s is left out: %s", flag, bsdFlags[flag])
		rest = command
	}
	if rest == "" {
		c.lost(line, "", "not an entry of a crontab, left out: an entry has five columns%s and a command",
			map[bool]string{true: ", a user"}[c.options.System])
		return
	}
	if user != "" {
		c.remarkOnce(line, true, fmt.Sprintf("entries of the user %s: the agents' executors decide which user runs a job, not the job; set up the executors so that they run as that user", user))
	}
	crons, unclear, err := t.crons()
	if err != nil {
		c.lost(line, "", "the entry is left out: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	c.addTimed(line, crons, comment, rest)
	switch {
	case len(crons) == 0:
		c.lost(line, c.last().Name(), "%s; the job runs on trigger only", unclear)
	case unclear != "":
		c.note(line, c.last().Name(), "%s", unclear)
	}
	if first, second := cut(rest); !c.options.System && user == "" && plainWord.MatchString(first) &&
		programPath.MatchString(second) && first != "cd" && !slices.Contains(wrappers, first) {
		c.lost(line, c.last().Name(), "if %s is not a program but the user who runs the entry, import with --system", first)
	}
}

// systemUsers are users whose entries are recognized in files that are not known to have a user in each entry. None of
// them is a program.
var systemUsers = []string{"root", "www-data", "nobody", "daemon", "postgres", "mysql", "nginx", "apache", "httpd",
	"jenkins", "ubuntu", "ec2-user", "centos", "debian", "deploy", "oracle", "hadoop", "tomcat", "redis", "vagrant"}

// bsdFlags stand before the command in crontabs of FreeBSD and OpenBSD.
var bsdFlags = map[string]string{
	"-n": "the output of successful runs is kept, too",
	"-q": "nothing is logged by cron here",
	"-s": "a job runs once at a time anyway",
}

// programPath matches a command that begins with the path of a program or script.
var programPath = regexp.MustCompile(`^/\S*(?:bin/|\.(?:sh|py|pl|php|rb)(?:\s|$))`)

var plainWord = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// addTimed adds one job for each cron of the entry, or one without a cron.
func (c *crontab) addTimed(line int, crons []string, comment, command string) {
	c.addJob(line, comment, command, "")
	for i, one := range crons {
		if i > 0 {
			c.addJob(line, comment, command, "-weekday")
		}
		c.setCron(c.last(), line, one)
	}
	if len(crons) > 1 {
		c.lost(line, c.last().Name(), "the entry fires on a day of the month or of the week, which needs two jobs; on a day that matches both they both run: make sure that the command tolerates that")
	}
}

func (c *crontab) last() *definitions.Definition {
	return c.result.Definitions[len(c.result.Definitions)-1]
}

func (c *crontab) addJob(line int, comment, text, suffix string) {
	command, input := splitPercent(text)
	shown := secrets.Hide(command) // names are shown everywhere
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
			c.lost(line, d.Name(), "the variable %s can't be set: such a name is not allowed for env", name)
		default:
			c.setEnv(d, c.env[name].line, name, value)
		}
	}
	command = c.takeSecrets(d, line, shell, command)
	if shown := secrets.Hide(input); shown != input {
		c.lost(line, d.Name(), "its standard input contains %s", leftOut)
		input = shown
	}
	if input != "" {
		command = "{ " + command + "\n} <<'CRON_INPUT'\n" + input + "\nCRON_INPUT\n"
	}
	setCommand(d, shell+" -c "+quote(command))
	c.notePrivileged(line, d.Name(), command)
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// splitPercent splits an entry at the first '%' that is not escaped by '\', into the command and its standard input.
// Further '%' in the input are line breaks.
func splitPercent(text string) (command, input string) {
	var parts [2]strings.Builder
	at := 0
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == '%':
			parts[at].WriteByte('%')
			i++
		case text[i] == '%' && at == 0:
			at = 1
		case text[i] == '%':
			parts[at].WriteByte('\n')
		default:
			parts[at].WriteByte(text[i])
		}
	}
	return strings.TrimSpace(parts[0].String()), parts[1].String()
}

// wrappers are words before the program whose name the job gets.
var wrappers = []string{
	"sudo", "nice", "ionice", "flock", "timeout", "env", "exec", "command", "nohup", "time", "test", "[",
	"sh", "bash", "dash", "zsh", "python", "python2", "python3", "php", "perl", "ruby", "node", "java",
}

var (
	moves = regexp.MustCompile(`^cd\s+\S+\s*(&&|;)\s*`)
	// argument matches words of a command that say what it does. Others could be secrets, or say nothing.
	argument = regexp.MustCompile(`^[A-Za-z/.][A-Za-z0-9_:./-]*$`)
)

// commandName returns a name for a command: its first word that is not a wrapper, an option, a number or a variable,
// and up to three arguments. It only depends on the command, so that one more entry changes the name of no other.
func commandName(command string) string {
	const mostArguments = 3
	var parts []string
	afterOption := false
	for word := range strings.FieldsSeq(moves.ReplaceAllString(command, "")) {
		if len(parts) > 0 && strings.ContainsAny(word[:1], "|;&><12") || len(parts) > mostArguments {
			break
		}
		ends := strings.HasSuffix(word, ";")
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
		if ends && len(parts) > 0 {
			break
		}
	}
	return cmp.Or(strings.Join(parts, "-"), "command")
}
