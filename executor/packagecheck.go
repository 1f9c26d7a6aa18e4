package executor

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/executor/pack"
)

// PackageCheck asks what an executor would make of an app's package.
type PackageCheck struct {
	URL, SHA256 string
	// Command are the words of the app's bootstrapScript.
	Command []string
	// Folder is where the package lies during the check.
	Folder string
	// OfAgent is set where this machine is the agent, so that what it lacks is lacking. Only then is a file: URL read:
	// elsewhere it names a file of each agent, and a file of this machine is nothing that who may publish may learn
	// of.
	OfAgent bool
	// RunAs and Hide say which files of this machine are packages, as in Config.
	RunAs *isolation.Account
	Hide  *isolation.Places
}

// PackageFacts is the answer. What could not be found out is empty, and Problems say why.
type PackageFacts struct {
	pack.Contents
	Script   ScriptFacts
	Problems []PackageProblem
}

// ScriptFacts is what a command's first word stands for.
type ScriptFacts struct {
	// Path is the file in the package, or else the word itself.
	Path string
	// Found and Executable are of the file in the package, or, with OfAgent, in the search path or at the path named.
	Found, Executable bool
	// Interpreter is what the first line of a script names.
	Interpreter string
}

// PackageProblem is what is wrong, in the field of the app that says so, and what to do about it.
type PackageProblem struct{ Field, Message string }

// Bounds of a check. They are below those of executors, since a server has other work.
const (
	checkBytes = 2 << 30
	checkTime  = 2 * time.Minute
	checkFiles = 1000
)

// CheckPackage fetches and unpacks a package as an executor does, looks for its command as an executor does, and
// removes what it has fetched. The error is of this machine, or the context's cause; what is wrong with the package is
// in the facts.
func CheckPackage(ctx context.Context, c PackageCheck) (facts PackageFacts, err error) {
	facts.Script.Path = c.Command[0]
	if u, err := url.Parse(c.URL); err == nil && u.Scheme == "file" && !c.OfAgent {
		facts.add("appURL", "a file: URL names a file of each agent, which this server can't look at: publish without a check, or give an http or https URL")
		return facts, nil
	}
	folder, err := os.MkdirTemp(c.Folder, "check-")
	if err != nil {
		return facts, fmt.Errorf("make a folder for the check: %w", err)
	}
	defer func() { err = errors.Join(err, pack.RemoveTree(folder)) }()
	within, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	limits := pack.Defaults()
	most := checkRoom(c.Folder)
	limits.Download, limits.Bytes, limits.Tries = most, most, 2
	facts.Contents, err = pack.Inspect(within, c.URL, folder, checkFiles, limits, packageOpener(c.RunAs, c.Hide))
	if cause := context.Cause(ctx); cause != nil {
		return facts, cause
	}
	var refused *pack.Error
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return facts, fmt.Errorf("keep the package during the check: %w; make room in %s", err, c.Folder)
	case errors.Is(err, context.DeadlineExceeded):
		facts.add("appURL", "it was not fetched and unpacked within %s, which is what a check may take: see whether the server of the package is slow", checkTime)
		return facts, nil
	case errors.As(err, &refused):
		facts.add("appURL", "%s: see that the URL is right, that this server can reach it, and that it is a package (tar, tar.gz, tar.bz2, tar.xz, tar.zst, zip or a single file) of at most %d MiB, unpacked too, for a check", refused, most>>20)
	case err != nil:
		return facts, err
	}
	if c.SHA256 != "" && facts.SHA256 != "" && !strings.EqualFold(c.SHA256, facts.SHA256) {
		facts.add("appSHA256", "the package's sha256 is %s: give that, or the URL of the package that was meant",
			facts.SHA256)
	}
	if refused == nil {
		facts.findScript(c)
	}
	return facts, nil
}

// checkRoom is how many bytes a package may have that is checked in a folder, and the same unpacked: both together
// leave half of what is free on that disk, which may be the one that the server's own files are on.
func checkRoom(folder string) int64 {
	var disk syscall.Statfs_t
	if syscall.Statfs(folder, &disk) != nil {
		return checkBytes
	}
	return int64(min(checkBytes, disk.Bavail*uint64(disk.Bsize)/4))
}

func (f *PackageFacts) add(field, format string, args ...any) {
	f.Problems = append(f.Problems, PackageProblem{field, fmt.Sprintf(format, args...)})
}

