package settings

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/internal/trust"
)

// CA are the certificate authorities that are trusted in addition to the system's.
type CA struct {
	// PEM are the certificates of the authorities, in PEM form; "" if there are none.
	PEM string

	file string
}

func (c *CA) flags(f *pflag.FlagSet) {
	f.StringVar(&c.file, "ca-file", "",
		"PEM file of certificate authorities, such as a company's own, that are trusted in addition to the system's: by this server (webhooks, mail, OpenID, databases, checks of packages) and by executors (packages, HTTP jobs)")
}

func (c *CA) check(r *report) { r.About(r.source("ca-file"), c.read()) }

func (c *CA) read() error {
	if c.file == "" {
		return nil
	}
	text, err := os.ReadFile(c.file)
	if err != nil {
		return err
	}
	if c.PEM, err = trust.Check(text); err != nil {
		return fmt.Errorf("%s %w", c.file, err)
	}
	return nil
}

// Trust adds the authorities to the system's, for the whole process. It must be called before the first connection.
func (c *CA) Trust() error { return trust.Add(c.PEM) }
