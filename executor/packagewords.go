package executor

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/executor/pack"
)

// runner describes the arguments of a program that runs a file, as far as needed to find that file among them.
type runner struct {
	// values are the options whose value is the next word.
	values []string
	// inline are the options after which no file follows: they give code or a module.
	inline []string
	// operands is the number of words before a wrapped command, such as the duration of timeout.
	operands int
}

// Programs by their name without a version.
var (
	shells = []string{"sh", "bash", "dash", "ash", "zsh", "ksh"}
	shell  = runner{values: []string{"-o", "+o", "--rcfile", "--init-file"}}
	// interpreters run the file that is their first argument, and read it as text with any line ends.
	interpreters = map[string]runner{
		"python": {values: []string{"-W", "-X"}, inline: []string{"-c", "-m"}},
		"pypy":   {values: []string{"-W", "-X"}, inline: []string{"-c", "-m"}},
		"node":   {values: []string{"-r", "--require", "--import"}, inline: []string{"-e", "-p", "--eval", "--print"}},
		"perl":   {values: []string{"-I"}, inline: []string{"-e", "-E"}},
		"ruby":   {values: []string{"-I", "-r"}, inline: []string{"-e"}},
		"php":    {values: []string{"-d", "-c"}, inline: []string{"-r", "-S"}},
		"lua":    {values: []string{"-l"}, inline: []string{"-e"}},
		"dotnet": {}, "mono": {}, "groovy": {values: []string{"-cp"}, inline: []string{"-e"}}, "Rscript": {inline: []string{"-e"}},
	}
	// wrappers execute the command that follows them.
	wrappers = map[string]runner{
		"env": {values: []string{"-u"}}, "nice": {values: []string{"-n"}}, "ionice": {values: []string{"-c", "-n"}},
		"timeout": {values: []string{"-s", "-k"}, operands: 1}, "flock": {values: []string{"-w", "-E"}, operands: 1},
		"taskset": {operands: 1}, "chrt": {operands: 1}, "sudo": {values: []string{"-u", "-g"}}, "stdbuf": {values: []string{"-i", "-o", "-e"}},
		"nohup": {}, "setsid": {}, "time": {}, "exec": {}, "tini": {}, "dumb-init": {}, "chronic": {}, "unbuffer": {},
		"busybox": {},
	}
	java = runner{values: []string{"-cp", "-classpath", "--class-path", "-p", "--module-path", "-jar",
		"--upgrade-module-path", "--add-modules", "--add-opens", "--add-exports", "--add-reads", "--patch-module"}}
	assignment = regexp.MustCompile(`^\w+=`)
	// separator separates the commands in a script of sh -c.
	separator = regexp.MustCompile(`&&|\|\||[;|&\n]`)
	// inlineOption is the option of a shell whose value is a script: -c, or -euc.
	inlineOption = regexp.MustCompile(`^-[a-z]*c$`)
)

// file returns the index of the first word after the options; len(words) if there is none. inline is the option that
// gives code instead.
func (r runner) file(words []string) (at int, inline string) {
	for at = 1; at < len(words); at++ {
		word := words[at]
		switch {
		case slices.Contains(r.inline, word):
			return len(words), word
		case word == "--":
			return at + 1, ""
		case slices.Contains(r.values, word):
			at++
		case !strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "+"):
			return at, ""
		}
	}
	return len(words), ""
}

// use is how a command uses a file that it names.
type use int

const (
	mentioned use = iota // perhaps not a file at all
	read                 // opened by the program
	asScript             // read by a shell
	executed             // executed by the system
)

// checkWords checks the files of the package that the words of a command name, apart from the first word. The root is
// the folder in which the command runs.
func (f *PackageFacts) checkWords(root string, words []string) {
	name := strings.TrimRight(path.Base(words[0]), "0123456789.")
	uses := make([]use, len(words))
	if wrapper, ok := wrappers[name]; ok {
		at, _ := wrapper.file(words)
		at += wrapper.operands
		for at < len(words) && assignment.MatchString(words[at]) {
			at++
		}
		if at < len(words) {
			f.checkFile(root, words[at], executed)
			f.checkWords(root, words[at:])
		}
		return
	}
	if slices.Contains(shells, name) {
		at, _ := shell.file(words)
		if at > 1 && at < len(words) && inlineOption.MatchString(words[at-1]) {
			f.checkShell(root, words[at])
			return
		}
		if at < len(words) {
			uses[at] = asScript
		}
	} else if interpreter, ok := interpreters[name]; ok {
		if at, _ := interpreter.file(words); at < len(words) {
			uses[at] = read
		}
	} else if name == "java" {
		f.checkJava(root, words)
		return
	}
	for i, word := range words[1:] {
		f.checkFile(root, word, uses[i+1])
	}
}

