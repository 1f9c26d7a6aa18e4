package secrets

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// options are the options with secrets, by the names of the programs that have them:
//
//	-p       the secret is the next word, or the rest of the option's own word
//	-p+      the secret is the rest of the option's own word
//	-p.      the secret is the next word
//	-u:      the secret stands after a user and this sign; other signs are , and %
//	-b=      the value is a secret only if it contains an =
//	/        the first word of the form user/password contains the secret
//	login-p  the option exists only after the word login
//	!-p      the option has no value, though its name indicates a secret
var options = func() map[string][]string {
	all := map[string][]string{}
	for programs, list := range map[string]string{
		"mysql mysqldump mysqladmin mysqlimport mysqlcheck mysqlshow mysqlslap mysqlbinlog mysqlpump mysql_upgrade mariadb " +
			"mariadb-dump mariadb-admin mariadb-backup mariabackup xtrabackup innobackupex": "-p+ !--password",
		"psql pg_dump pg_dumpall pg_restore pg_basebackup createdb dropdb vacuumdb": "!--password",
		"mydumper myloader sshpass mongo mongosh mongodump mongorestore mongoexport mongoimport cqlsh beeline ncftp ncftpput " +
			"ncftpget rdesktop rabbitmqadmin": "-p",
		"redis-cli": "-a",
		"ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldappasswd ldapmodrdn": "-w",
		"sqlcmd bcp osql isql tsql zip unzip ipmitool mosquitto_pub mosquitto_sub":  "-P",
		"7z 7za 7zr 7zz":      "-p+",
		"rar unrar":           "-p+ -hp+",
		"plink pscp psftp":    "-pw.",
		"sendemail sendEmail": "-xp.",
		"swaks":               "-ap.",
		"snmpget snmpwalk snmpset snmpbulkwalk snmpgetnext": "-A -X",
		"openssl":       "-k. -K. -pass. -passin. -passout.",
		"curl":          "-u: -U: --user: --proxy-user: -b= --cookie=",
		"http https xh": "-a: --auth:",
		"smbclient rpcclient smbget net winexe wmic": "-U% --user%",
		"lftp":    "-u,",
		"etcdctl": "--user:",
		"skopeo":  "--creds: --src-creds: --dest-creds: login-p",
		"docker podman nerdctl buildah helm oras crane regctl": "login-p !--secret --creds:",
		"az oc cf argocd":                         "login-p",
		"sqlplus sqlldr exp imp expdp impdp rman": "/",
	} {
		for name := range strings.FieldsSeq(programs) {
			all[name] = strings.Fields(list)
		}
	}
	return all
}()

// command is the state of reading a command line: what the words so far mean for the next word.
type command struct {
	options    []string  // of the program
	afterLogin bool      // whether the word login has been read
	last       [2]string // the last two words, the newest first
	// expected is the name of the secret in the next word, or "" if no secret is expected. sign is the sign between
	// user and secret, as in options. onlyQuoted says that the next word is a secret only if it is quoted.
	expected, sign string
	onlyQuoted     bool
	isEcho         bool
	echoed         []Span // the words that this command echoes
	piped          []Span // the words that the command before the pipe has echoed
}

// wordSecrets returns the secrets in the words of command lines. It recognizes them by the word before, and by the
// options of the program.
func wordSecrets(text string) (found []Span) {
	var c command
	add := func(s Span, name string) {
		if s.From < s.To {
			s.Name = name
			found = append(found, s)
		}
	}
	for i := 0; i < len(text); {
		switch char := text[i]; {
		case strings.IndexByte(" \t\r([{,)]}", char) >= 0:
			if strings.IndexByte("([{", char) >= 0 {
				c.expected = ""
			}
			i++
			continue
		case char == '\\' && i+1 < len(text) && text[i+1] == '\n':
			i += 2
			continue
		case char == '$' && strings.HasPrefix(text[i:], "$("):
			c, i = command{}, i+2
			continue
		case char == '<' || char == '>':
			c.expected = ""
			i++
			continue
		case strings.IndexByte("\n;|&`", char) >= 0: // the next command begins
			isOr, isAnd := strings.HasPrefix(text[i:], "||"), strings.HasPrefix(text[i:], "&&")
			if char == '|' && !isOr {
				c = command{piped: c.echoed}
			} else {
				c = command{}
			}
			if isOr || isAnd {
				i++
			}
			i++
			continue
		}
		if q := quoteAt(text[i:]); q != "" {
			closes := i+len(q) == len(text) || strings.IndexByte(" \t\r\n,)]}", text[i+len(q)]) >= 0
			if i > 0 && strings.IndexByte(" \t\n,", text[i-1]) < 0 && (c.onlyQuoted || !closes) {
				c.expected = "" // the quote is part of the word before
			}
			if c.expected == "" && !c.isEcho || closes {
				i += len(q) // the quote begins or ends a text that has words of its own
				c.last = [2]string{}
				continue
			}
		} else if text[i] == '\\' {
			i++
			continue
		}
		v := wordAt(text, i)
		word := text[v.from:v.to]
		if c.expected != "" && (v.quote != "" || !c.onlyQuoted && !strings.HasPrefix(word, "-")) {
			add(secretAfterSign(text, v, c.sign), strings.TrimLeft(c.expected, "-"))
			c.expected, i = "", max(v.end, i+1)
			continue
		}
		c.expected = ""
		if v.quote != "" && !c.isEcho {
			i += len(v.quote)
			continue
		}
		if c.isEcho && !strings.HasPrefix(word, "-") {
			c.echoed = append(c.echoed, secretIn(text, v))
		}
		c.read(text, v, word, add)
		c.last = [2]string{word, c.last[0]}
		i = max(v.end, i+1)
	}
	return found
}

