package main

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/elasticjob-go/elasticjob/client"
	"github.com/elasticjob-go/elasticjob/internal/reason"
)

var (
	// outputEnd and keptFolder match the parts of an executor's text about the end of a process, which has no arguments.
	outputEnd  = regexp.MustCompile(`(?:^|; )end of std(?:err|out):\s`)
	keptFolder = regexp.MustCompile(`; (its working directory is kept on the agent: [^;\n]*)`)
	// plainExit matches a description of an exit that the exception in the output makes superfluous.
	plainExit = regexp.MustCompile(`^exit status \d+(?:; |$)`)
	// exception matches the line of an exception, whose class begins at the group.
	exception = regexp.MustCompile(`^[\s|+]*(?:Caused by: |Exception in thread ".*?" |Uncaught )?(?:[\w$]+\.)*` +
		`([\w$]*(?:Exception|Error|Throwable)(?:[: (].*)?)$`)
)

// shortReason returns the reason of a run in an order that suits a narrow column: first the exception or the last line
// of the output, with its shard, and at the end what matters least. The number of failed shards is left out.
func shortReason(why client.Why) string {
	item, cause := "", why.ReasonArgs
	switch why.ReasonCode {
	case "shards_failed", "shards_killed":
		nested, ok := cause["cause"].(map[string]any)
		number, isText := cause["item"].(string)
		if !ok || !isText {
			return why.Reason
		}
		words := wordsOf(nested)
		if words == "" {
			return why.Reason
		}
		if item = "item " + number + ": "; cause["shards"] == "1" {
			item = ""
		}
		return item + causeFirst(words)
	}
	return causeFirst(why.Reason)
}

// wordsOf returns the words of a nested reason; "" if this release does not know it.
func wordsOf(nested map[string]any) string {
	data, err := json.Marshal(nested)
	if err != nil {
		return ""
	}
	var r reason.Reason
	if err := json.Unmarshal(data, &r); err != nil {
		return ""
	}
	return r.String()
}

// causeFirst moves the part of a text that says most about a failure to its beginning.
func causeFirst(text string) string {
	kept := ""
	if at := keptFolder.FindStringSubmatchIndex(text); at != nil {
		kept = "; " + text[at[2]:at[3]]
		text = text[:at[0]] + text[at[1]:]
	}
	at := outputEnd.FindStringIndex(text)
	if at == nil {
		return text + kept
	}
	head, line := text[:at[0]], mostTelling(text[at[1]:])
	rest := plainExit.ReplaceAllString(head, "")
	switch {
	case line == "":
		return head + kept
	case rest == "":
		return line + kept
	case rest == head: // not a plain exit status: it says why itself
		return head + "; " + line + kept
	}
	return line + "; " + rest + kept
}

// mostTelling returns the last line of an output that names an exception, without the package of its class, or else its
// last line.
func mostTelling(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if found := exception.FindStringSubmatch(strings.TrimRight(lines[i], " \r")); found != nil {
			return found[1]
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}
