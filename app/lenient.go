package app

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Lenient converts a stored document that Check refuses, so that it means what it meant in the original, which checked
// nothing. It returns a note about each change. Check may still refuse the result.
func (c Config) Lenient() (Config, []string) {
	var notes []string
	if line, note := lenientScript(c.BootstrapScript); note != "" {
		c.BootstrapScript, notes = line, append(notes, note)
	}
	if url := strings.TrimSpace(c.AppURL); url != c.AppURL {
		c.AppURL, notes = url, append(notes, "appURL is read without the blanks around it")
	}
	notes = append(notes, LenientAmounts(&c.CPUCount, &c.MemoryMB)...)
	if n := c.EventTraceSamplingCount; n < 0 {
		c.EventTraceSamplingCount = 0
		notes = append(notes, "eventTraceSamplingCount "+strconv.Itoa(n)+" is read as 0: all runs are recorded")
	}
	return c, notes
}

// variablePrefix matches the beginning of a command that sets a variable of its environment.
var variablePrefix = regexp.MustCompile(`^\s*[A-Za-z_][A-Za-z0-9_]*=`)

// lenientScript converts a start script. The original always started a shell. So for a script that needs a shell,
// lenientScript returns a command that starts one, and a note. It returns any other script unchanged, with a note only
// if backslashes in it are read as separators of folders.
func lenientScript(line string) (script, note string) {
	words, err := SplitCommand(line)
	if needsShell := (shellError{}); errors.As(err, &needsShell) {
		return JoinCommand([]string{"/bin/sh", "-c", line}),
			"bootstrapScript is run by a shell, /bin/sh -c, because it has an unquoted " + needsShell.character
	}
	if err == nil && variablePrefix.MatchString(line) {
		return JoinCommand([]string{"/bin/sh", "-c", line}),
			"bootstrapScript is run by a shell, /bin/sh -c, because it begins with a variable"
	}
	for _, word := range words[:min(len(words), 2)] {
		if backslash.MatchString(line) && strings.Contains(word, "/") && !strings.Contains(line, word) {
			return line, "bootstrapScript " + line + " is read as " + JoinCommand(words)
		}
	}
	return line, ""
}

// backslash matches a backslash that may separate folders.
var backslash = regexp.MustCompile(`\\[A-Za-z0-9._-]`)

// LenientAmounts raises amounts of resources that are below the minimum, and returns a note about each. The original
// accepted such amounts if one of the two was positive; otherwise LenientAmounts changes nothing.
func LenientAmounts(cpuCount, memoryMB *float64) (notes []string) {
	raise := func(field string, value *float64, minimum float64) {
		if *value >= 0 && *value < minimum {
			notes = append(notes, fmt.Sprintf("%s %s is read as %s, the minimum", field, formatNumber(*value),
				formatNumber(minimum)))
			*value = minimum
		}
	}
	if *cpuCount > 0 || *memoryMB > 0 {
		raise("cpuCount", cpuCount, MinCPUCount)
		raise("memoryMB", memoryMB, MinMemoryMB)
	}
	return notes
}
