package launch

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
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
	// interpreters run the file that is their first argument. They read it as text, with any line ends.
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
	// wrappers execute the command after their own options and operands.
	wrappers = map[string]runner{
		"env": {values: []string{"-u"}}, "nice": {values: []string{"-n"}}, "ionice": {values: []string{"-c", "-n"}},
		"timeout": {values: []string{"-s", "-k"}, operands: 1}, "flock": {values: []string{"-w", "-E"}, operands: 1},
		"taskset": {operands: 1}, "chrt": {operands: 1}, "sudo": {values: []string{"-u", "-g"}}, "stdbuf": {values: []string{"-i", "-o", "-e"}},
		"nohup": {}, "setsid": {}, "time": {}, "exec": {}, "tini": {}, "dumb-init": {}, "chronic": {}, "unbuffer": {},
		"busybox": {},
	}
	// javaPaths are the options of Java whose value is a list of archives and folders.
	javaPaths = []string{"-cp", "-classpath", "--class-path", "-p", "--module-path"}
	java      = runner{values: append(javaPaths, "-jar", "--upgrade-module-path", "--add-modules", "--add-opens",
		"--add-exports", "--add-reads", "--patch-module")}
	assignment = regexp.MustCompile(`^\w+=`)
	// separator separates the commands in a script of sh -c.
	separator = regexp.MustCompile(`&&|\|\||[;|&\n]`)
	// inlineOption is the option of a shell whose value is a script: -c, or -euc.
	inlineOption = regexp.MustCompile(`^-[a-z]*c$`)
)

// file returns the index of the first word after the options, or len(words) if there is none. If an option gives code
// instead of a file, file returns len(words) and that option.
func (r runner) file(words []string) (i int, inline string) {
	for i = 1; i < len(words); i++ {
		word := words[i]
		switch {
		case slices.Contains(r.inline, word):
			return len(words), word
		case word == "--":
			return i + 1, ""
		case slices.Contains(r.values, word):
			i++
		case !strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "+"):
			return i, ""
		}
	}
	return len(words), ""
}

// use says how a command uses a file that it names.
type use int

const (
	mentioned use = iota // the word may not name a file
	read                 // the program opens the file
	asScript             // a shell reads the file
	executed             // the system executes the file
)

// Words are the words of a command that runs in an unpacked package.
type Words struct {
	// Dir is the folder of the package, and Root is the folder in it in which the command runs.
	Dir, Root string
	// File is the name of the package's own file, which is in Dir only if the command names it.
	File string
	// Ended means that the command ran and failed. Then only files without which it can't have run are checked, and
	// only the first command of a shell's script, because later commands may read files that the first has made.
	Ended bool

	problems []string
}

// Problems says what is wrong with the files of the package that the words of a command name: that they do not exist,
// or can't be run. It does not check the first word.
func (w Words) Problems(words []string) []string {
	w.problems = nil
	w.checkWords(words)
	return w.problems
}

// Explain says what is wrong with a command that has run and failed, as far as its files show that. It returns "" if
// it finds nothing. It reads the files with the rights of the account as which the command ran. search is the
// command's search path.
func (w Words) Explain(words []string, search string, as *isolation.Account) (problem string) {
	w.Ended = true
	_ = as.Do(func() error {
		problem = w.explain(words, search)
		return nil
	})
	return problem
}

func (w Words) explain(words []string, search string) string {
	if name := path.Clean(words[0]); filepath.IsLocal(name) {
		file := filepath.Join(w.Root, name)
		problem := firstLineProblem(words[0], Head(file), false)
		if problem == "" {
			problem = InterpreterProblem(file, words[0], search, isProgram)
		}
		if problem != "" {
			return problem
		}
	}
	for _, problem := range w.Problems(words) {
		return problem
	}
	return ""
}

func (w *Words) add(problem string) {
	if problem != "" {
		w.problems = append(w.problems, problem)
	}
}

// checkWords checks all words but the first.
func (w *Words) checkWords(words []string) {
	name := strings.TrimRight(path.Base(words[0]), "0123456789.")
	uses := make([]use, len(words))
	if wrapper, ok := wrappers[name]; ok {
		i, _ := wrapper.file(words)
		i += wrapper.operands
		for i < len(words) && assignment.MatchString(words[i]) {
			i++
		}
		if i < len(words) {
			w.checkFile(words[i], executed)
			w.checkWords(words[i:])
		}
		return
	}
	if slices.Contains(shells, name) {
		i, _ := shell.file(words)
		if i > 1 && i < len(words) && inlineOption.MatchString(words[i-1]) {
			w.checkShell(words[i])
			return
		}
		if i < len(words) {
			uses[i] = asScript
		}
	} else if interpreter, ok := interpreters[name]; ok {
		if i, _ := interpreter.file(words); i < len(words) {
			uses[i] = read
		}
	} else if name == "java" {
		w.checkJava(words)
		return
	}
	for i, word := range words[1:] {
		w.checkFile(word, uses[i+1])
	}
}

