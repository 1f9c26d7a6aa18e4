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

// Container is the pod's container in which an executor runs one task. A nil Container stands for an executor
// outside of a pod: its methods, except for Output, then change nothing.
type Container struct {
	// Ready is the package that the init container has fetched; nil if there is none.
	Ready *pack.Package

	output *output.Streams
	env    []string // its environment, NAME=value
	folder string   // the working folder of its image, "" for the root
	begun  string   // marker: the task has begun
}

// StartFolder returns the folder in which a process without a package starts; empty means a working folder of its own.
// root is the folder of the package, empty without one.
func (c *Container) StartFolder(root string) string {
	if c == nil || root != "" {
		return ""
	}
	return c.folder
}

// Prepared returns the package that need not be fetched any more; nil if there is none.
func (c *Container) Prepared() *pack.Package {
	if c == nil {
		return nil
	}
	return c.Ready
}

// Environment adds the container's variables to base, because the author of the image and the pod's template
// expects them. It leaves out the executor's own variables (ELASTICJOB_…). It changes base and returns it.
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

// Reword replaces terms about agents in a text for users by those about containers.
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

// Current returns the container that this process is in. The folder is for the files of its output streams, begun is
// the path of the marker.
func Current(folder, begun string) *Container {
	c := &Container{output: output.NewStreams(os.Stdout, os.Stderr, folder), env: os.Environ(), begun: begun}
	if at, err := os.Getwd(); err == nil {
		c.folder = strings.TrimSuffix(at, "/")
	}
	return c
}

// Output returns the container's output streams, to which the task writes.
func (c *Container) Output() *output.Streams { return c.output }
