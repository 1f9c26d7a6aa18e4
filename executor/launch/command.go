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

// Find determines which program to start for a command's words. The first word names a file in root, the package,
// or a program in the search path. A file in the package without execute bit that begins with "#!" is started
// through the interpreter in its first line. A link of the package to a file of the agent is followed with the rights
// of the account as which the program will run.
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
			return "", nil, fmt.Errorf("command %q: there is no such file on this agent", name)
		}
		return name, slices.Clone(words), nil
	case inside == ".." || strings.HasPrefix(inside, "../"):
		return "", nil, fmt.Errorf("command %q leads out of the package", name)
	}
	file = filepath.Join(root, inside)
	info, err := os.Stat(file)
	switch {
	case err == nil && info.Mode().IsRegular():
		return asProgram(file, info, words)
	case err != nil && pack.Outside(root, inside) != "":
		return "", nil, fmt.Errorf("command %q is a link to %s, which is not on this agent, or which the user of the job can't reach",
			name, pack.Outside(root, inside))
	case strings.Contains(name, "/"):
		what := "isn't in the package"
		if err == nil {
			what = "is a folder in the package"
		}
		return "", nil, fmt.Errorf("command %q %s%s", name, what, near(root, name))
	}
	for _, dir := range filepath.SplitList(search) {
		program := filepath.Join(dir, name)
		if info, err := os.Stat(program); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return program, slices.Clone(words), nil
		}
	}
	return "", nil, fmt.Errorf("command %q is neither in the package nor in PATH (%s)%s", name, search,
		near(root, name))
}

func asProgram(file string, info fs.FileInfo, words []string) (string, []string, error) {
	if info.Mode()&0o111 != 0 {
		return file, append([]string{file}, words[1:]...), nil
	}
	interpreter, ok := Shebang(file)
	if !ok {
		return "", nil, fmt.Errorf("command %q has no execute bit and doesn't begin with #!: set the bit before packing (chmod +x)", words[0])
	}
	args := append(slices.Clone(interpreter), file)
	return interpreter[0], append(args, words[1:]...), nil
}

// Shebang parses a script's first line like the kernel: a program and at most one argument. It returns false for a
// file that is no script.
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

// ByteOrderMark is what some editors write before the first character. The system then sees no "#!".
const ByteOrderMark = "\xef\xbb\xbf"

// Head returns the beginning of a file, as many bytes as the kernel reads to decide how to execute it; empty if the
// file can't be read.
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

// ExplainStart returns an error for users that says why the system refused to start a file. It looks at the file with
// the rights of the account as which it would have run.
func ExplainStart(file, name string, refused *supervisor.StartError, as *isolation.Account) error {
	return as.Do(func() error { return explainStart(file, name, refused) })
}

func explainStart(file, name string, refused *supervisor.StartError) error {
	if refused.Op != "exec" {
		return fmt.Errorf("start command %q: %w", name, refused)
	}
	what := refused.Errno.Error()
	switch refused.Errno {
	case syscall.ENOENT:
		what = "the file, or the program that runs it, does not exist"
		if interpreter, ok := Shebang(file); ok {
			what = fmt.Sprintf("its first line names %q, which isn't on this agent", interpreter[0])
			if strings.HasSuffix(strings.Join(interpreter, " "), "\r") {
				what = "its first line ends with a carriage return: save the script with Unix line ends"
			}
		}
	case syscall.EACCES:
		what = "permission denied: the file isn't executable for this user, or lies on a file system mounted noexec"
	case syscall.ENOEXEC:
		what = "it is neither a program for this machine nor a script that begins with #!"
		switch head := Head(file); {
		case strings.HasPrefix(head, "\x7fELF"):
			what = "it is a program for another processor architecture"
		case strings.HasPrefix(head, ByteOrderMark):
			what = "it begins with a byte order mark: save the script as UTF-8 without one"
		case strings.HasPrefix(head, "PK\x03\x04"):
			what = "it is an archive: name what runs it first, such as java -jar or python3"
		}
	case syscall.E2BIG:
		what = "the arguments or the environment are too long; one may have 128 KiB, which the sharding context " +
			"of a script job is, too, unless its property script.context.argument is \"false\""
	case syscall.EAGAIN, syscall.ENOMEM:
		what = "the agent allows no more processes: " + what
	}
	return fmt.Errorf("start command %q: %s", name, what)
}

// near suggests files with a similar name, or else lists some of the files.
func near(root, name string) string {
	found, files, more := FindSimilar(root, name)
	switch {
	case len(found) > 0:
		return "; near it: " + strings.Join(found[:min(3, len(found))], ", ")
	case len(files) > 0:
		return "; it holds " + strings.Join(files, ", ") + map[bool]string{true: ", …"}[more]
	}
	return ""
}

// FindSimilar returns the files below root with a name similar to name, the most similar first, and a few of all
// files; more reports whether there are further ones.
func FindSimilar(root, name string) (found, files []string, more bool) {
	base := strings.ToLower(path.Base(name))
	distance := func(file string) int { return spelling.Distance(base, strings.ToLower(path.Base(file))) }
	seen := 0
	_ = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if seen++; err != nil || seen > 5000 {
			return filepath.SkipAll
		}
		if d.IsDir() {
			return nil
		}
		inside, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		if len(files) < 5 {
			files = append(files, inside)
		}
		if distance(inside) <= max(1, len(base)/4) {
			found = append(found, inside)
		}
		return nil
	})
	slices.SortStableFunc(found, func(a, b string) int { return distance(a) - distance(b) })
	return found, files, seen > 6
}
