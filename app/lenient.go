package app

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Lenient returns a stored document as the original, which checked nothing, read and ran it, and notes about what that
// changes. It is for documents that Check refuses: the result may pass, and means the same.
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

// variablePrefix is the beginning of a command that sets variables of its environment.
var variablePrefix = regexp.MustCompile(`^\s*[A-Za-z_][A-Za-z0-9_]*=`)

// lenientScript returns a start script that needs a shell, which the original always started, with that shell.
func lenientScript(line string) (string, string) {
	words, err := SplitCommand(line)
	if why := (shellError{}); errors.As(err, &why) {
		return JoinCommand([]string{"/bin/sh", "-c", line}),
			"bootstrapScript is run by a shell, /bin/sh -c, because it has an unquoted " + why.what
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

// backslash is one that may separate folders.
var backslash = regexp.MustCompile(`\\[A-Za-z0-9._-]`)

// LenientAmounts raises amounts of resources below the minimum, which the original accepted if one of the two was
// given.
func LenientAmounts(cpuCount, memoryMB *float64) (notes []string) {
	raise := func(field string, value *float64, least float64) {
		if *value >= 0 && *value < least {
			notes = append(notes, fmt.Sprintf("%s %s is read as %s, the minimum", field, number(*value), number(least)))
			*value = least
		}
	}
	if *cpuCount > 0 || *memoryMB > 0 {
		raise("cpuCount", cpuCount, MinCPUCount)
		raise("memoryMB", memoryMB, MinMemoryMB)
	}
	return notes
}
