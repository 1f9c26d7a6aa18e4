package main

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/api/logs"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/local"
	"github.com/elasticjob-go/elasticjob/cluster/mesos"
	"github.com/elasticjob-go/elasticjob/executor"
	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/internal/document"
)

// platform is where jobs run, as a server uses it.
type platform struct {
	driver cluster.Driver
	output logs.Files
	// framework is who the server says that it is.
	framework cluster.Framework
	// executorBinary is where executors are fetched from, and artifact finds the file if this server is asked for it;
	// where images have the executor there are neither.
	executorBinary string
	artifact       func(name string) (file string, ok bool)
	// podTemplate has all that is wrong with an app's podTemplate; nil where tasks have no pods.
	podTemplate func(template []byte) document.Violations
	// image is what jobs run in where they run in images, unless their app names another one.
	image string
	// throttled is how many requests of this server a Kubernetes has put off; nil elsewhere.
	throttled func() int64
	// machine is this machine's cluster, nil without --local.
	machine *local.Cluster
	// close gives back what it holds.
	close func() error
}

// openPlatform opens the cluster that the flags name, for a server at that address. Nothing is connected to, but
// --local starts its own.
func openPlatform(ctx context.Context, c config, address string, log *slog.Logger) (platform, error) {
	if c.kubernetes.on {
		return openKubernetes(c, address, log)
	}
	executors, err := findExecutors(c.executorDir, filepath.Join(c.dataDir, "artifacts"))
	if err != nil {
		return platform{}, err
	}
	if c.local {
		return openLocal(ctx, c, address, executors, log)
	}
	return openMesos(c, address, executors, log)
}

func openMesos(c config, address string, executors *artifacts, log *slog.Logger) (platform, error) {
	reach := c.mesosOptions()
	reach.Logger = log
	driver, err := mesos.New(reach)
	if err != nil {
		return platform{}, err
	}
	files := mesos.NewFiles(mesos.Options{Credentials: c.credentials, TLS: c.tls})
	return platform{
		driver: driver, output: files, artifact: executors.file,
		framework: framework(c, address), executorBinary: executors.address(c.local, c.scheme()+"://"+address),
		close: func() error { files.Close(); return nil },
	}, nil
}

// openLocal starts this machine's cluster, which speaks as Mesos does.
func openLocal(ctx context.Context, c config, address string, executors *artifacts, log *slog.Logger) (platform,
	error) {
	program, _ := executors.file(executors.own) // it is there
	hidden, err := hiding(ctx, c, program, log)
	if err != nil {
		return platform{}, err
	}
	options := local.Options{
		DataDir: filepath.Join(c.dataDir, "cluster"), CPUs: c.localCPUs, MemoryMB: c.localMemory,
		GiveUpExecutors: c.giveUpExecutors, Logger: slog.New(quieter{log.Handler()}),
	}
	if hidden != nil {
		options.ExecutorEnvironment = map[string]string{
			executor.HideVariable: hidden.text, launch.SecretsVariable: strings.Join(hidden.secrets, ":"),
		}
		options.IsolateExecutor = hidden.start
	}
	machine, err := local.Start(ctx, options)
	if err != nil {
		return platform{}, errors.Join(err, hidden.close())
	}
	end := func() error { return errors.Join(within(5*time.Second, machine.Close), hidden.close()) }
	c.mesos = machine.MasterURL()
	own := machine.Credentials()
	c.credentials, c.principal = &mesos.Credentials{User: own.Principal, Secret: own.Secret}, own.Principal
	p, err := openMesos(c, address, executors, log)
	if err != nil {
		return platform{}, errors.Join(err, end())
	}
	files := p.close
	p.machine, p.close = machine, func() error { return errors.Join(files(), end()) }
	return p, nil
}
