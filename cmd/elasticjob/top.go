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
	// redrawInterval is the interval at which times and the size of the terminal are updated.
	redrawInterval = time.Second
	// While content changes, top requests it every minReadInterval. While nothing changes, it does so every
	// maxReadInterval.
	minReadInterval, maxReadInterval = 500 * time.Millisecond, 10 * time.Second
)

func (a *cli) topCommand() *cobra.Command {
	var once bool
	s := &screen{order: "lastRun", descending: true, pageNumber: 1}
	cmd := &cobra.Command{Use: "top", Short: "Watch the cluster and its jobs", Args: noArgs,
		Long: `top shows the cluster, its problems and the jobs, and keeps them up to date. Keys: q quits, s changes the sort order, r reverses it,
space and b turn the page. If standard output is not a terminal, it prints once.`}
	cmd.Flags().BoolVar(&once, "once", false, "print it once")
	cmd.Flags().StringVar(&s.order, "sort", s.order, strings.Join(jobOrders, ", "))
	completeWords(cmd, "sort", jobOrders...)
	cmd.RunE = a.withServer(func(ctx context.Context, c *client.Client, _ []string) error {
		if a.output != "table" {
			return usagef("top is for people and has no -o: \"elasticjob job list -o %s\" has the jobs", a.output)
		}
		s.server = c.Server()
		if !slices.Contains(jobOrders, s.order) {
			return usagef("--sort %q: must be one of %s", s.order, strings.Join(jobOrders, ", "))
		}
		if cmd.Flags().Changed("sort") {
			s.descending = s.order == "lastRun" || s.order == "duration" || s.order == "failures"
		}
		keys, hasKeys := terminal(a.in)
		out, hasScreen := terminal(a.out)
		if once || !hasKeys || !hasScreen {
			s.width, s.height = widthOf(a.out), client.MaxPerPage
			if s.update(readScreen(ctx, c, *s)); s.err != nil {
				return s.err
			}
			for _, line := range a.frame(s) {
				a.printf("%s", line)
			}
			return nil
		}
		return a.runLive(ctx, c, s, keys, out)
	})
	return cmd
}

// answers are the server's answers for one screen, or an error.
type answers struct {
	overview client.Overview
	page     client.JobPage
	err      error
}

// readScreen requests the content of a screen from the server. It gets a copy of the screen, so that it can run beside
// the loop that changes the screen.
func readScreen(ctx context.Context, c *client.Client, s screen) answers {
	overview, err := c.Overview(ctx)
	if err != nil {
		return answers{err: err}
	}
	s.overview = overview.Value // the number of problems determines how many jobs fit
	page, err := c.JobPage(ctx, client.JobQuery{Sort: s.order, Descending: s.descending, Page: s.pageNumber,
		PerPage: s.jobRows()})
	return answers{s.overview, page.Value, err}
}

// update takes over the answers. After an error the old content stays, and the screen also shows the error.
func (s *screen) update(got answers) {
	if s.err = got.err; got.err == nil {
		s.overview, s.page = got.overview, got.page
	}
}

// runLive draws the screen until a key ends it, and then restores the terminal.
func (a *cli) runLive(ctx context.Context, c *client.Client, s *screen, keys, out *os.File) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.updateSize(out)
	if s.update(readScreen(ctx, c, *s)); s.err != nil {
		return s.err // before the alternate screen is entered, so that the user can read it
	}
	before, err := term.MakeRaw(int(keys.Fd()))
	if err != nil {
		return fmt.Errorf("take the terminal's keys: %w", err)
	}
	fmt.Fprint(out, "\x1b[?1049h\x1b[?25l\x1b[?7l") // enter the alternate screen, hide the cursor, do not wrap lines
	defer func() {
		fmt.Fprint(out, "\x1b[?7h\x1b[?25h\x1b[?1049l")
		err = errors.Join(err, term.Restore(int(keys.Fd()), before))
	}()
	pressed := make(chan byte)
	go readKeys(ctx, keys, pressed) // ends with the process, or at the next key after the end of ctx
	changes, stop := c.Changes(ctx, func(client.Changed) bool { return true })
	defer stop()
	ticks := time.NewTicker(redrawInterval)
	defer ticks.Stop()
	stale, asking, readAt := false, false, a.now()
	received := make(chan answers, 1) // buffered, so that the sender ends even if the reader has ended
	for {
		s.updateSize(out)
		a.draw(out, s)
		select {
		case <-ctx.Done():
			return nil
		case key := <-pressed:
			if isQuit(key) {
				return nil
			}
			if s.handleKey(key) {
				stale, readAt = true, time.Time{}
			}
		case <-changes:
			stale = true
		case got := <-received:
			s.update(got)
			asking, readAt = false, a.now()
		case <-ticks.C:
		}
		if asking { // keys are handled while the server is being asked
			continue
		}
		since := a.now().Sub(readAt)
		if stale && since >= minReadInterval || since >= maxReadInterval {
			stale, asking = false, true
			go func(s screen) { received <- readScreen(ctx, c, s) }(*s)
		}
	}
}

// readKeys sends the pressed keys to the channel.
func readKeys(ctx context.Context, keys *os.File, pressed chan<- byte) {
	key := make([]byte, 1)
	for {
		if n, err := keys.Read(key); err != nil || n == 0 {
			return
		}
		select {
		case pressed <- key[0]:
		case <-ctx.Done():
			return
		}
	}
}

const interrupt = 3 // the byte of Ctrl-C

func isQuit(key byte) bool { return key == 'q' || key == 'Q' || key == interrupt }

// handleKey handles a key, and reports whether new content must be read.
func (s *screen) handleKey(key byte) bool {
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

// updateSize updates the size of the screen.
func (s *screen) updateSize(out *os.File) {
	if width, height, err := term.GetSize(int(out.Fd())); err == nil {
		s.width, s.height = width, height
	}
}

// draw writes a whole frame over the last one in one write, so that the screen does not flicker.
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
