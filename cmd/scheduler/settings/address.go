package settings

import (
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
)

// checkServers validates the form host:port,…[/chroot].
func checkServers(text string) error {
	servers, chroot, _ := strings.Cut(text, "/")
	switch {
	case strings.Contains(text, "://"):
		return fmt.Errorf("%q: must be host:port,host:port[/chroot], without a scheme", hidePassword(text))
	case strings.Contains(text, "@"):
		return fmt.Errorf("%q: must not have user and password: write them to a file, and name it with --zk-digest-file", "(hidden)"+text[strings.LastIndexByte(text, '@'):])
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
		if err := isPort(port); err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
	}
	return nil
}

// inURL matches the user and password in an address, up to the last @, because a password may contain an @ and
// slashes.
var inURL = regexp.MustCompile(`://.*@`)

// hidePassword replaces users and passwords in addresses.
func hidePassword(text string) string { return inURL.ReplaceAllString(text, "://(hidden)@") }

func isPort(text string) error {
	if n, err := strconv.Atoi(text); err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("%q is not a port: must be 1 to 65535", text)
	}
	return nil
}
