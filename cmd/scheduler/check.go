package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/cluster/mesos"
	"github.com/elasticjob-go/elasticjob/executor"
	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/internal/wire/mesostls"
)

// mostJobMetrics is as many jobs as a cluster is made for.
const mostJobMetrics = 100_000

// complaints collect what is wrong.
type complaints []error

func (b *complaints) add(format string, args ...any) { *b = append(*b, fmt.Errorf(format, args...)) }

// unless adds a complaint where something does not hold.
func (b *complaints) unless(ok bool, format string, args ...any) {
	if !ok {
		b.add(format, args...)
	}
}

// about adds what is wrong with something, if anything is.
func (b *complaints) about(what string, err error) {
	if err != nil {
		b.add("%s: %w", what, err)
	}
}

// checkMachine refuses less than a machine or an agent can use, and more than any has, which would not be exact in
// thousandths. NaN is in no range.
func (b *complaints) checkMachine(flags string, cpus, memory float64) {
	plain := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	b.unless(cpus >= 0.01 && cpus <= 1_000_000, "%scpus %s: want 0.01 to 1,000,000", flags, plain(cpus))
	b.unless(memory >= 32 && memory <= 1_000_000_000, "%smemory %s: want 32 to 1,000,000,000 (MB)", flags,
		plain(memory))
}

// check refuses what is wrong or contradicts, all of it at once, and reads the
// files of secrets.
func (s *settings) check() error {
	var bad complaints
	s.checkPlace(&bad)
	s.checkMesos(&bad)
	s.checkKubernetes(&bad)
	s.checkZooKeeper(&bad)
	s.checkRegistry(&bad)
	s.checkAddresses(&bad)
	s.checkCertificate(&bad)
	s.checkOpenID(&bad)
	s.checkHistory(&bad)
	s.checkIsolation(&bad)
	s.config.checkRest(&bad)
	return errors.Join(bad...)
}

// said is where a flag's value was given.
func (s *settings) said(flag string) string { return cmp.Or(s.sources[flag], "--"+flag) }

// checkPlace: where jobs run, and what goes only with that.
func (s *settings) checkPlace(bad *complaints) {
	c := s.config
	switch {
	case c.local && c.mesos != "":
		bad.add("%s and %s contradict each other: --local brings a cluster of its own", s.said("local"),
			s.said("mesos"))
	case !c.local && c.mesos == "" && !c.kubernetes.on && !s.refused: // else the file may have said it
		bad.add("say where jobs are to run: --local for this machine, --kubernetes, or --mesos zk://host:2181/mesos or http://host:5050 for a cluster")
	}
	bad.unless(!c.local || c.zk == "",
		"%s and %s contradict each other: on one machine the state is kept in a file, and there is no election",
		s.said("local"), s.said("zk"))
	needs := func(present bool, what string, flags ...string) {
		for _, flag := range flags {
			bad.unless(present || s.sources[flag] == "", "%s has no effect without %s", s.said(flag), what)
		}
	}
	needs(c.mesos != "" || c.configFile != "", "--mesos", "mesos-role", "mesos-user")
	needs(c.mesos != "", "--mesos", "mesos-credentials-file", "mesos-ca-file", "mesos-cert-file", "mesos-key-file",
		"mesos-principal")
	needs(c.zk != "" || c.configFile != "", "--zk", "zk-namespace")
	needs(c.zk != "", "--zk", "zk-session-timeout", "zk-digest-file")
	needs(c.registry.db != "" || c.registry.file != "", "--registry", "registry-lease")
	needs(c.local || c.db != "" || c.dbFile != "", "--db-file", "history-days", "history-rows", "history-outbox-mb")
	needs(c.local, "--local", "hide-data", "local-cpus", "local-memory", "give-up-executors")
}

