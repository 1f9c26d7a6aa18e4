package executor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/executor/pack"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// PackageCheck describes a check of an app's package. The check finds out whether an executor could use the package.
type PackageCheck struct {
	URL, SHA256 string
	// Command is the list of words in the app's bootstrapScript.
	Command []string
	// Folder is where the package is stored during the check.
	Folder string
	// OfAgent means that this machine is the agent, so that a program that is missing here is missing for tasks. Only
	// then file: URLs are read. On any other machine such a URL names a file of each agent, and users who may publish
	// apps must not learn about files of this machine.
	OfAgent bool
	// RunAs and Hide say which files of this machine can be packages, as in Config.
	RunAs *isolation.Account
	Hide  *isolation.Places
}

// PackageFacts is the result of a check. Fields that could not be determined are empty, and Problems says why.
type PackageFacts struct {
	pack.Contents
	Script   ScriptFacts
	Problems []PackageProblem
}

// ScriptFacts describes what the first word of a command refers to.
type ScriptFacts struct {
	// Path is the file in the package, or else the word itself.
	Path string
	// Found and Executable describe the file in the package. With OfAgent they may also describe a file in the search
	// path or at an absolute path.
	Found, Executable bool
	// Interpreter is the program that the first line of a script names; empty if there is none.
	Interpreter string
}

// PackageProblem is one problem: the field of the app that causes it, and a message that says what is wrong and
// what to do.
type PackageProblem struct{ Field, Message string }

// Limits of a check. They are lower than those of executors, because a server has other work.
const (
	checkBytes = 2 << 30
	checkTime  = 2 * time.Minute
	checkFiles = 1000
)

// CheckPackage fetches and unpacks a package and looks for its command, as an executor does, and then removes the
// package. Problems of the package are in the facts. The error is a problem of this machine, or the context's cause.
func CheckPackage(ctx context.Context, c PackageCheck) (facts PackageFacts, err error) {
	facts.Script.Path = c.Command[0]
	if u, err := url.Parse(c.URL); err == nil && u.Scheme == "file" && !c.OfAgent {
		facts.add("appURL", "a file: URL names a file of each agent, which this server can't look at: publish without a check, or give an http or https URL")
		return facts, nil
	}
	folder, err := os.MkdirTemp(c.Folder, "check-")
	if err != nil {
		return facts, fmt.Errorf("create a folder for the check: %w", err)
	}
	defer func() { err = errors.Join(err, pack.RemoveTree(folder)) }()
	checkCtx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	limits := pack.Defaults()
	maxBytes := sizeLimit(c.Folder)
	limits.Download, limits.Bytes, limits.Tries = maxBytes, maxBytes, 2
	source := pack.SourceOf(wire.Package{URL: c.URL}, c.Command)
	facts.Contents, err = pack.Inspect(checkCtx, source, folder, checkFiles, limits, packageOpener(c.RunAs, c.Hide))
	if cause := context.Cause(ctx); cause != nil {
		return facts, cause
	}
	var refused *pack.Error
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return facts, fmt.Errorf("store the package during the check: %w; free space in %s", err, c.Folder)
	case errors.Is(err, context.DeadlineExceeded):
		facts.add("appURL", fmt.Sprintf("it was not fetched and unpacked within %s, the limit of a check: see whether the package's server is slow", checkTime))
		return facts, nil
	case errors.As(err, &refused) && errors.Is(err, fs.ErrPermission): // the error says what to do
		facts.add("appURL", refused.Error())
	case errors.As(err, &refused):
		facts.add("appURL", fmt.Sprintf("%s: see that the URL is right, that this server can reach it, and that it is a package (tar, tar.gz, tar.bz2, tar.xz, tar.zst, zip or a single file) of at most %d MiB, unpacked too, for a check", refused, maxBytes>>20))
	case err != nil:
		return facts, err
	}
	if c.SHA256 != "" && facts.SHA256 != "" && !strings.EqualFold(c.SHA256, facts.SHA256) {
		facts.add("appSHA256", "the package's sha256 is "+facts.SHA256+": give that, or the URL of the package that was meant")
	}
	if refused == nil {
		facts.findScript(c)
	}
	return facts, nil
}

