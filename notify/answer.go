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

// This file decides whether an HTTP server has accepted a message, and if not, whether it has refused the message
// permanently. The errors contain no part of the server's answer but numbers.

// finalCodes are the codes with which robots refuse a message permanently. The causes are a wrong token, keyword,
// signature or address of the sender, a robot or group that no longer exists, and a message that the robot does not
// understand. All other codes, such as those for too many messages, are temporary.
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

// temporaryErrors are the temporary errors of Slack; all others are permanent.
var temporaryErrors = []string{"ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable",
	"request_timeout", "message_limit_exceeded"}

// checkStatus returns an error unless the status is 2xx. The error is permanent for 4xx, except for 408 and 429, which
// ask to try again.
func checkStatus(receiver string, status int) error {
	if status >= 200 && status <= 299 {
		return nil
	}
	asksToRetry := status == http.StatusRequestTimeout || status == http.StatusTooManyRequests
	return &notifications.Error{Text: fmt.Sprintf("%s answers %d", receiver, status),
		Final: status >= 400 && status <= 499 && !asksToRetry}
}

// refusedWith returns the error of an answer whose field has a code other than 0.
func refusedWith(receiver, field string, code int) error {
	return &notifications.Error{Text: fmt.Sprintf("%s refuses the message with %s %d: its documentation says what "+
		"that means", receiver, field, code), Final: finalCodes[code]}
}

// checkAnswer returns an error if the body of an answer with a 2xx status says that the message was not accepted.
// Slack accepts a message with the text "ok". For any other server, the body is an error only if it is a JSON object
// with a sign of failure, or a text that clearly is an error.
func checkAnswer(receiver, host string, body []byte) error {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
	failed := func(sign string) *notifications.Error {
		return &notifications.Error{Text: fmt.Sprintf("%s answers that it failed: %s", receiver, sign)}
	}
	var object map[string]any
	if err := json.Unmarshal(body, &object); err != nil {
		var text string
		if json.Unmarshal(body, &text) != nil {
			text = string(body)
		}
		switch {
		case strings.HasSuffix(host, "slack.com") && !strings.EqualFold(text, "ok"):
			return &notifications.Error{Text: receiver + ` does not answer "ok"`,
				Final: !slices.Contains(temporaryErrors, strings.ToLower(text))}
		case isErrorText(text):
			return failed("its text is an error")
		}
		return nil
	}
	return checkObject(receiver, object, failed)
}

// checkObject returns an error if an object of an answer has a sign of failure. Names of fields match without regard
// to case and underscores.
func checkObject(receiver string, object map[string]any, failed func(sign string) *notifications.Error) error {
	fields := map[string]any{}
	for name, value := range object {
		fields[strings.ReplaceAll(strings.ToLower(name), "_", "")] = value
	}
	accepted := fields["success"] == true || fields["ok"] == true
	for name, value := range fields {
		if text, ok := value.(string); ok && isSuccessText(text) {
			accepted = accepted ||
				slices.Contains([]string{"status", "msg", "message", "errmsg", "statusmessage", "result"}, name)
		}
	}
	for _, name := range []string{"errcode", "errorcode", "statuscode", "code"} {
		code, isNumber := number(fields[name])
		isStatus := (name == "code" || name == "statuscode") && code >= 200 && code <= 299
		// Some servers have a code for success, too: "code" counts only without another sign of success.
		if isNumber && code != 0 && !isStatus && !(name == "code" && accepted) {
			return refusedWith(receiver, name, code)
		}
	}
	if fields["ok"] == false {
		e := failed(`"ok" is false`)
		if text, ok := fields["error"].(string); ok { // as in Slack's answers
			e.Final = !slices.Contains(temporaryErrors, text)
		}
		return e
	}
	if isFalse(fields["success"]) {
		return failed(`"success" is false`)
	}
	for _, name := range []string{"error", "errors"} {
		if !saysNoError(fields[name]) {
			return failed(fmt.Sprintf("it has %q", name))
		}
	}
	for _, name := range []string{"status", "result", "state"} {
		text, _ := fields[name].(string)
		code, isNumber := number(fields[name])
		if isErrorText(text) || isNumber && code >= 400 && code <= 599 {
			return failed(fmt.Sprintf("%q is an error", name))
		}
	}
	return nil
}

// number returns the value as an integer, if it is a number or a text with an integer. It truncates fractions.
func number(value any) (n int, isNumber bool) {
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

// saysNoError reports whether the value of a field for errors means that there is no error.
func saysNoError(value any) bool {
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

// isErrorText reports whether a short text has a word for an error, such as invalid_payload or "Webhook message
// delivery failed with error: …", without a negation before it. It returns false for texts of more than 500 bytes and
// for pages of HTML.
func isErrorText(text string) bool {
	if len(text) > 500 || strings.HasPrefix(text, "<") {
		return false
	}
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) })
	for i, word := range words {
		isErrorWord := slices.Contains([]string{"error", "fail", "failed", "failure", "invalid", "denied", "forbidden",
			"unauthorized", "prohibited", "rejected", "refused"}, word)
		negated := i > 0 && slices.Contains([]string{"no", "not", "without", "zero"}, words[i-1])
		if isErrorWord && !negated {
			return true
		}
	}
	return false
}
