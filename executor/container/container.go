// Package container describes the container of a pod in which an executor runs one task: the environment, folder
// and package that the image and the pod provide for the task, and the marker that keeps a second start of the
// container from running the task again (begun.go).
package container

import (
	"os"
	"strings"

	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/pack"
)

// Container is the pod's container in which an executor runs one task. It is nil for an executor outside of a pod. All
// methods but Output may be called on a nil Container: they return their argument unchanged, or the zero value.
type Container struct {
	// Ready is the package that the init container has fetched; nil if there is none.
	Ready *pack.Package

	output *output.Streams
	env    []string // the container's environment, NAME=value
	// workFolder is the working folder of the container's image, "" if that is "/", in which no task starts.
	workFolder string
	begun      string // the path of the marker
}

// StartFolder returns the folder in which a task's process starts: the image's working folder if the task has no
// package, or else "", for a folder that is made for the task. packageFolder is that of its package, "" without one.
func (c *Container) StartFolder(packageFolder string) string {
	if c == nil || packageFolder != "" {
		return ""
	}
	return c.workFolder
}

// Prepared returns the package that was fetched before, or nil if there is none.
func (c *Container) Prepared() *pack.Package {
	if c == nil {
		return nil
	}
	return c.Ready
}

// Environment adds the container's variables to base, and returns base. The authors of the image and of the pod's
// template expect these variables in the task. Environment leaves out the executor's own variables (ELASTICJOB_…).
func (c *Container) Environment(base launch.Environment) launch.Environment {
	if c == nil {
		return base
	}
	for _, variable := range c.env {
		if name, value, ok := strings.Cut(variable, "="); ok && !launch.IsOwnVariable(name) {
			base[name] = value
		}
	}
	return base
}

// Reword replaces terms about agents by terms about containers, in a text that users read.
func (c *Container) Reword(text string) string {
	if c == nil {
		return text
	}
	return wordsOfContainer.Replace(text)
}

var wordsOfContainer = strings.NewReplacer(
	"the container that all tasks of the app share on this agent may have run out of memory",
	"the pod may have reached its memory limit, which is the job's memoryMB",
	"the executor's environment on this agent", "the container's environment",
	" on this agent", " in this container",
	" of this agent", " of this container",
)

// Current returns the container that this process is in. outputFolder is for the files of its output streams, and
// begun is the path of the marker.
func Current(outputFolder, begun string) *Container {
	c := &Container{output: output.NewStreams(os.Stdout, os.Stderr, outputFolder), env: os.Environ(), begun: begun}
	if dir, err := os.Getwd(); err == nil {
		c.workFolder = strings.TrimSuffix(dir, "/")
	}
	return c
}

// Output returns the container's output streams, to which the task writes.
func (c *Container) Output() *output.Streams { return c.output }
