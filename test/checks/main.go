package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "checks:", err)
	}
	if !ok || err != nil {
		os.Exit(1)
	}
}

// run executes the arguments. It reports whether all chosen phases passed or could not be run on this machine.
func run(ctx context.Context, args []string) (bool, error) {
	flags := flag.NewFlagSet("checks", flag.ContinueOnError)
	only := flags.String("only", "", "run these phases alone, separated by commas")
	list := flags.Bool("list", false, "list the phases, and run none")
	fresh := flags.Bool("fresh", false, "nightly: forget the results of earlier runs on this commit")
	user := flags.String("user", "", "as root: run as this user what does not need root")
	seed := flags.Uint64("seed", 0, "the seed after which nightly's worlds begin; 0 for one that depends on the date")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	t := tier(flags.Arg(0))
	if flags.NArg() != 1 || !slices.Contains(tiers, t) {
		return false, fmt.Errorf("name one of %v", tiers)
	}
	root, err := moduleRoot()
	if err != nil {
		return false, err
	}
	s := settings{tier: t, root: root, seed: *seed}
	all, err := s.phases()
	if err != nil {
		return false, err
	}
	if *list {
		for _, p := range all {
			fmt.Printf("%-14s %s\n", p.name, p.about)
		}
		return true, nil
	}
	r := &runner{root: root, tier: t, results: map[string]result{}, all: all, chosen: all}
	var named []string
	if *only != "" {
		named = strings.Split(*only, ",")
		if r.chosen, err = choose(all, named); err != nil {
			return false, err
		}
	}
	if *user != "" {
		if r.user, err = lookup(*user); err != nil {
			return false, err
		}
	}
	if t == nightly {
		r.state = filepath.Join(root, "bin", "checks", "nightly.json")
		if *fresh {
			err = os.RemoveAll(r.state)
		}
		if err = errors.Join(err, r.resume(ctx, named)); err != nil {
			return false, err
		}
	}
	return r.run(ctx)
}

// choose returns the named phases and those that they need, in order.
func choose(all []phase, names []string) ([]phase, error) {
	wanted := map[string]bool{}
	for i := len(names) - 1; i >= 0; i-- {
		if !slices.ContainsFunc(all, func(p phase) bool { return p.name == names[i] }) {
			return nil, fmt.Errorf("there is no phase %q; -list lists them", names[i])
		}
		wanted[names[i]] = true
	}
	for _, p := range slices.Backward(all) {
		if wanted[p.name] {
			for _, name := range p.needs {
				wanted[name] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(p phase) bool { return !wanted[p.name] }), nil
}

// moduleRoot finds the repository above the working folder.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			return "", errors.New("find the repository: there is no go.mod here or above")
		}
		dir = filepath.Dir(dir)
	}
}
