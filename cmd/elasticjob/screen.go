package main

import (
	"fmt"
	"strings"

	"github.com/elasticjob-go/elasticjob/client"
)

// screen is the content of top.
type screen struct {
	server        string
	width, height int // a width of 0 means lines of any length
	order         string
	descending    bool
	pageNumber    int

	overview client.Overview
	page     client.JobPage
	err      error // why the content is out of date; nil if it is not
}

const (
	// maxProblems is the maximum number of problems that are shown.
	maxProblems = 3
	// fixedLines is the number of lines of a frame without problems and jobs: four at the top, two empty lines, the
	// titles and the keys.
	fixedLines = 8
	// narrow is the width below which some columns are left out.
	narrow = 100
)

// jobRows returns the number of jobs that fit on the screen.
func (s *screen) jobRows() int {
	return min(client.MaxPerPage, max(1, s.height-fixedLines-s.problemRows()))
}

func (s *screen) problemRows() int { return min(maxProblems, len(s.overview.Problems)) }

// frame returns the lines of the screen.
func (a *cli) frame(s *screen) []string {
	colours := a.coloured()
	o, sum := s.overview, s.overview.Summary
	head := "elasticjob " + s.server
	if o.Leader != nil {
		head += "  leader " + o.Leader.Address + " " + o.Version
	}
	lines := []string{bold.paint(s.fit(head+"  "+a.now().In(a.zone).Format("15:04:05")), colours)}
	total := 0
	for _, n := range sum.Jobs {
		total += n
	}
	lines = append(lines, s.fit(fmt.Sprintf("apps %d  jobs %d: %s", sum.Apps, total, counts(sum.Jobs))),
		s.fit(runWords(sum)), s.fit(strings.Join(clusterWords(sum), "  ")))
	if s.err != nil {
		lines = append(lines, red.paint(s.fit("out of date: "+oneLine(errorText(s.err))), colours))
	} else {
		lines = append(lines, "")
	}
	for _, p := range o.Problems[:s.problemRows()] {
		lines = append(lines, a.problem(s, p))
	}
	if s.problemRows() > 0 {
		lines = append(lines, "")
	}
	jobs := a.jobTable(s.page.Rows)
	if s.width > 0 && s.width < narrow {
		jobs.drop("APP")
	}
	lines = append(lines, jobs.lines(s.width, colours)...)
	// Only output that is printed once has the height MaxPerPage. On a terminal the last line shows the keys.
	if s.height < client.MaxPerPage {
		for len(lines) < s.height-1 {
			lines = append(lines, "")
		}
		lines = append(lines[:max(0, min(len(lines), s.height-1))], dim.paint(s.fit(s.footer()), colours))
	}
	return lines
}

// problem returns a problem as one line: its kind, the job, agent or path that has it, since when, and the
// message.
func (a *cli) problem(s *screen, p client.Problem) string {
	about := p.Kind
	for _, name := range []string{p.Job, p.Agent, p.Path} {
		if name != "" {
			about += " " + name
			break
		}
	}
	if p.Job == "" && p.App != "" {
		about += " " + p.App
	}
	if p.Count > 1 {
		about += fmt.Sprintf(" ×%d", p.Count)
	}
	if p.Since != nil {
		about += " " + a.relative(*p.Since)
	}
	colour := yellow
	if p.Severity == "error" {
		colour = red
	}
	return colour.paint(s.fit(oneLine(about+": "+p.Message)), a.coloured())
}

func (s *screen) footer() string {
	first := (s.pageNumber - 1) * s.jobRows()
	direction := ""
	if s.descending {
		direction = " down"
	}
	return fmt.Sprintf("q quit  s sort: %s%s  r reverse  space/b page  jobs %d-%d of %d", s.order, direction,
		min(first+1, s.page.Total), min(first+len(s.page.Rows), s.page.Total), s.page.Total)
}

// fit shortens a line to the width of the screen.
func (s *screen) fit(text string) string {
	if s.width == 0 {
		return text
	}
	return cut(text, s.width)
}

// runWords describes the running and waiting runs and shards, and those that ended in the last hour.
func runWords(t client.Totals) string {
	text := fmt.Sprintf("runs %d running, %d waiting  shards %d running", t.RunningExecutions, t.WaitingExecutions,
		t.RunningShards)
	if t.FinishedLastHour != nil && t.FailedLastHour != nil {
		text += fmt.Sprintf("  last hour %d finished, %d failed", *t.FinishedLastHour, *t.FailedLastHour)
	}
	return text
}

// clusterWords describes the state of the cluster.
func clusterWords(t client.Totals) (words []string) {
	if t.Subscribed != nil && !*t.Subscribed {
		words = append(words, "NOT CONNECTED to the cluster")
	}
	if t.Agents != nil {
		agents := fmt.Sprintf("agents %d", t.Agents.Total)
		var unusable []string
		if n := t.Agents.Unreachable; n > 0 {
			unusable = append(unusable, fmt.Sprintf("%d unreachable", n))
		}
		if n := t.Agents.Closed; n > 0 {
			unusable = append(unusable, fmt.Sprintf("%d taking no tasks", n))
		}
		if len(unusable) > 0 {
			agents += " (" + strings.Join(unusable, ", ") + ")"
		}
		words = append(words, agents)
	}
	if t.CPUs != nil {
		words = append(words, fmt.Sprintf("CPU %s/%s", number(t.CPUs.Used), number(t.CPUs.Total)))
	}
	if t.MemoryMB != nil {
		words = append(words, fmt.Sprintf("memory %s/%s MB", number(t.MemoryMB.Used), number(t.MemoryMB.Total)))
	}
	return words
}
