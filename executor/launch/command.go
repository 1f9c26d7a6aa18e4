// Package launch determines how a task's process is started: the file that its command names (command.go), its
// environment (environment.go), and the values that its job refers to in files and variables of the agent
// (references.go).
package launch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/pack"
	"github.com/elasticjob-go/elasticjob/executor/supervisor"
	"github.com/elasticjob-go/elasticjob/internal/spelling"
)

// Find determines which program to start for the words of a command. The first word names a file in the package, whose
// folder is root, or a program in the search path. A file in the package that has no execute bit and begins with "#!"
// is started through the interpreter in its first line. A link of the package to a file of the agent is followed with
// the rights of the account as which the program will run.
func Find(root string, words []string, search string, as *isolation.Account) (file string, args []string, err error) {
	if as != nil && !path.IsAbs(words[0]) && pack.Outside(root, words[0]) != "" {
		err = as.Do(func() error {
			file, args, err = find(root, words, search)
			return err
		})
		return file, args, err
	}
	return find(root, words, search)
}

func find(root string, words []string, search string) (file string, args []string, err error) {
	name := words[0]
	inside := path.Clean(name)
	switch {
	case name == "":
		return "", nil, errors.New("the command's first word is empty")
	case path.IsAbs(name):
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
			return "", nil, errors.New(NotOnAgent(name))
		}
		return name, slices.Clone(words), nil
	case inside == ".." || strings.HasPrefix(inside, "../"):
		return "", nil, errors.New(LeadsOut(name))
	}
	file = filepath.Join(root, inside)
	info, err := os.Stat(file)
	switch {
	case err == nil && info.Mode().IsRegular():
		return asProgram(file, info, words)
	case err != nil && pack.Outside(root, inside) != "":
		return "", nil, errors.New(BadLink(name, pack.Outside(root, inside)))
	case strings.Contains(name, "/") && err == nil:
		return "", nil, errors.New(isDirectory(name))
	case strings.Contains(name, "/"):
		return "", nil, errors.New(NotInPackage(root, name))
	}
	if program := lookPath(name, search, isProgram); program != "" {
		return program, slices.Clone(words), nil
	}
	return "", nil, errors.New(NotFound(root, name, search))
}

// lookPath returns the path of a program in the search path, or "". isProgram reports whether a file is a program.
func lookPath(name, search string, isProgram func(file string) bool) string {
	for _, dir := range filepath.SplitList(search) {
		if program := filepath.Join(dir, name); isProgram(program) {
			return program
		}
	}
	return ""
}

func isProgram(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// asProgram returns how to start a file of the package: directly, or through the interpreter in its first line.
func asProgram(file string, info fs.FileInfo, words []string) (string, []string, error) {
	if info.Mode()&0o111 != 0 {
		return file, append([]string{file}, words[1:]...), nil
	}
	interpreter, ok := Shebang(file)
	if problem := firstLineProblem(words[0], Head(file), false); problem != "" {
		return "", nil, errors.New(problem)
	}
	if !ok {
		return "", nil, errors.New(words[0] + " has no execute bit and does not begin with #!: begin it with #!/bin/sh, or what runs it, or, if it is a program, set the bit before packing (chmod +x)")
	}
	args := append(slices.Clone(interpreter), file)
	return interpreter[0], append(args, words[1:]...), nil
}

// Shebang parses the first line of a script as the kernel does: a program and at most one argument. It returns false
// if the file is not a script.
func Shebang(file string) ([]string, bool) {
	line, ok := strings.CutPrefix(Head(file), "#!")
	line, _, _ = strings.Cut(line, "\n")
	program, argument, _ := strings.Cut(strings.Trim(line, " \t"), " ")
	if !ok || program == "" {
		return nil, false
	}
	if argument = strings.TrimSpace(argument); argument != "" {
		return []string{program, argument}, true
	}
	return []string{program}, true
}

// Head returns the beginning of a file: as many bytes as the kernel reads to decide how to execute it. It returns ""
// if the file can't be read.
func Head(file string) string {
	f, err := output.OpenRegular(file, os.O_RDONLY)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, 256))
	if err != nil {
		return ""
	}
	return string(text)
}

// ExplainStart says why the system refused to start a file. Users see this error. ExplainStart reads the file with the
// rights of the account as which the program would have run.
func ExplainStart(file, name string, refused *supervisor.StartError, as *isolation.Account) error {
	return as.Do(func() error { return explainStart(file, name, refused) })
}

func explainStart(file, name string, refused *supervisor.StartError) error {
	why := refused.Errno.Error()
	switch problem := ""; {
	case refused.Op != "exec":
		return fmt.Errorf("start command %q: %w", name, refused)
	case refused.Errno == syscall.ENOENT:
		if problem = firstLineProblem(name, Head(file), false); problem == "" {
			problem = InterpreterProblem(file, name, "", isProgram)
		}
		if problem != "" {
			return errors.New(problem)
		}
		why = "the file, or the program that runs it, does not exist"
	case refused.Errno == syscall.ENOEXEC:
		if problem = ProgramProblem(name, Head(file)); problem != "" {
			return errors.New(problem)
		}
		why = "it is a program for another processor architecture"
	case refused.Errno == syscall.EACCES:
		why = "permission denied: the file isn't executable for this user, or lies on a file system mounted noexec"
	case refused.Errno == syscall.E2BIG:
		why = "the arguments or the environment are too long: each argument or variable may have 128 KiB. " +
			"The sharding context of a script job is such an argument, unless its property " +
			"script.context.argument is \"false\""
	case refused.Errno == syscall.EAGAIN, refused.Errno == syscall.ENOMEM:
		why = "the agent allows no more processes: " + why
	}
	return fmt.Errorf("start command %q: %s", name, why)
}

// findSimilar returns the files below root with names similar to name, the most similar first. It also returns the
// first five of all files; more reports whether there may be others. It looks at 5,000 files and folders at most.
func findSimilar(root, name string) (found, files []string, more bool) {
	seen := 0
	_ = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if seen++; err != nil || seen > 5000 {
			return filepath.SkipAll
		}
		if d.IsDir() {
			return nil
		}
		inside, err := filepath.Rel(root, file)
		if err != nil || inside == "." { // root is not a directory
			return err
		}
		if len(files) < 5 {
			files = append(files, inside)
		}
		if isSimilar(name, inside) {
			found = append(found, inside)
		}
		return nil
	})
	slices.SortStableFunc(found, func(a, b string) int { return distance(name, a) - distance(name, b) })
	return found, files, seen > 6
}

// distance is the distance between the names of two files, without their directories.
func distance(a, b string) int {
	return spelling.Distance(strings.ToLower(path.Base(a)), strings.ToLower(path.Base(b)))
}

func isSimilar(name, file string) bool { return distance(name, file) <= max(1, len(path.Base(name))/4) }
