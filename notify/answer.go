package notify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
)

// This file decides whether the answer of a server over HTTP means that a message was taken, and if not, whether it
// was refused permanently. Its errors contain nothing of an answer but numbers.

// finalCodes are the codes with which robots refuse a message permanently: a wrong token, keyword, signature or
// address of the sender, a robot or group that is gone, and a message that they don't understand. All other codes,
// such as those for too many messages, are temporary.
var finalCodes = map[int]bool{
	// DingTalk
	300001: true, 300005: true, 310000: true, 400013: true, 400101: true, 400102: true, 400105: true, 400106: true,
	430101: true, 430102: true, 430103: true, 430104: true, 40035: true, 43004: true,
	// WeChat
	93000: true, 93004: true, 93008: true, 40001: true, 40008: true, 40014: true, 40058: true, 41001: true,
	42001: true, 44004: true, 45002: true,
	// Feishu
	9499: true, 19001: true, 19002: true, 19007: true, 19021: true, 19022: true, 19024: true,
}

// passingErrors are the errors of Slack that pass; all others are permanent.
var passingErrors = []string{"ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable",
	"request_timeout", "message_limit_exceeded"}

// checkStatus returns the error of an answer whose status is not 2xx. It is permanent for 4xx, except for 408 and 429,
// which ask to try again.
func checkStatus(who string, status int) error {
	if status >= 200 && status <= 299 {
		return nil
	}
	return &notifications.Error{Text: fmt.Sprintf("%s answers %d", who, status),
		Final: status >= 400 && status <= 499 && status != http.StatusRequestTimeout &&
			status != http.StatusTooManyRequests}
}

// refusedWith is the error of an answer with a code other than 0.
func refusedWith(who, field string, code int) error {
	return &notifications.Error{Text: fmt.Sprintf("%s refuses the message with %s %d: its documentation says what "+
		"that means", who, field, code), Final: finalCodes[code]}
}

// checkAnswer returns the error of an answer that has the status of a success, and says in its body that it is none.
// Slack answers a webhook with "ok"; of any other server only an object, or a text that clearly is an error, counts.
func checkAnswer(who, host string, body []byte) error {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
	says := func(what string) error {
		return &notifications.Error{Text: fmt.Sprintf("%s answers that it failed: %s", who, what)}
	}
	var object map[string]any
	if err := json.Unmarshal(body, &object); err != nil {
		var text string
		if json.Unmarshal(body, &text) != nil {
			text = string(body)
		}
		switch {
		case strings.HasSuffix(host, "slack.com") && !strings.EqualFold(text, "ok"):
			e := &notifications.Error{Text: who + ` does not answer "ok"`}
			e.Final = !slices.Contains(passingErrors, strings.ToLower(text))
			return e
		case isErrorText(text):
			return says("its text is an error")
		}
		return nil
	}
	fields := map[string]any{} // without regard to the case and to underscores
	for name, value := range object {
		fields[strings.ReplaceAll(strings.ToLower(name), "_", "")] = value
	}
	taken := fields["success"] == true || fields["ok"] == true
	for name, value := range fields {
		if text, ok := value.(string); ok && isSuccessText(text) {
			taken = taken || slices.Contains([]string{"status", "msg", "message", "errmsg", "statusmessage", "result"},
				name)
		}
	}
	for _, name := range []string{"errcode", "errorcode", "statuscode", "code"} {
		code, isNumber := number(fields[name])
		isStatus := (name == "code" || name == "statuscode") && code >= 200 && code <= 299
		if isNumber && code != 0 && !isStatus && !(name == "code" && taken) {
			return refusedWith(who, name, code)
		}
	}
	if refused := fields["ok"]; refused == false {
		e := says(`"ok" is false`).(*notifications.Error)
		if text, ok := fields["error"].(string); ok {
			e.Final = !slices.Contains(passingErrors, text)
		}
		return e
	}
	if isFalse(fields["success"]) {
		return says(`"success" is false`)
	}
	for _, name := range []string{"error", "errors"} {
		if !isNothing(fields[name]) {
			return says(fmt.Sprintf("it has %q", name))
		}
	}
	for _, name := range []string{"status", "result", "state"} {
		text, _ := fields[name].(string)
		code, isNumber := number(fields[name])
		if isErrorText(text) || isNumber && code >= 400 && code <= 599 {
			return says(fmt.Sprintf("%q is an error", name))
		}
	}
	return nil
}

// number returns the whole number that a value is, or contains as a text.
func number(value any) (n int, is bool) {
	switch v := value.(type) {
	case float64:
		return int(v), true
	case string:
		n, err := strconv.Atoi(v)
		return n, err == nil
	}
	return 0, false
}

func isFalse(value any) bool {
	text, _ := value.(string)
	return value == false || strings.EqualFold(text, "false")
}

// isNothing reports whether the value of a field for errors says that there are none.
func isNothing(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == "" || v == "0" || strings.EqualFold(v, "none") || strings.EqualFold(v, "null") || isFalse(v) ||
			isSuccessText(v)
	case float64:
		return v == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return value == false
}

func isSuccessText(text string) bool {
	return slices.Contains([]string{"ok", "success", "succeeded", "accepted", "no error"}, strings.ToLower(text))
}

// isErrorText reports whether a text is an error: it begins with a word for one, or is a short phrase with one, such as
// invalid_payload or "Webhook message delivery failed with error: …". Pages and long texts count as none.
func isErrorText(text string) bool {
	if len(text) > 500 || strings.HasPrefix(text, "<") {
		return false
	}
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) })
	for i, word := range words {
		bad := slices.Contains([]string{"error", "fail", "failed", "failure", "invalid", "denied", "forbidden",
			"unauthorized", "prohibited", "rejected", "refused"}, word)
		if bad && (i == 0 || !slices.Contains([]string{"no", "not", "without", "zero"}, words[i-1])) {
			return true
		}
	}
	return false
}
