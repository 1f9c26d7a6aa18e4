package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/secrets"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// Packages fetches packages as executors do.
type Packages interface {
	// CheckPackage fetches the package of an app, whose document was checked, and looks at it. What is wrong with it
	// is among the facts; the error is this server's own, or the context's. It takes no more than some two minutes.
	CheckPackage(ctx context.Context, c app.Config) (PackageFacts, error)
}

// PackageFacts is what an executor would find.
type PackageFacts struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// Format is tar, tar.gz, tar.bz2, tar.xz, tar.zst, zip, or file for a single one.
	Format string `json:"format"`
	// Files are the first ones by name, FilesTotal is how many there are.
	Files      []PackageFile `json:"files"`
	FilesTotal int           `json:"filesTotal"`
	Script     PackageScript `json:"script"`
	// Problems are what keeps a shard from being started, by the app's fields.
	Problems document.Violations `json:"problems"`
	Millis   int64               `json:"millis"`
}

// PackageFile is one file.
type PackageFile struct {
	Name       string `json:"name"`
	Size       int64  `json:"size"`
	Executable bool   `json:"executable"`
}

// PackageScript is what the first word of the app's bootstrapScript stands for.
type PackageScript struct {
	Path        string `json:"path"`
	Found       bool   `json:"found"`
	Executable  bool   `json:"executable"`
	Interpreter string `json:"interpreter"`
}

// packageTime bounds a request that fetches a package; the fetch itself is bounded closer.
const packageTime = 2*time.Minute + 15*time.Second

// fetchesPackage reports whether a request may take so long.
func fetchesPackage(c *gin.Context) bool {
	asked, err := strconv.ParseBool(c.Query("check"))
	return c.FullPath() == "/api/app/check" || c.FullPath() == "/api/app" && err == nil && asked
}

// timeFor is how long a request may take that usually has so much time.
func timeFor(c *gin.Context, usual time.Duration) time.Duration {
	if fetchesPackage(c) {
		return max(packageTime, usual)
	}
	return usual
}

// lastLonger lets the connection wait for a package. The body must have been read.
func lastLonger(c *gin.Context) {
	line := http.NewResponseController(c.Writer)
	_ = line.SetReadDeadline(time.Time{})
	_ = line.SetWriteDeadline(time.Now().Add(packageTime + 15*time.Second))
}

var errNoPackages = failure.Unavailable("no_package_check", "this server can't fetch packages; publish without check")

// factsOf fetches the package of an app that the caller may publish.
func (s *Server) factsOf(c *gin.Context, config app.Config) (facts PackageFacts, err error) {
	if err := caller.ScopeOf(c.Request.Context()).MayPublish(config.AppName); err != nil {
		return facts, err
	}
	if config.AppURL == "" {
		return facts, document.Violations{document.Violate("appURL", "",
			"is empty, so there is no package to be checked: the app has an image, which the cluster's nodes pull")}
	}
	if s.opts.Packages == nil {
		return facts, errNoPackages
	}
	leave, err := s.packageChecks.Enter(caller.Of(c.Request.Context()))
	if err != nil {
		return facts, err
	}
	defer leave()
	lastLonger(c)
	begun := time.Now()
	facts, err = s.opts.Packages.CheckPackage(c.Request.Context(), config)
	facts.Millis = time.Since(begun).Milliseconds()
	if facts.Files == nil {
		facts.Files = []PackageFile{}
	}
	bad := document.Violations{}
	for _, p := range facts.Problems {
		p.Message = withoutSecrets(p.Message, config.AppURL)
		bad = append(bad, p)
	}
	facts.Problems = bad
	facts.Script.Path = withoutSecrets(facts.Script.Path, config.AppURL)
	return facts, err
}

// withoutSecrets hides in a text what is secret in a URL that it may repeat.
func withoutSecrets(text, url string) string {
	for _, secret := range secrets.Of("", url, false) {
		text = strings.ReplaceAll(text, secret, secrets.Hidden)
	}
	return secrets.HideURLs(text)
}