func (s *settings) checkMesos(bad *complaints) {
	c := s.config
	if c.mesosFiles.credentials != "" {
		found, err := mesos.ReadCredentials(c.mesosFiles.credentials)
		switch {
		case err != nil:
			bad.add("%s: %w", s.said("mesos-credentials-file"), err)
		case c.principal != "" && c.principal != found.User:
			bad.add("%s says %q, and the credentials are of the principal %q: leave the former out",
				s.said("mesos-principal"), c.principal, found.User)
		default:
			c.credentials, c.principal = found, found.User
			if w := found.Warning(); w != "" {
				s.note("%s", w)
			}
		}
	}
	s.checkTLS(bad)
	if c.mesos != "" {
		_, err := mesos.New(c.mesosOptions())
		bad.about(s.said("mesos"), err)
	}
}

// checkTLS reads what TLS with the cluster takes.
func (s *settings) checkTLS(bad *complaints) {
	c := s.config
	files := c.mesosFiles
	switch {
	case (files.cert == "") != (files.key == ""):
		bad.add("--mesos-cert-file and --mesos-key-file belong together: a certificate does nothing without its key")
		return
	case files.ca == "" && files.cert != "":
		bad.add("%s has no effect without --mesos-ca-file, which says that the cluster speaks TLS",
			s.said("mesos-cert-file"))
		return
	case files.ca == "":
		return
	}
	where := s.said("mesos-ca-file")
	found, err := mesos.LoadTLS(mesos.TLSFiles{CA: files.ca})
	if err == nil && files.cert != "" {
		where = s.said("mesos-cert-file") + " and " + s.said("mesos-key-file")
		found, err = mesos.LoadTLS(mesos.TLSFiles{CA: files.ca, Cert: files.cert, Key: files.key})
	}
	if err != nil {
		bad.about(where, err)
		return
	}
	if info, err := os.Stat(files.key); err == nil && info.Mode().Perm()&0o077 != 0 { // none without a key
		s.note("others can read %s, which holds a private key: chmod 600 %s", files.key, files.key)
	}
	c.tls = found
	c.executorCA, err = executorCA(files.ca)
	bad.about(s.said("mesos-ca-file"), err)
	if c.executorCA == agent.SystemCA {
		s.note("%s is too large to be handed to executors (more than %d KB): they check their agent with the CAs of their own machine and its LIBPROCESS_SSL_CA_FILE; "+
			"a file with nothing but the cluster's CA would do", files.ca, mostCA>>10)
	}
}

// mostCA is what each executor's description may hold of certificates.
const mostCA = 16 << 10

// executorCA is a CA file as executors get it.
func executorCA(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	certificates, err := mesostls.Certificates(text)
	if len(certificates) > mostCA {
		return agent.SystemCA, nil
	}
	return string(certificates), err
}

// mesosOptions are how to reach --mesos.
func (c *config) mesosOptions() mesos.Options {
	o := mesos.Options{Masters: []string{c.mesos}, Credentials: c.credentials, TLS: c.tls}
	if !strings.HasPrefix(c.mesos, "zk://") {
		o.Masters = strings.Split(c.mesos, ",")
	}
	return o
}

func (s *settings) checkZooKeeper(bad *complaints) {
	c := s.config
	if c.zkDigestFile != "" {
		c.zkDigest = s.readSecret(bad, "zk-digest-file", c.zkDigestFile)
	}
	user, password, _ := strings.Cut(string(c.zkDigest), ":")
	bad.unless(c.zkDigest == "" || user != "" && password != "", "%s: want user:password", s.said("zk-digest-file"))
	if c.zk == "" {
		return
	}
	bad.about(s.said("zk"), checkServers(c.zk))
	name := strings.Trim(c.zkNamespace, "/")
	bad.unless(name != "" && !strings.Contains(name, "//"),
		"%s %q: want the path of a node, such as elasticjob-cloud", s.said("zk-namespace"), c.zkNamespace)
	bad.unless(c.zkTimeout >= time.Second && c.zkTimeout <= 5*time.Minute, "%s %s: want 1s to 5m",
		s.said("zk-session-timeout"), c.zkTimeout)
}

