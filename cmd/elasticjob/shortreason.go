package main

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/elasticjob-go/elasticjob/client"
	"github.com/elasticjob-go/elasticjob/internal/reason"
)

var (
	// outputEnd and keptFolder match parts of an executor's text about the end of a process. The executor sends a plain
	// text without arguments, so these parts have to be found in the text.
	outputEnd  = regexp.MustCompile(`(?:^|; )end of std(?:err|out):\s`)
	keptFolder = regexp.MustCompile(`; (its working directory is kept on the agent: [^;\n]*)`)
	// plainExit matches an exit status, which says less than the last line of the output.
	plainExit = regexp.MustCompile(`^exit status \d+(?:; |$)`)
	// exception matches a line about an exception. Its group begins at the class, without the package.
	exception = regexp.MustCompile(`^[\s|+]*(?:Caused by: |Exception in thread ".*?" |Uncaught )?(?:[\w$]+\.)*` +
		`([\w$]*(?:Exception|Error|Throwable)(?:[: (].*)?)$`)
)

// shortReason returns the reason of a run for a narrow column: the shard, if the run has several, and its cause in the
// order of causeFirst. The number of failed shards is left out. Without a cause that this release knows, it returns the
// server's text.
func shortReason(why client.Why) string {
	if why.ReasonCode != "shards_failed" && why.ReasonCode != "shards_killed" {
		return causeFirst(why.Reason)
	}
	args := why.ReasonArgs
	nested, hasCause := args["cause"].(map[string]any)
	item, hasItem := args["item"].(string)
	if !hasCause || !hasItem {
		return why.Reason
	}
	cause := wordsOf(nested)
	if cause == "" {
		return why.Reason
	}
	cause = causeFirst(cause)
	if args["shards"] == "1" {
		return cause
	}
	return "item " + item + ": " + cause
}

// wordsOf returns the words of a nested reason, or "" if this release does not know its code.
func wordsOf(nested map[string]any) string {
	data, err := json.Marshal(nested)
	if err != nil {
		return ""
	}
	var r reason.Reason
	if err := json.Unmarshal(data, &r); err != nil {
		return ""
	}
	if words := r.String(); words != nested["code"] {
		return words
	}
	return "" // words of an unknown code are the code
}

// causeFirst puts the cause at the beginning of a reason, and the kept folder at its end. The cause is the executor's
// own text, followed by the most telling line of the output. If the executor only reports an exit status, that line
// alone is the cause.
func causeFirst(text string) string {
	kept := ""
	if match := keptFolder.FindStringSubmatchIndex(text); match != nil {
		kept = "; " + text[match[2]:match[3]]
		text = text[:match[0]] + text[match[1]:]
	}
	match := outputEnd.FindStringIndex(text)
	if match == nil {
		return text + kept
	}
	head, line := text[:match[0]], mostTelling(text[match[1]:])
	rest := plainExit.ReplaceAllString(head, "")
	switch {
	case line == "":
		return head + kept
	case rest == "":
		return line + kept
	case rest == head: // no plain exit status: the executor's text says the cause
		return head + "; " + line + kept
	}
	return line + "; " + rest + kept
}

// mostTelling returns the last line of the output that names an exception, without the package of its class. It returns
// the last line if no line names one.
func mostTelling(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if found := exception.FindStringSubmatch(strings.TrimRight(lines[i], " \r")); found != nil {
			return found[1]
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}
