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
	// Reserved reports names that collide with routes of the API; nil reserves none.
	Reserved func(name string) bool
	// AllowFile accepts file URLs. It is set if everything runs on one machine.
	AllowFile bool
	// PodTemplate returns the violations of a podTemplate. It is nil if this process does not know the rules, and the
	// server checks them instead.
	PodTemplate func(template []byte) document.Violations
	// NoContainers refuses settings of containers, because the cluster does not run each task in a container of its
	// own.
	NoContainers bool
}

// Limits of resources. They exceed any machine, and their sums over 10,000 shards are still exact in thousandths.
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

// CheckName checks the name of an app or a job: `[A-Za-z0-9][A-Za-z0-9._-]{0,99}` and not reserved, because it becomes
// part of paths and ids. A nil reserved reserves none.
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

// CheckCommand checks a command line by the rules of SplitCommand.
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
			bad = append(bad, document.Violate(field, number(value), "must be from %s to %s", number(low),
				number(high)))
		}
	}
	check("cpuCount", cpuCount, MinCPUCount, MaxCPUCount)
	check("memoryMB", memoryMB, MinMemoryMB, MaxMemoryMB)
	return bad
}

// CheckCPULimit checks a limit for shards that request cpuCount; 0 is no limit.
func CheckCPULimit(limit, cpuCount float64) document.Violations {
	if limit == 0 || limit >= cpuCount && limit <= MaxCPUCount {
		return nil
	}
	return document.Violations{document.Violate("cpuLimit", number(limit), "must be 0, for no limit, or from cpuCount to %s",
		number(MaxCPUCount))}
}

func number(value float64) string {
	if value >= -1e15 && value <= 1e15 {
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}

func checkURL(field, text string, allowFile bool) document.Violations {
	wrong := func(format string, args ...any) document.Violations {
		return document.Violations{document.Violate(field, maskUser(text), format, args...)}
	}
	if text == "" {
		return wrong("is missing; say where the package is, such as http://host/my-job.tar.gz")
	}
	if len(text) > MaxURLBytes {
		return wrong("is longer than %d bytes", MaxURLBytes)
	}
	u, err := url.Parse(text)
	if err != nil {
		return wrong("is not a URL; it should look like http://host/my-job.tar.gz")
	}
	switch u.Scheme {
	case "http", "https":
	case "file":
		switch {
		case !allowFile:
			return wrong("file URLs work on one machine only (--local), agents can't see your files; use http or https")
		case u.User != nil || u.Host != "" && u.Host != "localhost" || !strings.HasPrefix(u.Path, "/"):
			return wrong("must name a file on this machine by its whole path, such as file:///srv/my-job.tar.gz")
		}
		return nil
	case "ftp":
		return wrong("ftp is not supported; serve the package over http or https")
	case "":
		if allowFile && strings.HasPrefix(text, "/") {
			return wrong("must be a URL: %s for this file, or such as http://host/my-job.tar.gz", (&url.URL{Scheme: "file", Path: text}).String())
		}
		return wrong("must be a URL, such as http://host/my-job.tar.gz")
	default:
		return wrong("scheme %q is not supported; use http or https", u.Scheme)
	}
	if u.User != nil {
		return wrong("must not hold a user or password: everyone who may see the app would see them; use a URL that needs none, or one that is signed")
	}
	if u.Hostname() == "" {
		return wrong("must name a host; it should look like %s://host/my-job.tar.gz", u.Scheme)
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return wrong("port %s must be from 1 to 65535", port)
		}
	}
	return nil
}

// maskUser removes possible credentials from a text that should be a URL, however malformed it is.
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
