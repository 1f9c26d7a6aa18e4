package config

import (
	"fmt"
	"strings"

	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
)

// documentSizes sums up the sizes of the documents in force: of all of them, and of each app with its jobs. The sums
// are limited because each leader, and each answer with a list of documents, holds the documents in memory.
type documentSizes struct {
	total int64
	byApp map[string]int64
}

// add adds the size of an app's document; a negative size removes it.
func (d *documentSizes) add(app string, bytes int) {
	d.total += int64(bytes)
	if d.byApp[app] += int64(bytes); d.byApp[app] == 0 {
		delete(d.byApp, app)
	}
}

// documentSize is the size of one document and the app that it belongs to.
type documentSize struct {
	app   string
	bytes int
}

// checkSizeLimit refuses a document with which all documents, or those of its app, would exceed their limit. old is
// the document that it replaces, if there is one. A document that adds nothing to a sum is not refused for the limit of
// that sum, because the stored documents may exceed a limit that was lowered.
func (k *Set) checkSizeLimit(document, old documentSize) error {
	added := int64(document.bytes - old.bytes)
	addedToApp := int64(document.bytes)
	if old.app == document.app {
		addedToApp = added
	}
	var exceeded []string
	if limit := k.shared.Opt.DocumentsPerAppLimit; limit > 0 && addedToApp > 0 &&
		k.sizes.byApp[document.app]+addedToApp > limit {
		exceeded = append(exceeded, fmt.Sprintf(
			"the documents of app %q and its jobs would exceed --documents-per-app-limit (%s)", document.app,
			byteSize(limit)))
	}
	if limit := k.shared.Opt.DocumentsLimit; limit > 0 && added > 0 && k.sizes.total+added > limit {
		exceeded = append(exceeded,
			fmt.Sprintf("the documents of all apps and jobs would exceed --documents-limit (%s)", byteSize(limit)))
	}
	if len(exceeded) == 0 {
		return nil
	}
	return problem.Errorf(problem.Conflict, "documents_full",
		"this document of %s does not fit: %s. Move data into the package, "+
			"remove unused apps or jobs, or start the server with a higher limit",
		byteSize(int64(document.bytes)), strings.Join(exceeded, ", and "))
}

// byteSize formats a number of bytes for a message, in the largest unit of which it is a multiple.
func byteSize(n int64) string {
	for shift, unit := 30, "GiB"; shift > 0; shift -= 10 {
		if n >= 1<<shift && n%(1<<shift) == 0 {
			return fmt.Sprintf("%d %s", n>>shift, unit)
		}
		unit = map[int]string{30: "MiB", 20: "KiB"}[shift]
	}
	return fmt.Sprintf("%d bytes", n)
}

// DocumentSizes returns the present sizes of the documents, and their limits.
func (k *Set) DocumentSizes() stats.DocumentSizes {
	s := stats.DocumentSizes{Bytes: k.sizes.total, Limit: k.shared.Opt.DocumentsLimit,
		PerAppLimit: k.shared.Opt.DocumentsPerAppLimit}
	for _, bytes := range k.sizes.byApp {
		s.LargestApp = max(s.LargestApp, bytes)
	}
	return s
}