// checkApp says what is in the package of an app that is not published yet, or, with update, of the stored one with
// the given fields.
func (s *Server) checkApp(c *gin.Context) (any, error) {
	q := request.QueryOf(c)
	update := checkUpdate.Of(q)
	if err := q.Err(); err != nil {
		return nil, err
	}
	config, err := s.appToCheck(c, update)
	if err != nil {
		return nil, err
	}
	return s.factsOf(c, config)
}

func (s *Server) appToCheck(c *gin.Context, update bool) (config app.Config, err error) {
	if !update {
		body, err := request.Body(c)
		if err == nil {
			config, _, err = s.apps.read(body, app.Default())
		}
		return config, err
	}
	body, name, err := s.apps.changeBody(c)
	if err != nil {
		return config, err
	}
	stored, err := caller.SeeOf(c.Request.Context(), s.opts.Scheduler, explain.Reader.App, name)
	if err == nil {
		config, _, err = s.apps.read(body, stored.Config)
	}
	return config, err
}

// publishedApp is the answer to a publication whose package was checked.
type publishedApp struct {
	views.AppView
	// Package is nil where it was not checked.
	Package *PackageFacts `json:"package,omitempty"`
}

// goodPackage is factsOf, where a problem refuses the app; nil for an app that has an image alone.
func (s *Server) goodPackage(c *gin.Context, config app.Config) (*PackageFacts, error) {
	if config.AppURL == "" {
		return nil, caller.ScopeOf(c.Request.Context()).MayPublish(config.AppName)
	}
	facts, err := s.factsOf(c, config)
	if err == nil {
		err = facts.Problems.OrNil()
	}
	return &facts, err
}

var checkFirst = request.Flag("check", "Fetches the package first, and publishes nothing if something is wrong with it.")

// publishing reads whether the package is to be checked, and has it done so by work, else does without.
func publishing(without route.Handler, work route.Handler) route.Handler {
	return func(c *gin.Context) (any, error) {
		q := request.QueryOf(c)
		check := checkFirst.Of(q)
		if err := q.Err(); err != nil {
			return nil, err
		}
		if !check {
			return without(c)
		}
		return work(c)
	}
}

func (s *Server) registerCheckedApp(c *gin.Context) (any, error) {
	body, err := request.Body(c)
	if err != nil {
		return nil, err
	}
	config, notes, err := s.apps.read(body, app.Default())
	if err != nil {
		return nil, err
	}
	facts, err := s.goodPackage(c, config)
	if err != nil {
		return nil, err
	}
	ctx := c.Request.Context()
	view, err := s.opts.Scheduler.RegisterApp(ctx, caller.ScopeOf(ctx), config)
	return s.published(view, notes, facts), err
}

// updateCheckedApp checks the package of the document that comes of the change: again, if somebody else has changed it
// meanwhile.
func (s *Server) updateCheckedApp(c *gin.Context) (any, error) {
	body, name, err := s.apps.changeBody(c)
	if err != nil {
		return nil, err
	}
	var (
		notes   []string
		facts   *PackageFacts
		checked app.Config
	)
	ctx := c.Request.Context()
	change := func(stored app.Config) (changed app.Config, err error) {
		if changed, notes, err = s.apps.read(body, stored); err != nil || changed == checked {
			return changed, err
		}
		facts, err = s.goodPackage(c, changed)
		checked = changed
		return changed, err
	}
	view, err := s.opts.Scheduler.UpdateApp(ctx, caller.ScopeOf(ctx), name, change)
	return s.published(view, notes, facts), err
}

func (s *Server) published(view views.AppView, notes []string, facts *PackageFacts) publishedApp {
	view.Config, view.NotesView = view.Config.WithoutSecrets(), view.After(notes)
	return publishedApp{view, facts}
}
