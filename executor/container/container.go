// Package container is the container of a pod in which an executor runs one task: what its image and its pod give that
// task, and the marker that keeps a second start of it from running the task again (begun.go).
package container

import (
	"os"
	"strings"

	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/pack"
)

// Container is the pod's container that an executor runs one task in. A nil one is none: its methods change nothing
// then.
type Container struct {
	// Ready is what its init container has fetched, nil without one.
	Ready *pack.Package

	output *output.Streams
	env    []string // its environment, NAME=value
	folder string   // the working folder of its image, "" for the root
	begun  string   // the marker that its task has begun
}

// StartsIn is the folder in which a process without a package begins, "" for its own working folder.
func (c *Container) StartsIn(root string) string {
	if c == nil || root != "" {
		return ""
	}
	return c.folder
}

// Prepared is the package that need not be fetched, nil without one.
func (c *Container) Prepared() *pack.Package {
	if c == nil {
		return nil
	}
	return c.Ready
}

// Environment adds the container's variables to what each process gets. Whoever has published the image and the pod's
// template expects them; ELASTICJOB_… are the executor's own.
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

// InWords puts what is said of agents in a container's words.
func (c *Container) InWords(text string) string {
	if c == nil {
		return text
	}
	return wordsOfContainer.Replace(text)
}

var wordsOfContainer = strings.NewReplacer(
	", at the limit of the container that all tasks of the app share on this agent",
	", at the limit of the pod, which is the job's memoryMB",
	"the executor's environment on this agent", "the container's environment",
	" on this agent", " in this container",
)

// Own is the one that this process is in. The folder is for what its streams need, begun the path of the marker.
func Own(folder, begun string) *Container {
	c := &Container{output: output.NewStreams(os.Stdout, os.Stderr, folder), env: os.Environ(), begun: begun}
	if at, err := os.Getwd(); err == nil {
		c.folder = strings.TrimSuffix(at, "/")
	}
	return c
}

// Output are its streams, which the task writes to.
func (c *Container) Output() *output.Streams { return c.output }
