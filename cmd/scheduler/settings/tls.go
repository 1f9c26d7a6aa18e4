package settings

import (
	"net"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/api/certificate"
)

// TLS are the settings of TLS for the API.
type TLS struct {
	Files certificate.Files
	// Certificate is the certificate in the files; nil without --tls-cert.
	Certificate *certificate.Keeper
}

func (t *TLS) flags(f *pflag.FlagSet) {
	f.StringVar(&t.Files.Cert, "tls-cert", "",
		"PEM file of this server's certificate and its issuers': the API is then https only, with clients and between servers. Reloaded when it changes")
	f.StringVar(&t.Files.Key, "tls-key", "",
		"with --tls-cert: PEM file of the certificate's private key, readable by its owner only")
	f.StringVar(&t.Files.CA, "tls-ca", "",
		"with --tls-cert: PEM file of the certificates trusted for the other servers, in addition to the system's (default: those of --tls-cert)")
}

// check opens the certificate. It adds notes about problems of clients that reach this server at the address.
func (t *TLS) check(r *report, address string) {
	files := t.Files
	if files.Cert == "" && files.Key == "" {
		r.require(false, "--tls-cert and --tls-key", "tls-ca")
		return
	}
	if files.Cert == "" || files.Key == "" {
		r.Add("--tls-cert and --tls-key belong together: a certificate does nothing without its key")
		return
	}
	var err error
	if t.Certificate, err = certificate.Open(files, time.Now); err != nil {
		r.About(r.source("tls-cert"), err)
		return
	}
	if w := t.Certificate.Warning(); w != "" {
		r.note("%s", w)
	}
	if host, _, err := net.SplitHostPort(address); err == nil && host != "" {
		if err := t.Certificate.VerifyHost(host); err != nil {
			r.note("clients and other servers that reach this server as %s will not accept its certificate: %v", host,
				strings.TrimPrefix(err.Error(), "x509: "))
		}
	}
}