// sizeLimit returns the maximum size of a package for a check in the folder, packed and unpacked. Both together leave
// half of the free space of that disk, which may also hold the server's own files.
func sizeLimit(folder string) int64 {
	var disk syscall.Statfs_t
	if syscall.Statfs(folder, &disk) != nil {
		return checkBytes
	}
	return int64(min(checkBytes, disk.Bavail*uint64(disk.Bsize)/4))
}

func (f *PackageFacts) add(field, message string) {
	f.Problems = append(f.Problems, PackageProblem{field, message})
}

// findScript looks for the command as a task does, and records what it found.
func (f *PackageFacts) findScript(c PackageCheck) {
	name := c.Command[0]
	root := pack.Root(f.Dir, name)
	search := launch.BaseEnvironment(c.RunAs)["PATH"]
	_, _, err := launch.Find(root, c.Command, search, c.RunAs)
	inside, relErr := filepath.Rel(f.Dir, filepath.Join(root, path.Clean(name)))
	info, statErr := os.Stat(filepath.Join(root, path.Clean(name)))
	isInside := !path.IsAbs(name) && relErr == nil && filepath.IsLocal(inside) && statErr == nil &&
		info.Mode().IsRegular()
	outside := pack.Outside(root, name)
	rootKnown := true // false if the first word may be meant for another folder than root, and so the other words too
	switch {
	case !path.IsAbs(name) && outside != "":
		// The file is one of the agents. This server may have such a file too, but must not read it for this user.
		f.Script.Found, f.Script.Executable = true, true
		if info := c.statAsTask(outside); c.OfAgent && (info == nil || !info.Mode().IsRegular()) {
			f.Script = ScriptFacts{}
			f.add("bootstrapScript", launch.BadLink(name, outside))
		}
	case isInside:
		f.Script = ScriptFacts{Path: inside, Found: true, Executable: info.Mode()&0o111 != 0}
		f.checkScript(c, filepath.Join(f.Dir, inside), search, err)
	case path.IsAbs(name) && c.OfAgent:
		f.findProgram(c, name)
	case err == nil && c.OfAgent:
		f.Script.Found, f.Script.Executable = true, true
	case c.OfAgent, strings.Contains(name, "/") && !path.IsAbs(name):
		f.add("bootstrapScript", err.Error())
		rootKnown = !strings.Contains(name, "/") && launch.FoundElsewhere(root, name) == ""
	case !path.IsAbs(name):
		// The command may be a program of the agents, which this server need not have. But if another folder of the
		// package has a file of that name, the user probably meant that file.
		if problem := launch.FoundElsewhere(root, name); problem != "" {
			f.add("bootstrapScript", problem)
			rootKnown = false
		}
	}
	if !rootKnown {
		return
	}
	words := launch.Words{Dir: f.Dir, Root: root, File: pack.FileName(c.URL)}
	for _, problem := range words.Problems(c.Command) {
		f.add("bootstrapScript", problem)
	}
}

// findProgram looks for a program on this machine with the rights of a task, so that the check does not reveal
// files that tasks can't see.
func (f *PackageFacts) findProgram(c PackageCheck, name string) {
	info := c.statAsTask(name)
	if info == nil || !info.Mode().IsRegular() {
		f.add("bootstrapScript", launch.NotOnAgent(name))
		return
	}
	if f.Script.Found, f.Script.Executable = true, info.Mode()&0o111 != 0; !f.Script.Executable {
		f.add("bootstrapScript", name+" has no execute bit: set it (chmod +x), or name what runs it first, such as /bin/sh")
	}
}

// statAsTask returns information about a file of this machine, or nil if tasks can't see such a file.
func (c *PackageCheck) statAsTask(name string) (info os.FileInfo) {
	_ = c.RunAs.Do(func() (err error) {
		info, err = os.Stat(name)
		return err
	})
	return info
}

// checkScript adds the problem, if any, because of which the system could not execute a file of the package.
func (f *PackageFacts) checkScript(c PackageCheck, file, search string, refused error) {
	problem := launch.ProgramProblem(f.Script.Path, launch.Head(file))
	if interpreter, ok := launch.Shebang(file); ok && problem == "" {
		f.Script.Interpreter = interpreter[0]
		if c.OfAgent {
			problem = launch.InterpreterProblem(file, f.Script.Path, search,
				func(program string) bool { return c.statAsTask(program) != nil })
		}
	}
	if refused != nil {
		problem = refused.Error()
	}
	if problem != "" {
		f.add("bootstrapScript", problem)
	}
}
