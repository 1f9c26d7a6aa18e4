package settings

import (
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
)

// checkServers returns an error unless the text has the form host:port,…[/chroot].
func checkServers(text string) error {
	servers, chroot, _ := strings.Cut(text, "/")
	switch {
	case strings.Contains(text, "://"):
		return fmt.Errorf("%q: must be host:port,host:port[/chroot], without a scheme", hidePassword(text))
	case strings.Contains(text, "@"):
		return fmt.Errorf("%q: must not have user and password: write them to a file, and name it with --zk-digest-file",
			"(hidden)"+text[strings.LastIndexByte(text, '@'):])
	case strings.Contains(chroot, "//") || strings.HasSuffix(chroot, "/"):
		return fmt.Errorf("%q: the chroot /%s has an empty part", text, chroot)
	}
	for server := range strings.SplitSeq(servers, ",") {
		host, port := server, "2181"
		if strings.Contains(server, ":") {
			var err error
			if host, port, err = net.SplitHostPort(server); err != nil {
				return fmt.Errorf("%q: %q is not host:port", text, server)
			}
		}
		if host == "" || strings.ContainsAny(host, " \t") {
			return fmt.Errorf("%q: %q has no host", text, server)
		}
		if err := checkPort(port); err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
	}
	return nil
}

// credentialsInURL matches the user and the password in a URL. It matches up to the last @, because a password may
// contain an @ and slashes.
var credentialsInURL = regexp.MustCompile(`://.*@`)

// hidePassword replaces the users and passwords in URLs.
func hidePassword(text string) string { return credentialsInURL.ReplaceAllString(text, "://(hidden)@") }

func checkPort(text string) error {
	if n, err := strconv.Atoi(text); err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("%q is not a port: must be 1 to 65535", text)
	}
	return nil
}
