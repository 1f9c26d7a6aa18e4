package jobs

import (
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/elasticjob-go/elasticjob/app"
)

// isHeaderValue accepts every value without control characters that is not empty. Its message never contains the
// value, which may be a secret.
func isHeaderValue(value string) string {
	if len(value) > 16<<10 {
		return "must be at most 16 KiB"
	}
	return isLine(value)
}

// isProxy accepts the URL of a proxy, and the word environment.
func isProxy(value string) string {
	if wrong := isURL(value); wrong != "" && value != "environment" {
		return "must be the URL of a proxy, such as http://proxy.example.com:3128, without a user, or environment " +
			"for the HTTP_PROXY, HTTPS_PROXY and NO_PROXY of the executor"
	}
	return ""
}

func isAny(string) string { return "" }

func isCommand(value string) string {
	if bad := app.CheckCommand("", value); len(bad) > 0 {
		return bad[0].Message
	}
	return ""
}

// isAnyLine accepts a text without control characters; it may be empty.
func isAnyLine(value string) string {
	if strings.ContainsFunc(value, unicode.IsControl) {
		return "must not hold line breaks or other control characters"
	}
	return ""
}

// isLine accepts a text without control characters that is not blank.
func isLine(value string) string {
	if strings.TrimSpace(value) == "" {
		return "is empty; give a value, or leave it out"
	}
	return isAnyLine(value)
}

func isBool(value string) string {
	if !strings.EqualFold(value, "true") && !strings.EqualFold(value, "false") {
		return "must be true or false"
	}
	return ""
}

func isMethod(value string) string {
	if !slices.Contains(methods, strings.ToUpper(value)) {
		return "must be one of " + strings.Join(methods, ", ")
	}
	return ""
}

// upTo returns the rule for whole numbers from 1 to limit.
func upTo(limit int) func(string) string {
	return func(value string) string {
		if n, err := strconv.Atoi(value); err != nil || n < 1 || n > limit {
			return fmt.Sprintf("should be integer, from 1 to %d", limit)
		}
		return ""
	}
}

func isHost(value string) string {
	if wrong := isLine(value); wrong != "" {
		return wrong
	}
	if strings.ContainsAny(value, " /@?#") || strings.Count(value, ":") == 1 {
		return "must be the name or address of a host, without a port or a scheme"
	}
	return ""
}

func isURL(value string) string {
	if wrong := isLine(value); wrong != "" {
		return wrong
	}
	u, err := url.Parse(value)
	switch {
	case len(value) > app.MaxURLBytes:
		return fmt.Sprintf("is longer than %d bytes", app.MaxURLBytes)
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "must be a whole http or https URL, such as https://host/path"
	case u.User != nil:
		return "must not hold a user or password: everyone who may see the job would see them"
	}
	if port := u.Port(); port != "" {
		if wrong := upTo(65535)(port); wrong != "" {
			return fmt.Sprintf("its port, %s, %s", port, wrong)
		}
	}
	return ""
}

func isAddress(value string) string {
	if wrong := isLine(value); wrong != "" {
		return wrong
	}
	if _, err := mail.ParseAddress(value); err != nil {
		return "must be a mail address, such as ops@example.com"
	}
	return ""
}

func isAddresses(value string) string {
	if wrong := isLine(value); wrong != "" {
		return wrong
	}
	if _, err := mail.ParseAddressList(value); err != nil {
		return "must be mail addresses with commas between them, such as ops@example.com,me@example.com"
	}
	return ""
}
