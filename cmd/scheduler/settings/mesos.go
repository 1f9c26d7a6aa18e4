package settings

import (
	"crypto/tls"
	"os"
	"os/user"
	"strings"

	"github.com/elasticjob-go/elasticjob/cluster/mesos"
	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/internal/wire/mesostls"
)

// Mesos are the settings of a Mesos cluster.
type Mesos struct {
	// Masters are the addresses of the masters, zk://… or http(s)://…. It is empty if jobs do not run on Mesos.
	Masters string
	// Role and Principal are the role and the principal of the framework.
	Role, Principal string
	Credentials     *mesos.Credentials
	TLS             *tls.Config
	// ExecutorCA is the value of agent.CAVariable for executors: the certificates with which an executor verifies its
	// agent, or agent.SystemCA. It is empty without TLS.
	ExecutorCA string

	user                                       string
	credentialsFile, caFile, certFile, keyFile string
}

// User returns the user of the executors. The description of each executor contains it, because Mesos does not change
// the user of a framework after the framework has registered.
func (m *Mesos) User() string {
	if m.user != "" {
		return m.user
	}
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}

// Options returns the options for connections to the cluster.
func (m *Mesos) Options() mesos.Options {
	o := mesos.Options{Masters: []string{m.Masters}, Credentials: m.Credentials, TLS: m.TLS}
	if !strings.HasPrefix(m.Masters, "zk://") {
		o.Masters = strings.Split(m.Masters, ",")
	}
	return o
}

// check checks the settings of --mesos and reads the files that they name. It does not connect to the cluster.
func (m *Mesos) check(r *report) {
	if m.credentialsFile != "" {
		found, err := mesos.ReadCredentials(m.credentialsFile)
		switch {
		case err != nil:
			r.Add("%s: %w", r.source("mesos-credentials-file"), err)
		case m.Principal != "" && m.Principal != found.User:
			r.Add("%s is %q, but the credentials are those of the principal %q: leave %[1]s out",
				r.source("mesos-principal"), m.Principal, found.User)
		default:
			m.Credentials, m.Principal = found, found.User
			if w := found.Warning(); w != "" {
				r.note("%s", w)
			}
		}
	}
	m.checkTLS(r)
	if m.Masters != "" {
		_, err := mesos.New(m.Options())
		r.About(r.source("mesos"), err)
	}
}

// checkTLS reads the certificates for TLS with the cluster.
func (m *Mesos) checkTLS(r *report) {
	switch {
	case (m.certFile == "") != (m.keyFile == ""):
		r.Add("--mesos-cert-file and --mesos-key-file belong together: a certificate does nothing without its key")
		return
	case m.caFile == "" && m.certFile != "":
		r.Add("%s has no effect without --mesos-ca-file, which says that the cluster speaks TLS",
			r.source("mesos-cert-file"))
		return
	case m.caFile == "":
		return
	}
	source := r.source("mesos-ca-file")
	config, err := mesos.LoadTLS(mesos.TLSFiles{CA: m.caFile})
	if err == nil && m.certFile != "" {
		source = r.source("mesos-cert-file") + " and " + r.source("mesos-key-file")
		config, err = mesos.LoadTLS(mesos.TLSFiles{CA: m.caFile, Cert: m.certFile, Key: m.keyFile})
	}
	if err != nil {
		r.About(source, err)
		return
	}
	if info, err := os.Stat(m.keyFile); err == nil && info.Mode().Perm()&0o077 != 0 { // Stat fails if there is no key
		r.note("others can read %s, which holds a private key: chmod 600 %s", m.keyFile, m.keyFile)
	}
	m.TLS = config
	m.ExecutorCA, err = executorCA(m.caFile)
	r.About(r.source("mesos-ca-file"), err)
	if m.ExecutorCA == agent.SystemCA {
		r.note("%s is too large to be handed to executors (more than %d KB): they check their agent with the CAs of their own machine and its LIBPROCESS_SSL_CA_FILE; "+
			"a file with nothing but the cluster's CA would do", m.caFile, maxCA>>10)
	}
}

// maxCA is the maximum size of the certificates in the description of an executor, in bytes.
const maxCA = 16 << 10

// executorCA returns the certificates in a CA file, or agent.SystemCA if they are larger than maxCA.
func executorCA(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	certificates, err := mesostls.Certificates(text)
	if len(certificates) > maxCA {
		return agent.SystemCA, nil
	}
	return string(certificates), err
}
