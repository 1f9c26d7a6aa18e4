package mesos

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/zookeeper"
)

const zkScheme = "zk://"

// zkAddress is the ZooKeeper path at which masters elect their leader: zk://[user:password@]host:port,…/path.
type zkAddress struct {
	servers []string
	path    string
	// credentials is "user:password" for ZooKeeper's digest scheme; empty for none.
	credentials string
}

// String omits the credentials.
func (a *zkAddress) String() string { return zkScheme + strings.Join(a.servers, ",") + a.path }

// parseAddresses parses Options.Masters. It returns either urls or zk. With tls, it rejects addresses of masters
// without https.
func parseAddresses(masters []string, tls bool) (urls []*url.URL, zk *zkAddress, err error) {
	if len(masters) == 0 {
		return nil, nil, errors.New("no Mesos master given: name them as zk://host:port,…/mesos or http://host:port")
	}
	if strings.HasPrefix(masters[0], zkScheme) {
		// Splitting a list of flags may have cut the address at its own commas.
		zk, err = parseZK(strings.Join(masters, ","))
		return nil, zk, err
	}
	for _, m := range masters {
		u, err := baseURL(m)
		if err != nil {
			return nil, nil, fmt.Errorf("address of a Mesos master: %w or zk://host:port/mesos", err)
		}
		if tls && u.Scheme != "https" {
			return nil, nil, fmt.Errorf("address of a Mesos master: %q is not https, but a CA is given for it", m)
		}
		u.Path = schedulerPath
		urls = append(urls, u)
	}
	return urls, nil, nil
}

// baseURL parses an address of the form "http://host:port" or "https://host:port". Its errors contain no password.
func baseURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		u = &url.URL{} // url's own error repeats the whole text, password included
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || strings.Trim(u.Path, "/") != "" ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is not of the form http://host:port", withoutUser(address))
	}
	return u, nil
}

// withoutUser hides the user and password of an address: the text before the last @, except for the scheme.
func withoutUser(address string) string {
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return address
	}
	scheme, _, found := strings.Cut(address, "://")
	if !found || strings.Contains(scheme, "@") {
		return "(hidden)" + address[at:]
	}
	return scheme + "://(hidden)" + address[at:]
}

// parseZK parses an address in the form of Mesos' own flag --zk. Its errors contain no credentials.
func parseZK(address string) (*zkAddress, error) {
	rest := strings.TrimPrefix(address, zkScheme)
	var a zkAddress
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		a.credentials, rest = rest[:at], rest[at+1:]
		if user, password, ok := strings.Cut(a.credentials, ":"); !ok || user == "" || password == "" {
			return nil, errors.New("address of the Mesos masters: the part before the @ must be user:password, as in zk://user:password@host:port/mesos")
		}
	}
	hosts, path, _ := strings.Cut(rest, "/")
	a.path = "/" + strings.Trim(path, "/")
	fail := func(mistake string) (*zkAddress, error) {
		return nil, fmt.Errorf("address of the Mesos masters: %s in %q: write zk://host:port,host:port/mesos", mistake,
			zkScheme+rest)
	}
	if a.path == "/" {
		return fail("no path")
	}
	if strings.Contains(a.path, "//") || strings.ContainsAny(a.path, ", \t:") {
		return fail("a bad path")
	}
	var err error
	if a.servers, err = zookeeper.ParseServers(hosts); err != nil || strings.ContainsAny(hosts, " \t") {
		return fail("a bad server")
	}
	return &a, nil
}