// read reads a word that is not the value of an option. It calls add for each secret that it finds.
func (c *command) read(text string, v value, word string, add func(Span, string)) {
	base := path.Base(word)
	readsPassword := strings.Contains(word, "stdin") || base == "chpasswd" || base == "passwd" || base == "kinit" ||
		base == "smbpasswd" || base == "cryptsetup" || word == "-S" && c.last[0] == "sudo"
	if readsPassword {
		for _, s := range c.piped {
			add(s, "password")
		}
	}
	programOptions, isProgram := options[base]
	switch {
	case strings.HasPrefix(word, "-"):
		c.option(text, v, word, add)
	case isProgram && !strings.HasPrefix(c.last[0], "-") || base == "sshpass":
		c.options = programOptions
	case word == "login":
		c.afterLogin = true
	case (base == "echo" || base == "printf") && c.last[0] == "":
		c.isEcho = true
	case strings.EqualFold(c.last[0], "identified") && strings.EqualFold(word, "by"),
		strings.EqualFold(word, "password") && c.last[1] != "login":
		c.expected, c.sign, c.onlyQuoted = "password", "", true
	case word == "password", c.last[0] == "set" && strings.HasPrefix(c.last[1], "config") && isValueName(word):
		c.expected, c.sign, c.onlyQuoted = word, "", false
	case slices.Contains(c.options, "/"):
		if m := oracle.FindStringSubmatchIndex(word); m != nil {
			s := value{from: v.from + m[2], to: v.from + m[3]}
			add(secretIn(text, s), "password")
			c.options = nil
		}
	}
}

// oracle matches a word with a user and password, as Oracle's programs read it.
var oracle = regexp.MustCompile(`^(?:userid=)?[A-Za-z][\w$#]*/([^@/]+)(?:@.*)?$`)

// portMapping matches a mapping of ports, the value of docker's -p. It is no password, although a known program, such
// as mongo, may be the name of a container before it.
var portMapping = regexp.MustCompile(`^[\d.]+:\d+`)

// option reads a word that begins with a minus.
func (c *command) option(text string, v value, word string, add func(Span, string)) {
	if slices.Contains(c.options, "!"+word) {
		return
	}
	for _, option := range c.options {
		option, onlyAfterLogin := strings.CutPrefix(option, "login")
		if onlyAfterLogin && !c.afterLogin {
			continue
		}
		name := strings.TrimRight(option, "+.:,%=/")
		sign := option[len(name):]
		isShort := len(name) == 2
		attached := ""
		lastOfCluster := isShort && sign == ":" && cluster.MatchString(word) && strings.HasSuffix(word, name[1:])
		if !lastOfCluster {
			rest, ok := strings.CutPrefix(word, name)
			if !ok {
				continue
			}
			attached = rest
			if !isShort {
				attached = strings.TrimPrefix(rest, "=")
			}
		}
		switch {
		case attached != "" && (sign == "." || portMapping.MatchString(attached)): // not the value of this option
		case attached != "" && len(name) > 3 && attached == word[len(name):]: // another, longer option
		case attached != "":
			from := v.to - len(attached)
			inner := value{from: from, to: v.to}
			if q := quoteAt(attached); q != "" {
				inner = valueAt(text, from)
			}
			add(secretAfterSign(text, inner, strings.Trim(sign, "+.")), strings.Trim(name, "-"))
			return
		case sign != "+":
			c.expected, c.sign, c.onlyQuoted = name, strings.Trim(sign, "+."), false
			return
		}
	}
	if isValueName(strings.TrimLeft(word, "-")) && optionName.MatchString(word) || word == "--creds" {
		c.expected, c.sign, c.onlyQuoted = word, "", false
	}
}

var (
	optionName = regexp.MustCompile(`^--?[A-Za-z][\w.-]*$`)
	// cluster matches several options of one letter in a word.
	cluster = regexp.MustCompile(`^-[A-Za-z#]*$`)
)

// secretAfterSign returns the secret in a value with a sign, as options describes it: the whole value if sign is "",
// the whole value or an empty Span if sign is "=", and otherwise the part after the sign.
func secretAfterSign(text string, v value, sign string) Span {
	inner := text[v.from:v.to]
	switch {
	case sign == "":
	case sign == "=" && !strings.Contains(inner, "=") && !strings.Contains(inner, Hidden):
		return Span{}
	case sign != "=":
		_, secret, ok := strings.Cut(inner, sign)
		if !ok {
			return Span{}
		}
		v.from = v.to - len(secret)
	}
	return secretIn(text, v)
}
