package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/elasticjob-go/elasticjob/client"
)

const (
	// redraw is how often times are brought up to date, and the terminal's size is looked at.
	redraw = time.Second
	// rereadAtMost is how often the server is asked while much changes, and rereadAtLeast while nothing does.
	rereadAtMost, rereadAtLeast = 500 * time.Millisecond, 10 * time.Second
)

func (a *cli) topCommand() *cobra.Command {
	var once bool
	s := &screen{order: "lastRun", descending: true, pageNumber: 1}
	cmd := &cobra.Command{Use: "top", Short: "Watch the cluster and its jobs", Args: noArgs,
		Long: `top shows the cluster, what is wrong, and the jobs, and keeps that up to date. Keys: q ends it, s sorts by something else, r the other
way round, space and b turn the page. Where standard output is no terminal it is printed once.`}
	cmd.Flags().BoolVar(&once, "once", false, "print it once")
	cmd.Flags().StringVar(&s.order, "sort", s.order, strings.Join(jobOrders, ", "))
	completeWords(cmd, "sort", jobOrders...)
	cmd.RunE = a.talk(func(ctx context.Context, c *client.Client, _ []string) error {
		if a.output != "table" {
			return usagef("top is for people and has no -o: \"elasticjob job list -o %s\" has the jobs", a.output)
		}
		s.server = c.Server()
		if !slices.Contains(jobOrders, s.order) {
			return usagef("--sort %q: want %s", s.order, strings.Join(jobOrders, ", "))
		}
		if cmd.Flags().Changed("sort") {
			s.descending = s.order == "lastRun" || s.order == "duration" || s.order == "failures"
		}
		keys, fromTerminal := terminal(a.in)
		out, toTerminal := terminal(a.out)
		if once || !fromTerminal || !toTerminal {
			s.width, s.height = widthOf(a.out), client.MostPerPage
			if s.take(ask(ctx, c, *s)); s.trouble != nil {
				return s.trouble
			}
			for _, line := range a.frame(s) {
				a.say("%s", line)
			}
			return nil
		}
		return a.live(ctx, c, s, keys, out)
	})
	return cmd
}

// answers are what the server says of what is shown, or why it says nothing.
type answers struct {
	overview client.Overview
	page     client.JobPage
	err      error
}

// ask asks the server for what a screen shows.
func ask(ctx context.Context, c *client.Client, s screen) answers {
	overview, err := c.Overview(ctx)
	if err != nil {
		return answers{err: err}
	}
	s.overview = overview.Value // which says for how many jobs there is space
	page, err := c.JobPage(ctx, client.JobQuery{Sort: s.order, Descending: s.descending, Page: s.pageNumber,
		PerPage: s.jobRows()})
	return answers{s.overview, page.Value, err}
}

// take has answers shown; without any what is shown stays, with the reason.
func (s *screen) take(got answers) {
	if s.trouble = got.err; got.err == nil {
		s.overview, s.page = got.overview, got.page
	}
}

// live draws until a key ends it, on a screen of its own, after which the terminal is as it was.
func (a *cli) live(ctx context.Context, c *client.Client, s *screen, keys, out *os.File) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.look(out)
	if s.take(ask(ctx, c, *s)); s.trouble != nil {
		return s.trouble // before the screen is taken: this is read
	}
	before, err := term.MakeRaw(int(keys.Fd()))
	if err != nil {
		return fmt.Errorf("take the terminal's keys: %w", err)
	}
	fmt.Fprint(out, "\x1b[?1049h\x1b[?25l\x1b[?7l") // another screen, no cursor, no wrapped lines
	defer func() {
		fmt.Fprint(out, "\x1b[?7h\x1b[?25h\x1b[?1049l")
		err = errors.Join(err, term.Restore(int(keys.Fd()), before))
	}()
	pressed := make(chan byte)
	go readKeys(ctx, keys, pressed) // it ends with the process, or the next key
	changes, stop := c.Changes(ctx, func(client.Changed) bool { return true })
	defer stop()
	ticks := time.NewTicker(redraw)
	defer ticks.Stop()
	stale, asking, readAt := false, false, a.now()
	came := make(chan answers, 1) // so that who asks ends also when nobody looks any more
	for {
		s.look(out)
		a.draw(out, s)
		select {
		case <-ctx.Done():
			return nil
		case key := <-pressed:
			if isEnd(key) {
				return nil
			}
			stale = s.press(key) || stale
			readAt = time.Time{}
		case <-changes:
			stale = true
		case got := <-came:
			s.take(got)
			asking, readAt = false, a.now()
		case <-ticks.C:
		}
		if asking { // keys work meanwhile, however long the server takes
			continue
		}
		since := a.now().Sub(readAt)
		if stale && since >= rereadAtMost || since >= rereadAtLeast {
			stale, asking = false, true
			go func(s screen) { came <- ask(ctx, c, s) }(*s)
		}
	}
}

func readKeys(ctx context.Context, keys *os.File, pressed chan<- byte) {
	one := make([]byte, 1)
	for {
		if n, err := keys.Read(one); err != nil || n == 0 {
			return
		}
		select {
		case pressed <- one[0]:
		case <-ctx.Done():
			return
		}
	}
}

const interrupt = 3 // Ctrl-C, as a key

func isEnd(key byte) bool { return key == 'q' || key == 'Q' || key == interrupt }

// press changes what is shown, and reports whether it is to be read.
func (s *screen) press(key byte) bool {
	switch key {
	case 's':
		s.order = jobOrders[(slices.Index(jobOrders, s.order)+1)%len(jobOrders)]
	case 'r':
		s.descending = !s.descending
	case ' ':
		if s.pageNumber*s.jobRows() < s.page.Total {
			s.pageNumber++
		}
		return true
	case 'b':
		s.pageNumber = max(1, s.pageNumber-1)
		return true
	default:
		return false
	}
	s.pageNumber = 1
	return true
}

// look takes over the terminal's size.
func (s *screen) look(out *os.File) {
	if width, height, err := term.GetSize(int(out.Fd())); err == nil {
		s.width, s.height = width, height
	}
}

// draw writes a whole frame at once over the last one, so that nothing flickers.
func (a *cli) draw(out *os.File, s *screen) {
	var b strings.Builder
	b.WriteString("\x1b[?2026h\x1b[H")
	lines := a.frame(s)
	for i, line := range lines[:min(len(lines), s.height)] {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(line + "\x1b[K")
	}
	b.WriteString("\x1b[J\x1b[?2026l")
	fmt.Fprint(out, b.String())
}