// checkJava checks the archives that Java is given.
func (f *PackageFacts) checkJava(root string, words []string) {
	main, _ := java.file(words)
	for i, word := range words[1:] {
		option := words[i]
		agent, _, _ := strings.Cut(strings.TrimPrefix(word, "-javaagent:"), "=")
		switch {
		case i+1 > main:
			f.checkFile(root, word, mentioned)
		case option == "-jar":
			f.checkFile(root, word, read)
		case strings.HasPrefix(word, "-javaagent:"):
			f.checkFile(root, agent, read)
		case slices.Contains(java.values[:5], option), strings.HasPrefix(word, "--class-path="):
			for entry := range strings.SplitSeq(strings.TrimPrefix(word, "--class-path="), ":") {
				entry = strings.TrimSuffix(entry, "/*")
				if strings.HasSuffix(entry, ".jar") {
					f.checkFile(root, entry, read)
				} else {
					f.checkFile(root, entry, mentioned) // Java ignores folders that are missing
				}
			}
		case i+1 < main:
			f.checkFile(root, word, mentioned)
		}
	}
}

// checkShell checks the commands of a script for sh -c, as far as they are plain words in the folder in which it
// begins.
func (f *PackageFacts) checkShell(root, script string) {
	for _, command := range separator.Split(script, -1) {
		words := strings.Fields(command)
		for len(words) > 0 && assignment.MatchString(words[0]) {
			words = words[1:]
		}
		if end := slices.IndexFunc(words, func(w string) bool { return strings.ContainsAny(w, "<>#") }); end >= 0 {
			words = words[:end]
		}
		if len(words) == 0 {
			continue
		}
		if slices.Contains([]string{"cd", "pushd"}, words[0]) || strings.ContainsAny(command, "'\"\\(){}`") {
			return // later words may mean anything
		}
		if strings.Contains(words[0], "/") {
			f.checkFile(root, words[0], executed)
		}
		f.checkWords(root, words)
	}
}

// checkFile adds what is wrong with a file that a word names. A word that may be no name of a file is only reported if
// the package has the file elsewhere.
func (f *PackageFacts) checkFile(root, word string, as use) {
	if as == mentioned {
		_, value, found := strings.Cut(word, "=") // --config=conf/app.yml
		if found {
			word = value
		}
	}
	name := path.Clean(word)
	if word == "" || path.IsAbs(word) || !filepath.IsLocal(name) || name == "." || strings.ContainsAny(word, "*?[$\x00") ||
		strings.HasPrefix(word, "-") || strings.Contains(word, "://") || pack.Outside(root, name) != "" {
		return
	}
	info, err := os.Stat(filepath.Join(root, name))
	if as == executed && !strings.Contains(word, "/") { // a program in the search path
		if err == nil && info.Mode().IsRegular() {
			f.add("bootstrapScript", "%s is a file of the package, in which programs are not searched: name it ./%s", name, name)
		}
		return
	}
	if err != nil {
		f.checkMissing(root, name, as)
		return
	}
	if !info.Mode().IsRegular() {
		if as == executed || as == asScript {
			f.add("bootstrapScript", "%s is a directory of the package: name the file in it", name)
		}
		return
	}
	begin := launch.Head(filepath.Join(root, name))
	switch {
	case as == read:
	case as == executed && info.Mode()&0o111 == 0:
		f.add("bootstrapScript", "%s has no execute bit: set it before packing (chmod +x), or name what runs it, such as sh %s", name, name)
	case as == executed && begin == "":
		f.add("bootstrapScript", "%s is empty: pack again with the script in it", name)
	default:
		f.checkFirstLine(name, begin, as == asScript)
	}
}

// checkFirstLine adds what keeps the system, or a shell, from understanding a script's first line, and reports whether
// it found anything.
func (f *PackageFacts) checkFirstLine(name, begin string, shell bool) bool {
	text, marked := strings.CutPrefix(begin, launch.ByteOrderMark)
	line, _, _ := strings.Cut(text, "\n")
	script := strings.HasPrefix(text, "#!")
	switch {
	case marked && (script || shell):
		f.add("bootstrapScript", "%s begins with a byte order mark, before its first line: save it as UTF-8 without one (sed -i '1s/^\\xef\\xbb\\xbf//')", name)
	case (script || shell) && strings.HasSuffix(line, "\r"):
		f.add("bootstrapScript", "the first line of %s ends with a carriage return: save the script with Unix line ends", name)
	default:
		return false
	}
	return true
}

// checkMissing adds a problem: the command names a file that is not where it runs.
func (f *PackageFacts) checkMissing(root, name string, as use) {
	if top, err := filepath.Rel(f.Dir, root); err == nil && top != "." {
		if inside, ok := strings.CutPrefix(name, top+"/"); ok && exists(filepath.Join(root, inside)) {
			f.add("bootstrapScript", "%s is not found: the command runs in %s, the only directory at the package's top, so name the file %s", name, top, inside)
			return
		}
	}
	found, _, _ := launch.FindSimilar(root, name)
	below := slices.DeleteFunc(slices.Clone(found), func(file string) bool { return !strings.HasSuffix(file, "/"+name) })
	switch {
	case as != mentioned:
		f.addNotFound(root, "./"+name)
	case len(below) > 0 && strings.ContainsAny(name, "./"):
		f.add("bootstrapScript", "%s is not in the directory in which the command runs; did you mean %s?", name,
			strings.Join(below[:min(3, len(below))], " or "))
	}
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}