// findScript looks for the command as a task does.
func (f *PackageFacts) findScript(c PackageCheck) {
	root := pack.Root(f.Dir, c.Command[0])
	name := c.Command[0]
	_, _, err := launch.Find(root, c.Command, launch.BaseEnvironment(nil)["PATH"])
	inside, notBelow := filepath.Rel(f.Dir, filepath.Join(root, path.Clean(name)))
	info, missing := os.Stat(filepath.Join(root, path.Clean(name)))
	isInside := !path.IsAbs(name) && notBelow == nil && filepath.IsLocal(inside) && missing == nil &&
		info.Mode().IsRegular()
	switch {
	case isInside:
		f.Script = ScriptFacts{Path: inside, Found: true, Executable: info.Mode()&0o111 != 0}
		f.judgeScript(c, filepath.Join(f.Dir, inside), err)
	case path.IsAbs(name) && c.OfAgent:
		f.findProgram(c, name)
	case err == nil && c.OfAgent:
		f.Script.Found, f.Script.Executable = true, true
	case c.OfAgent, strings.Contains(name, "/") && !path.IsAbs(name):
		f.addMissing(root, name)
	case !path.IsAbs(name):
		// A program of the agents, which this server need not have; but a file of that name in another folder of the
		// package is what was meant.
		if found, _, _ := launch.LookNear(root, name); slices.ContainsFunc(found,
			func(file string) bool { return path.Base(file) == name }) {
			f.addMissing(root, name)
		}
	}
}

// findProgram looks at a file of this machine as a task would: what it can't see is not there for who asks either.
func (f *PackageFacts) findProgram(c PackageCheck, name string) {
	info := c.onMachine(name)
	if info == nil || !info.Mode().IsRegular() {
		f.addMissing("", name)
		return
	}
	if f.Script.Found, f.Script.Executable = true, info.Mode()&0o111 != 0; !f.Script.Executable {
		f.add("bootstrapScript", "%s has no execute bit: set it (chmod +x), or name what runs it first, such as /bin/sh", name)
	}
}

// onMachine is a file of this machine that tasks can see, nil without one.
func (c *PackageCheck) onMachine(name string) (info os.FileInfo) {
	_ = c.RunAs.Do(func() (err error) {
		info, err = os.Stat(name)
		return err
	})
	return info
}

// addMissing says where the command may be instead.
func (f *PackageFacts) addMissing(root, name string) {
	where := "is not in the package"
	switch {
	case path.IsAbs(name):
		f.add("bootstrapScript", "there is no file %s on this machine: name one that is there, or one in the package without a slash at its beginning", name)
		return
	case !filepath.IsLocal(name):
		f.add("bootstrapScript", "%s leads out of the package: name a file in it", name)
		return
	case !strings.Contains(name, "/"):
		where = "is neither in the package nor a program of this machine"
	}
	found, files, more := launch.LookNear(root, name)
	switch {
	case len(found) > 0:
		f.add("bootstrapScript", "%s %s; did you mean %s?", name, where,
			strings.Join(found[:min(3, len(found))], " or "))
	default:
		f.add("bootstrapScript", "%s %s, which holds %s: name one of its files, or pack again with the script in it",
			name, where,
			strings.Join(files, ", ")+map[bool]string{true: ", …"}[more])
	}
}

// judgeScript says what would keep the system from starting a file of the package.
func (f *PackageFacts) judgeScript(c PackageCheck, file string, refused error) {
	if refused != nil {
		f.add("bootstrapScript", "%s", refused)
		return
	}
	begin := launch.Head(file)
	interpreter, isScript := launch.Shebang(file)
	switch {
	case isScript && strings.HasSuffix(strings.Join(interpreter, " "), "\r"):
		f.add("bootstrapScript", "the first line of %s ends with a carriage return: save the script with Unix line ends", f.Script.Path)
	case isScript:
		f.Script.Interpreter = interpreter[0]
		if c.OfAgent && c.onMachine(interpreter[0]) == nil {
			f.add("bootstrapScript", "the first line of %s names %q, which is not on this machine: install it, or name another interpreter", f.Script.Path, interpreter[0])
		}
	case begin == "":
		f.add("bootstrapScript", "%s is empty: pack again with the script in it", f.Script.Path)
	case !strings.HasPrefix(begin, "\x7fELF"):
		f.add("bootstrapScript", "%s is neither a program nor a script that begins with #!: write #!/bin/sh, or what runs it, as its first line", f.Script.Path)
	}
}
