package executor

import (
	"os"
	"strings"

	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/pack"
)

// container is the pod's container that an executor runs one task in. A nil one is none: its methods change nothing
// then.
type container struct {
	output *output.Streams
	env    []string      // its environment, NAME=value
	folder string        // the working folder of its image, "" for the root
	ready  *pack.Package // what its init container has fetched, nil without one
	begun  string        // the marker that its task has begun
}

// startsIn is the folder in which a process without a package begins, "" for its own working folder.
func (c *container) startsIn(root string) string {
	if c == nil || root != "" {
		return ""
	}
	return c.folder
}

// prepared is the package that need not be fetched, nil without one.
func (c *container) prepared() *pack.Package {
	if c == nil {
		return nil
	}
	return c.ready
}

// environment adds the container's variables to what each process gets. Whoever has published the image and the pod's
// template expects them; ELASTICJOB_… are the executor's own.
func (c *container) environment(base launch.Environment) launch.Environment {
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

// inWords puts what is said of agents in a container's words.
func (c *container) inWords(text string) string {
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

// ownContainer is the one that this process is in.
func ownContainer(folder, begun string) *container {
	c := &container{output: output.NewStreams(os.Stdout, os.Stderr, folder), env: os.Environ(), begun: begun}
	if at, err := os.Getwd(); err == nil {
		c.folder = strings.TrimSuffix(at, "/")
	}
	return c
}
