// Command demo shows the life of a job on this machine. It starts a server, packs examples/wordcount, publishes the
// package, registers two jobs with requests that it also prints as curl commands, and shows their runs until Ctrl-C,
// which ends everything.
//
//	make demo
//
// The files, in the order in which they are used: server.go starts the server and family.go tracks its processes,
// bundle.go packs and serves the package, client.go calls the API, watch.go and run.go follow the runs, screen.go
// writes the output.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
)

// preferred is the address that the curl commands of the README use.
const preferred = "127.0.0.1:8899"

type options struct {
	scheduler, source, dataDir, listen string
}

func main() {
	// Pdeathsig signals the server when the thread that started it ends, so this thread must live.
	runtime.LockOSThread()
	var o options
	flag.StringVar(&o.scheduler, "scheduler", "bin/scheduler", "the server's program, with the executor beside it")
	flag.StringVar(&o.source, "package", "examples/wordcount", "folder of the example")
	flag.StringVar(&o.dataDir, "data-dir", "", "the server's data folder (default: a new one, removed at the end)")
	flag.StringVar(&o.listen, "listen", "",
		"the server's address (default: "+preferred+" if it is free, else any port)")
	flag.Parse()

	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(context.Background())
	hurry, cancelHurry := context.WithCancel(context.Background())
	go func() {
		<-signals
		cancel()
		<-signals
		cancelHurry()
	}()
	screen := newScreen(os.Stdout)
	if err := demo(ctx, hurry, o, screen); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// demo runs the whole demo until ctx ends. When hurry ends, it ends everything at once.
func demo(ctx, hurry context.Context, o options, screen *screen) (err error) {
	for _, needed := range []string{o.scheduler, filepath.Join(filepath.Dir(o.scheduler), "executor"), o.source} {
		if _, err := os.Stat(needed); err != nil {
			return fmt.Errorf("%w; run make demo in the repository's folder", err)
		}
	}
	if o.dataDir == "" {
		if o.dataDir, err = os.MkdirTemp("", "elasticjob-demo-"); err != nil {
			return err
		}
		defer os.RemoveAll(o.dataDir)
	} else if err = os.MkdirAll(o.dataDir, 0o700); err != nil {
		return fmt.Errorf("create the data folder: %w; name another with --data-dir", err)
	}
	if o.listen == "" {
		o.listen = freeAddress()
	}
	processes, err := adopt()
	if err != nil {
		return err
	}
	defer processes.stop()

	s := &server{program: o.scheduler, dataDir: o.dataDir, listen: o.listen, family: processes}
	screen.step("Starting the server")
	screen.command("%s --local --listen %s --data-dir %s", o.scheduler, o.listen, o.dataDir)
	if err := s.start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end(hurry, s, screen)) }()

	api := &client{base: "http://" + o.listen}
	err = play(ctx, o, s, api, screen)
	if ctx.Err() != nil {
		return nil // requested by the user
	}
	return err
}

// play does what a user would do, and then watches the runs.
func play(ctx context.Context, o options, s *server, api *client, screen *screen) error {
	if err := s.awaitReady(ctx, api); err != nil {
		return err
	}
	bundle, err := serveBundle(o.source)
	if err != nil {
		return err
	}
	defer bundle.close()
	screen.step("Packing %s: it counts the words of some texts, a share of them per shard", o.source)
	screen.text("%d files, %d kB, at %s", bundle.files, bundle.size/1024, bundle.url)

	screen.step("Publishing it as an app")
	if err := put(ctx, api, screen, "/api/app", "/api/app", fmt.Sprintf(
		`{"appName":"wordcount","appURL":"%s","bootstrapScript":"bin/start.sh","cpuCount":0.1,"memoryMB":64}`,
		bundle.url)); err != nil {
		return err
	}
	screen.step("Registering two jobs on it: one fires every 10 seconds, one when triggered")
	for _, job := range []string{
		`{"jobName":"word_count","appName":"wordcount","jobExecutionType":"TRANSIENT","cron":"0/10 * * * * ?","shardingTotalCount":3,"jobParameter":"top=3 pause=0.5","cpuCount":0.1,"memoryMB":32}`,
		`{"jobName":"count_by_theme","appName":"wordcount","jobExecutionType":"TRANSIENT","shardingTotalCount":3,"shardingItemParameters":"0=sea,1=land,2=sky","jobParameter":"top=3 pause=0.2","cpuCount":0.1,"memoryMB":32}`,
	} {
		if err := put(ctx, api, screen, "/api/job/register", "/api/job/update", job); err != nil {
			return err
		}
	}
	screen.step("Triggering the second; the first fires on the next full 10 seconds")
	screen.command("curl -X POST %s/api/job/count_by_theme/trigger", api.base)
	var triggered struct {
		ExecutionID string `json:"executionId"`
	}
	if err := api.call(ctx, "POST", "/api/job/count_by_theme/trigger", "", &triggered); err != nil {
		return err
	}
	w := newWatcher(api, s, screen, "word_count", "count_by_theme")
	w.expect("count_by_theme", triggered.ExecutionID)
	return w.watch(ctx)
}

// put creates a document, or changes the one that an earlier demo left.
func put(ctx context.Context, api *client, screen *screen, create, update, body string) error {
	screen.command("curl -H 'Content-type: application/json' -X POST %s%s -d '%s'", api.base, create, body)
	err := api.call(ctx, "POST", create, body, nil)
	var refused *refusal
	if errors.As(err, &refused) && refused.status == 409 {
		return api.call(ctx, "PUT", update, body, nil)
	}
	return err
}

// end stops the server, which ends its tasks and executors, and then makes sure that no process is left.
func end(hurry context.Context, s *server, screen *screen) error {
	screen.step("Stopping the server and what it runs; a second Ctrl-C kills it all at once")
	stopped := s.stop(hurry)
	left, err := s.family.killAll()
	switch {
	case err != nil:
		return err
	case hurry.Err() != nil:
		screen.text("killed; nothing is left running")
		return nil
	case left > 0:
		return errors.Join(stopped, fmt.Errorf("the server left %s running; now killed",
			count(left, "process", "processes")))
	case stopped == nil:
		screen.text("nothing is left running")
	}
	return stopped
}

// freeAddress returns the preferred address if it is free, and otherwise one with a free port.
func freeAddress() string {
	l, err := net.Listen("tcp", preferred)
	if err != nil {
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return preferred // the server will report the error
		}
	}
	defer l.Close()
	return l.Addr().String()
}
