package app

import (
	"encoding/hex"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/secrets"
)

// CheckOptions are the inputs of Check besides the document.
type CheckOptions struct {
	// Reserved reports whether a name collides with a route of the API; nil reserves no name.
	Reserved func(name string) bool
	// AllowFile accepts file URLs. It is set if everything runs on one machine.
	AllowFile bool
	// PodTemplate returns the violations of a podTemplate. It is nil in a process that does not know the rules; the
	// server then checks the template.
	PodTemplate func(template []byte) document.Violations
	// NoContainers refuses container settings, because the cluster does not run each task in its own container.
	NoContainers bool
}

// Limits of resources. The maxima exceed any machine, and sums over 10,000 shards are still exact in thousandths.
const (
	MinCPUCount = 0.001
	MaxCPUCount = 1_000_000
	MinMemoryMB = 1
	MaxMemoryMB = 1_000_000_000
)

// Limits of texts in bytes. A program can't be started with an argument of 128 KiB or more.
const (
	MaxURLBytes     = 4 << 10
	MaxCommandBytes = 64 << 10
)

var namePattern = regexp.MustCompile(NamePattern)

// Check returns all violations of the document [D12].
func (c Config) Check(opts CheckOptions) document.Violations {
	bad := append(c.checkPlaceholders(), CheckName("appName", c.AppName, opts.Reserved)...)
	if c.AppURL != "" || c.Image == "" || opts.NoContainers {
		url := checkURL("appURL", c.AppURL, opts.AllowFile)
		if c.AppURL == "" && !opts.NoContainers {
			url = document.Violations{document.Violate("appURL", "",
				"is missing; say where the package is, such as http://host/my-job.tar.gz, or give an image that has the program")}
		}
		bad = append(bad, url...)
	}
	bad = append(bad, CheckCommand("bootstrapScript", c.BootstrapScript)...)
	bad = append(bad, CheckAmounts(c.CPUCount, c.MemoryMB)...)
	if c.EventTraceSamplingCount < 0 {
		bad = append(bad, document.Violate("eventTraceSamplingCount", strconv.Itoa(c.EventTraceSamplingCount),
			"must be 0 (all events) or more"))
	}
	if sum, err := hex.DecodeString(c.AppSHA256); c.AppSHA256 != "" && (err != nil || len(sum) != 32) {
		bad = append(bad, document.Violate("appSHA256", c.AppSHA256,
			"must be 64 hex digits, as sha256sum prints them, or empty"))
	}
	bad = append(bad, c.checkContainer(opts)...)
	return bad.And(Schema.CheckText(c))
}

// CheckName checks the name of an app or a job, which becomes part of paths and ids. It must match
// `[A-Za-z0-9][A-Za-z0-9._-]{0,99}`, and reserved must return false for it; a nil reserved reserves no name.
func CheckName(field, name string, reserved func(string) bool) document.Violations {
	switch {
	case name == "":
		return document.Violations{document.Violate(field, name, "is missing; give a name such as my-job")}
	case !namePattern.MatchString(name):
		return document.Violations{document.Violate(field, name,
			"must be 1 to 100 letters, digits, '.', '_' or '-', beginning with a letter or digit")}
	case reserved != nil && reserved(name):
		return document.Violations{document.Violate(field, name,
			"is reserved: a route of the API has this name; choose another")}
	}
	return nil
}

// CheckCommand checks the length of a command line, and that SplitCommand accepts it.
func CheckCommand(field, line string) document.Violations {
	if strings.TrimSpace(line) == "" {
		return document.Violations{document.Violate(field, line,
			"is missing; give the command to run, such as bin/start.sh")}
	}
	if len(line) > MaxCommandBytes {
		return document.Violations{document.Violate(field, line,
			"is longer than %d bytes; put it into a script of the package", MaxCommandBytes)}
	}
	if _, err := SplitCommand(line); err != nil {
		return document.Violations{document.Violate(field, line, "%s", err.Error())}
	}
	return nil
}

// CheckAmounts checks cpuCount and memoryMB.
func CheckAmounts(cpuCount, memoryMB float64) document.Violations {
	var bad document.Violations
	check := func(field string, value, low, high float64) {
		if !(value >= low && value <= high) { // refuses NaN too
			bad = append(bad, document.Violate(field, formatNumber(value), "must be from %s to %s", formatNumber(low),
				formatNumber(high)))
		}
	}
	check("cpuCount", cpuCount, MinCPUCount, MaxCPUCount)
	check("memoryMB", memoryMB, MinMemoryMB, MaxMemoryMB)
	return bad
}

// CheckCPULimit checks the cpuLimit of shards that request cpuCount; 0 is no limit.
func CheckCPULimit(limit, cpuCount float64) document.Violations {
	if limit == 0 || limit >= cpuCount && limit <= MaxCPUCount {
		return nil
	}
	return document.Violations{document.Violate("cpuLimit", formatNumber(limit),
		"must be 0, for no limit, or from cpuCount to %s", formatNumber(MaxCPUCount))}
}

// formatNumber formats a number without an exponent, unless it is very large.
func formatNumber(value float64) string {
	if value >= -1e15 && value <= 1e15 {
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}

// checkURL checks the URL of a package. allowFile accepts file URLs.
func checkURL(field, text string, allowFile bool) document.Violations {
	violation := func(format string, args ...any) document.Violations {
		return document.Violations{document.Violate(field, maskUser(text), format, args...)}
	}
	if text == "" {
		return violation("is missing; say where the package is, such as http://host/my-job.tar.gz")
	}
	if len(text) > MaxURLBytes {
		return violation("is longer than %d bytes", MaxURLBytes)
	}
	u, err := url.Parse(text)
	if err != nil {
		return violation("is not a URL; it should look like http://host/my-job.tar.gz")
	}
	switch u.Scheme {
	case "http", "https":
	case "file":
		switch {
		case !allowFile:
			return violation("file URLs work on one machine only (--local), agents can't see your files; use http or https")
		case u.User != nil || u.Host != "" && u.Host != "localhost" || !strings.HasPrefix(u.Path, "/"):
			return violation("must name a file on this machine by its whole path, such as file:///srv/my-job.tar.gz")
		}
		return nil
	case "ftp":
		return violation("ftp is not supported; serve the package over http or https")
	case "":
		if allowFile && strings.HasPrefix(text, "/") {
			fileURL := url.URL{Scheme: "file", Path: text}
			return violation("must be a URL: %s for this file, or such as http://host/my-job.tar.gz", fileURL.String())
		}
		return violation("must be a URL, such as http://host/my-job.tar.gz")
	default:
		return violation("scheme %q is not supported; use http or https", u.Scheme)
	}
	if u.User != nil {
		return violation("must not hold a user or password: everyone who may see the app would see them; " +
			"use a URL that needs none, or one that is signed")
	}
	if u.Hostname() == "" {
		return violation("must name a host; it should look like %s://host/my-job.tar.gz", u.Scheme)
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return violation("port %s must be from 1 to 65535", port)
		}
	}
	return nil
}

// maskUser replaces everything before the last @ of a text that should be a URL, except its scheme, because it may be
// credentials. The text may be malformed.
func maskUser(text string) string {
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return text
	}
	scheme, _, found := strings.Cut(text[:at], "//")
	if !found {
		return secrets.Hidden + text[at:]
	}
	return scheme + "//" + secrets.Hidden + text[at:]
}
