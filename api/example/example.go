// Package example answers with an example app and job, and with their package.
package example

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
)

//go:embed hello.sh
var exampleScript []byte

const (
	exampleCommand = "bin/hello.sh"
	examplePath    = "/artifacts/example.tar.gz"
	// exampleLine does the same as the package in any image with a shell, because pods may not be able to fetch a
	// package from this server.
	exampleLine = `/bin/sh -c 'echo "Hello from shard $ELASTICJOB_SHARDING_ITEM of $ELASTICJOB_SHARDING_TOTAL_COUNT"; ` +
		`for second in 1 2 3 4 5 6 7 8 9 10; do sleep 1; echo "$second of 10"; done; ` +
		`if [ "$ELASTICJOB_SHARDING_ITEM $ELASTICJOB_JOB_PARAMETER" = "2 fail" ]; then echo "shard 2 was asked to fail, by the job parameter" >&2; exit 1; fi'`
)

// Options are the dependencies of the handlers of the example.
type Options struct {
	Answers *answer.Writer
	// AgentURL is the URL under which agents reach this server, without a path.
	AgentURL string
	// ExampleImage is the image of the example, on a cluster whose jobs run in images. If it is "", the example is a
	// package, which agents fetch from AgentURL.
	ExampleImage string
}

// Handlers handles the routes of the example.
type Handlers struct {
	Options
	examplePack func() ([]byte, error)
}

// New returns the handlers.
func New(o Options) *Handlers {
	return &Handlers{Options: o, examplePack: sync.OnceValues(packExample)}
}

// Routes returns the routes of the example.
func (h *Handlers) Routes() []route.Route {
	const get = http.MethodGet
	return route.Group("Checks before registration", []route.Route{
		{Method: get, Path: "/api/example", Rule: route.Viewers, Answer: h.example,
			Does: route.Does("Returns an app and a job that are ready to be registered").Gives(exampleDocuments{})},
		{Method: get, Path: examplePath, Rule: route.Public, Raw: h.examplePackage, Local: true,
			Does: route.Does("Returns the package of the example").Streams("application/gzip", "The package.", nil)},
	})
}

// packExample builds the example's package. The same build of this program always produces the same bytes.
func packExample() ([]byte, error) {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	err := archive.WriteHeader(&tar.Header{Name: exampleCommand, Mode: 0o755, Size: int64(len(exampleScript)),
		ModTime: time.Unix(0, 0)})
	if err == nil {
		_, err = archive.Write(exampleScript)
	}
	if err = errors.Join(err, archive.Close(), zipped.Close()); err != nil {
		return nil, fmt.Errorf("pack the example: %w", err)
	}
	return out.Bytes(), nil
}

// examplePackage answers agents with the package. Clients must revalidate a cached copy, because another release may
// have a different package under the same name.
func (h *Handlers) examplePackage(c *gin.Context) {
	content, err := h.examplePack()
	if err != nil {
		h.Answers.Fail(c.Writer, c.Request, err)
		return
	}
	c.Header("Content-Type", "application/gzip")
	c.Header("Cache-Control", "no-cache")
	c.Header("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(content)))
	http.ServeContent(c.Writer, c.Request, "", time.Time{}, bytes.NewReader(content))
}

// exampleDocuments are documents for POST /api/app and POST /api/job/register.
type exampleDocuments struct {
	App  app.Config    `json:"app"`
	Jobs []jobs.Config `json:"jobs"`
}

func (h *Handlers) example(*gin.Context) (any, error) {
	a := app.Default()
	a.AppName, a.AppURL, a.BootstrapScript = "example", h.AgentURL+examplePath, exampleCommand
	a.CPUCount, a.MemoryMB = 0.1, 64
	if h.ExampleImage != "" {
		a.AppURL, a.Image, a.BootstrapScript = "", h.ExampleImage, exampleLine
	}
	j := jobs.Default()
	j.JobName, j.AppName, j.JobExecutionType, j.Cron = "hello", a.AppName, jobs.Transient, "0/30 * * * * ?"
	j.ShardingTotalCount, j.ShardingItemParameters, j.CPUCount, j.MemoryMB = 3, "0=north,1=east,2=south", 0.1, 32
	j.Description = "The built-in example: each shard counts to ten seconds. Triggered with the jobParameter fail, shard 2 fails."
	return exampleDocuments{App: a, Jobs: []jobs.Config{j}}, nil
}
