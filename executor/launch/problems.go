package launch

import (
	"fmt"
	"path"
	"strings"
)

// This file has the sentences about commands that can't be run, each with what to do. A check of a package and the
// reason of a failed run use the same sentences.

// NotOnAgent says that there is no file at an absolute path.
func NotOnAgent(name string) string {
	return "there is no file " + name +
		" on this agent: name one that is there, or one in the package without a slash at its beginning"
}

// LeadsOut says that a name leads out of the package.
func LeadsOut(name string) string { return name + " leads out of the package: name a file in it" }

// BadLink says that a link of the package leads to a file that does not exist, or that jobs can't reach.
func BadLink(name, to string) string {
	return name + " is a link to " + to + ", which is not on this agent, or which the user that jobs run as can't reach"
}

// NotInPackage says that a file is not in the package, and suggests similar files.
func NotInPackage(root, name string) string {
	found, files, more := findSimilar(root, name)
	if len(found) > 0 {
		return name + " is not in the package" + didYouMean(found)
	}
	if len(files) == 0 {
		return name + " is not in the package, which is empty: pack again with the script in it"
	}
	return name + " is not in the package" + listing(files, more) +
		": name one of its files, or pack again with the script in it"
}

// NotFound says that a name without a slash is neither a file of the package nor a program in the search path.
func NotFound(root, name, search string) string {
	found, files, more := findSimilar(root, name)
	problem := fmt.Sprintf("%s is neither in the PATH of this agent (%s) nor in the package", name, search)
	if len(found) > 0 {
		return problem + didYouMean(found)
	}
	return problem + listing(files, more) + ": install it, or name a file of the package"
}

// FoundElsewhere says that the folder in which the command runs has no file with a name, but that another folder of the
// package has one. It returns "" if no other folder has such a file.
func FoundElsewhere(root, name string) string {
	found, _, _ := findSimilar(root, name)
	if len(found) == 0 || path.Base(found[0]) != name {
		return ""
	}
	return name + " is not in the directory in which the command runs" + didYouMean(found)
}

// didYouMean suggests the first of similar files.
func didYouMean(found []string) string {
	return "; did you mean " + strings.Join(found[:min(3, len(found))], " or ") + "?"
}

// listing lists the first files of a package; more says whether to add an ellipsis for others.
func listing(files []string, more bool) string {
	if len(files) == 0 {
		return ""
	}
	return ", which holds " + strings.Join(files, ", ") + map[bool]string{true: ", …"}[more]
}

func isDirectory(name string) string {
	return name + " is a directory of the package: name the file in it"
}

func isEmpty(name string) string { return name + " is empty: pack again with the script in it" }

// ProgramProblem says why the system can't execute a file that begins with begin. It returns "" if nothing is wrong.
func ProgramProblem(name, begin string) string {
	problem := firstLineProblem(name, begin, false)
	switch {
	case problem != "":
		return problem
	case begin == "":
		return isEmpty(name)
	case strings.HasPrefix(begin, "PK\x03\x04"):
		return name + " is an archive: name what runs it first, such as java -jar or python3"
	case !strings.HasPrefix(begin, "#!") && !strings.HasPrefix(begin, "\x7fELF"):
		return name + " is neither a program nor a script that begins with #!: write #!/bin/sh, or what runs it, as its first line"
	}
	return ""
}

// byteOrderMark is the mark that some editors write before the first character. The system then sees no "#!".
const byteOrderMark = "\xef\xbb\xbf"

// firstLineProblem says why the system can't read the first line of a script. With forShell, a shell reads the file,
// which then need not begin with "#!". It returns "" if nothing is wrong.
func firstLineProblem(name, begin string, forShell bool) string {
	text, hasMark := strings.CutPrefix(begin, byteOrderMark)
	line, _, _ := strings.Cut(text, "\n")
	isScript := strings.HasPrefix(text, "#!")
	switch {
	case hasMark && (isScript || forShell):
		return name + " begins with a byte order mark, before its first line: save it as UTF-8 without one (sed -i '1s/^\\xef\\xbb\\xbf//')"
	case (isScript || forShell) && strings.HasSuffix(line, "\r"):
		return "the first line of " + name + " ends with a carriage return: save the script with Unix line ends"
	}
	return ""
}

// InterpreterProblem says that the program in the first line of a script does not exist. It returns "" if the program
// exists or the file is not a script. isProgram reports whether a file is a program. If the first line is for env and
// search is not empty, InterpreterProblem also looks for the program that env must find in that search path.
func InterpreterProblem(file, name, search string, isProgram func(file string) bool) string {
	interpreter, ok := Shebang(file)
	if !ok {
		return ""
	}
	const advice = ": install it, or name another interpreter"
	if !isProgram(interpreter[0]) {
		return fmt.Sprintf("the first line of %s names %q, which is not on this agent%s", name, interpreter[0], advice)
	}
	if path.Base(interpreter[0]) != "env" || len(interpreter) < 2 || search == "" {
		return ""
	}
	program := interpreter[1] // env gets the rest of the line as one argument
	if words := strings.Fields(program); words[0] == "-S" && len(words) > 1 {
		program = words[1]
	}
	if strings.HasPrefix(program, "-") || assignment.MatchString(program) || strings.Contains(program, "/") ||
		lookPath(program, search, isProgram) != "" {
		return ""
	}
	return fmt.Sprintf("the first line of %s names %q, which is not in the PATH of this agent (%s)%s", name, program,
		search, advice)
}