// checkServers says what is wrong with host:port,…[/chroot].
func checkServers(text string) error {
	servers, chroot, _ := strings.Cut(text, "/")
	switch {
	case strings.Contains(text, "://"):
		return fmt.Errorf("%q: want host:port,host:port[/chroot], without a scheme", hidePassword(text))
	case strings.Contains(text, "@"):
		return fmt.Errorf("%q: user and password have no place here: write them to a file, and name it with --zk-digest-file", "(hidden)"+text[strings.LastIndexByte(text, '@'):])
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
			return fmt.Errorf("%q: %q names no host", text, server)
		}
		if err := isPort(port); err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
	}
	return nil
}

func (s *settings) readSecret(bad *complaints, flag, path string) secret {
	found, err := readSecret(path)
	bad.about(s.said(flag), err)
	return found
}

// safeToken is the length of a token, in characters, from which on it is not warned of.
const safeToken = 16

// checkAddresses: who may connect, and where others find us.
func (s *settings) checkAddresses(bad *complaints) {
	c := s.config
	if c.tokenFile != "" {
		c.token = s.readSecret(bad, "api-token-file", c.tokenFile)
		if c.token != "" && len(c.token) < safeToken {
			s.note("the token in %s has fewer than %d characters, and can be guessed: openssl rand -hex 32 makes a better one", c.tokenFile, safeToken)
		}
	}
	bad.about(s.said("listen"), api.CheckListen(c.listen))
	if c.advertise != "" {
		host, port, err := net.SplitHostPort(c.advertise)
		if err == nil && host == "" {
			err = errors.New("it names no host")
		}
		if err == nil && net.ParseIP(host).IsUnspecified() {
			err = fmt.Errorf("%s stands for all addresses of a machine and can't be connected to; write the one that others reach", host)
		}
		if err == nil {
			err = isPort(port)
		}
		bad.about(fmt.Sprintf("%s %q: want host:port at which others find this server", s.said("advertise"),
			c.advertise), err)
		return
	}
	if host, _, err := net.SplitHostPort(c.listen); err == nil && (host == "" || net.ParseIP(host).IsUnspecified()) {
		bad.add("%s %q listens on all addresses: add --advertise HOST:PORT, the one at which agents and other servers find this server", s.said("listen"), c.listen)
	}
}

func (c *config) checkRest(bad *complaints) {
	if c.local {
		bad.checkMachine("--local-", c.localCPUs, c.localMemory)
	}
	if c.dataDir == "" {
		bad.add("--data-dir: no home folder is known here; name a folder")
	} else if err := checkFolder(c.dataDir); err != nil {
		bad.add("--data-dir %s: %w; name another folder", c.dataDir, err)
	}
	bad.about("--login-lifetime", auth.CheckLoginLifetime(c.loginLifetime))
	bad.unless(c.executorIdle >= 0, "--executor-idle %s: want 0s or more", c.executorIdle)
	bad.unless(c.killGrace >= 0, "--kill-grace %s: want 0s or more", c.killGrace)
	bad.unless(c.reconcile >= time.Minute && c.reconcile <= 24*time.Hour, "--reconcile-interval %s: want 1m to 24h",
		c.reconcile)
	bad.unless(c.jobMetrics >= 0 && c.jobMetrics <= mostJobMetrics, "--job-metrics %d: want 0 to %d", c.jobMetrics,
		mostJobMetrics)
	checkSize := func(flag string, size byteSize) {
		bad.unless(size >= 1<<20 && size <= 1<<40, "%s %s: want 1MiB to 1024GiB", flag, &size)
	}
	checkSize("--documents-limit", c.documents.all)
	checkSize("--documents-per-app-limit", c.documents.perApp)
	for _, limit := range c.executorLimits {
		bad.about(fmt.Sprintf("--executor-limit %q", limit), new(executor.Config).Limit(limit))
	}
	_, err := time.LoadLocation(c.timeZone)
	bad.unless(err == nil, "--time-zone %q: no such zone; use an IANA name such as Europe/Berlin, or Local",
		c.timeZone)
	c.log.check(bad)
}