// checkJava checks the archives in the arguments of Java.
func (w *Words) checkJava(words []string) {
	main, _ := java.file(words)
	for i, word := range words[1:] {
		option := words[i]
		agentArchive, _, _ := strings.Cut(strings.TrimPrefix(word, "-javaagent:"), "=")
		switch {
		case i+1 > main: // an argument of the program
			w.checkFile(word, mentioned)
		case option == "-jar":
			w.checkFile(word, read)
		case strings.HasPrefix(word, "-javaagent:"):
			w.checkFile(agentArchive, read)
		case slices.Contains(javaPaths, option), strings.HasPrefix(word, "--class-path="):
			for entry := range strings.SplitSeq(strings.TrimPrefix(word, "--class-path="), ":") {
				entry = strings.TrimSuffix(entry, "/*")
				if strings.HasSuffix(entry, ".jar") {
					w.checkFile(entry, read)
				} else {
					w.checkFile(entry, mentioned) // Java ignores folders that are missing
				}
			}
		case i+1 < main:
			w.checkFile(word, mentioned)
		}
	}
}

// checkShell checks the commands of a script for sh -c, up to the first that is not plain words or changes the folder.
func (w *Words) checkShell(script string) {
	for i, command := range separator.Split(script, -1) {
		words := strings.Fields(command)
		for len(words) > 0 && assignment.MatchString(words[0]) {
			words = words[1:]
		}
		end := slices.IndexFunc(words, func(word string) bool { return strings.ContainsAny(word, "<>#") })
		if end >= 0 {
			words = words[:end]
		}
		if len(words) == 0 {
			continue
		}
		changesFolder := slices.Contains([]string{"cd", "pushd"}, words[0])
		isPlain := !strings.ContainsAny(command, "'\"\\(){}`")
		if changesFolder || !isPlain || w.Ended && i > 0 {
			return // later words may mean anything
		}
		if strings.Contains(words[0], "/") {
			w.checkFile(words[0], executed)
		}
		w.checkWords(words)
	}
}

// checkFile adds a problem if something is wrong with the file that a word names. A word that is only mentioned may
// not name a file; if there is no such file, that is a problem only if another folder of the package has it.
func (w *Words) checkFile(word string, how use) {
	if how == mentioned {
		if w.Ended {
			return
		}
		_, value, found := strings.Cut(word, "=") // --config=conf/app.yml
		if found {
			word = value
		}
	}
	name := path.Clean(word)
	isPath := word != "" && !strings.ContainsAny(word, "*?[$\x00") && !strings.HasPrefix(word, "-") &&
		!strings.Contains(word, "://")
	isInside := !path.IsAbs(word) && filepath.IsLocal(name) && name != "."
	if !isPath || !isInside || pack.Outside(w.Root, name) != "" {
		return
	}
	info, err := os.Stat(filepath.Join(w.Root, name))
	if how == executed && !strings.Contains(word, "/") { // a program in the search path
		if err == nil && info.Mode().IsRegular() {
			w.add(name + " is a file of the package, in which programs are not searched: name it ./" + name)
		}
		return
	}
	if err != nil {
		w.checkMissing(name, how)
		return
	}
	if !info.Mode().IsRegular() {
		if how == executed || how == asScript {
			w.add(isDirectory(name))
		}
		return
	}
	switch begin := Head(filepath.Join(w.Root, name)); {
	case how == read:
	case how == executed && info.Mode()&0o111 == 0:
		w.add(name + " has no execute bit: set it before packing (chmod +x), or name what runs it, such as sh " + name)
	case how == executed && begin == "":
		w.add(isEmpty(name))
	default:
		w.add(firstLineProblem(name, begin, how == asScript))
	}
}

// checkMissing adds the problem that the command names a file that does not exist in the folder in which it runs.
func (w *Words) checkMissing(name string, how use) {
	if top, err := filepath.Rel(w.Dir, w.Root); err == nil && top != "." {
		if inside, ok := strings.CutPrefix(name, top+"/"); ok && exists(filepath.Join(w.Root, inside)) {
			w.add(name + " is not found: the command runs in " + top +
				", the only directory at the package's top, so name the file " + inside)
			return
		}
	}
	found, _, _ := findSimilar(w.Root, name)
	below := slices.DeleteFunc(slices.Clone(found),
		func(file string) bool { return !strings.HasSuffix(file, "/"+name) })
	switch {
	case how != mentioned && len(found) == 0 && isSimilar(name, w.File) && path.Ext(name) == path.Ext(w.File):
		// The package was unpacked because the command does not name it.
		w.add(name + " is not in the package; did you mean " + w.File + ", the package itself?")
	case how != mentioned:
		w.add(NotInPackage(w.Root, name))
	case len(below) > 0 && strings.ContainsAny(name, "./"):
		w.add(name + " is not in the directory in which the command runs" + didYouMean(below))
	}
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}
