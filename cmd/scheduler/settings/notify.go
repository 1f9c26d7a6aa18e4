package settings

import (
	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/jobs"
)

// Notify are the settings by which operators are notified of silent machines and blocked jobs.
type Notify struct {
	file string
	// Operators is the content of the file: an error handler with its properties, including secrets. Without a
	// file, Operators.Notifies() is false.
	Operators jobs.Config
}

func (n *Notify) flags(f *pflag.FlagSet) {
	f.StringVar(&n.file, "notify-file", "",
		"JSON file that says how operators are notified of silent, flapping and drained machines and of blocked jobs: jobErrorHandlerType and props, as in a job. Readable by its owner only. The same on all servers")
}

func (n *Notify) check(r *report) {
	if n.file == "" {
		return
	}
	text, err := readPrivate(n.file)
	if err == nil {
		n.Operators, err = jobs.DecodeRecipients(text)
	}
	r.About(r.source("notify-file"), err)
}
