package apps

import (
	"context"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/documents"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/secrets"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// Packages fetches packages the way executors do.
type Packages interface {
	// CheckPackage fetches the package of an app and inspects it, within about two minutes. The app's document must
	// have been checked before. What is wrong with the package is in the facts' Problems. CheckPackage returns an
	// error only for a fault of this server, or if the context ends.
	CheckPackage(ctx context.Context, c app.Config) (PackageFacts, error)
}

// PackageFacts describes what an executor would find in a package. What could not be determined is empty; Problems
// then says why.
type PackageFacts struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// Format is tar, tar.gz, tar.bz2, tar.xz, tar.zst, zip, or file for a single file.
	Format string `json:"format"`
	// Files are the first 1000 files in the order of their names; FilesTotal is the number of all files.
	Files      []PackageFile `json:"files"`
	FilesTotal int           `json:"filesTotal"`
	Script     PackageScript `json:"script"`
	// Problems are the reasons why a shard could not start. Each names the field of the app that causes it.
	Problems document.Violations `json:"problems"`
	// Millis is how long the check took.
	Millis int64 `json:"millis"`
}

// PackageFile is one file of a package.
type PackageFile struct {
	Name       string `json:"name"`
	Size       int64  `json:"size"`
	Executable bool   `json:"executable"`
}

// PackageScript describes the file that the first word of the app's bootstrapScript names. Path is the file's path in
// the package; if the package has no such file, it is the word itself. Found may also be true for a program outside the
// package. Interpreter is the one that the file's first line names, or "".
type PackageScript struct {
	Path        string `json:"path"`
	Found       bool   `json:"found"`
	Executable  bool   `json:"executable"`
	Interpreter string `json:"interpreter"`
}

var errNoPackages = failure.Unavailable("no_package_check",
	"this server can't fetch packages, so it can't check them: publish without check=true")

// inspectPackage fetches and inspects the package of an app. It returns an error if the caller may not publish the
// app, if the app has no package, or if the check was not possible. Problems of the package are in the facts, not in
// the error.
func (h *Handlers) inspectPackage(c *gin.Context, config app.Config) (facts PackageFacts, err error) {
	if err := caller.ScopeOf(c.Request.Context()).MayPublish(config.AppName); err != nil {
		return facts, err
	}
	if config.AppURL == "" {
		return facts, document.Violations{document.Violate("appURL", "",
			"is empty, so there is no package to check: the app has an image, which the cluster's nodes pull")}
	}
	if h.Packages == nil {
		return facts, errNoPackages
	}
	leave, err := h.packageChecks.Enter(caller.Of(c.Request.Context()))
	if err != nil {
		return facts, err
	}
	defer leave()
	request.ExtendDeadlines(c)
	start := time.Now()
	facts, err = h.Packages.CheckPackage(c.Request.Context(), config)
	facts.Millis = time.Since(start).Milliseconds()
	if facts.Files == nil {
		facts.Files = []PackageFile{}
	}
	problems := document.Violations{}
	for _, p := range facts.Problems {
		p.Message = withoutSecrets(p.Message, config.AppURL)
		problems = append(problems, p)
	}
	facts.Problems = problems
	facts.Script.Path = withoutSecrets(facts.Script.Path, config.AppURL)
	return facts, err
}

// withoutSecrets hides the secrets of a URL wherever a text repeats them, and all other secrets that secrets.Hide finds
// in the text.
func withoutSecrets(text, url string) string {
	for _, secret := range secrets.Of("", url, false) {
		text = strings.ReplaceAll(text, secret, secrets.Hidden)
	}
	return secrets.Hide(text)
}

// checkApp answers with what an executor would find in an app's package. It publishes nothing. With update=true the
// body contains only the fields to change.
func (h *Handlers) checkApp(c *gin.Context) (any, error) {
	q := request.QueryOf(c)
	update := documents.UpdateFlag.Of(q)
	if err := q.Err(); err != nil {
		return nil, err
	}
	config, err := h.appToCheck(c, update)
	if err != nil {
		return nil, err
	}
	return h.inspectPackage(c, config)
}

// appToCheck reads the app from the body. With update, it is the stored app with the changes in the body.
func (h *Handlers) appToCheck(c *gin.Context, update bool) (config app.Config, err error) {
	if !update {
		body, err := request.Body(c)
		if err == nil {
			config, _, err = h.documents.Read(body, app.Default())
		}
		return config, err
	}
	body, name, err := h.documents.ChangeBody(c)
	if err != nil {
		return config, err
	}
	stored, err := caller.ReadWith(c.Request.Context(), h.Scheduler, explain.Reader.App, name)
	if err == nil {
		config, _, err = h.documents.Read(body, stored.Config)
	}
	return config, err
}

// PublishedApp is the answer to the publication of an app.
type PublishedApp struct {
	views.AppView
	// Package is nil if the package was not checked.
	Package *PackageFacts `json:"package,omitempty"`
}

// requireSoundPackage is like inspectPackage, but also returns an error if the package has problems. For an app with
// only an image, it returns nil facts and checks only whether the caller may publish the app.
func (h *Handlers) requireSoundPackage(c *gin.Context, config app.Config) (*PackageFacts, error) {
	if config.AppURL == "" {
		return nil, caller.ScopeOf(c.Request.Context()).MayPublish(config.AppName)
	}
	facts, err := h.inspectPackage(c, config)
	if err == nil {
		err = facts.Problems.OrNil()
	}
	return &facts, err
}

var checkFirst = request.Flag("check",
	"Fetches the package first, and publishes nothing if something is wrong with it.")

// withOptionalCheck returns a handler that calls withCheck if the query has check=true, and withoutCheck otherwise.
func withOptionalCheck(withoutCheck, withCheck route.Handler) route.Handler {
	return func(c *gin.Context) (any, error) {
		q := request.QueryOf(c)
		check := checkFirst.Of(q)
		if err := q.Err(); err != nil {
			return nil, err
		}
		if !check {
			return withoutCheck(c)
		}
		return withCheck(c)
	}
}

func (h *Handlers) checkAndRegisterApp(c *gin.Context) (any, error) {
	body, err := request.Body(c)
	if err != nil {
		return nil, err
	}
	config, notes, err := h.documents.Read(body, app.Default())
	if err != nil {
		return nil, err
	}
	facts, err := h.requireSoundPackage(c, config)
	if err != nil {
		return nil, err
	}
	ctx := c.Request.Context()
	view, err := h.Scheduler.RegisterApp(ctx, caller.ScopeOf(ctx), config)
	return h.publishedAnswer(view, notes, facts), err
}

// checkAndUpdateApp changes an app if the package of the changed document has no problems. If another request changes
// the app meanwhile, the scheduler calls change again. The package is then checked again only if the result differs.
func (h *Handlers) checkAndUpdateApp(c *gin.Context) (any, error) {
	body, name, err := h.documents.ChangeBody(c)
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
		if changed, notes, err = h.documents.Read(body, stored); err != nil || changed == checked {
			return changed, err
		}
		facts, err = h.requireSoundPackage(c, changed)
		checked = changed
		return changed, err
	}
	view, err := h.Scheduler.UpdateApp(ctx, caller.ScopeOf(ctx), name, change)
	return h.publishedAnswer(view, notes, facts), err
}

// publishedAnswer returns the answer to a publication, with the secrets of the stored app hidden.
func (h *Handlers) publishedAnswer(view views.AppView, notes []string, facts *PackageFacts) PublishedApp {
	view.Config, view.NotesView = view.Config.WithoutSecrets(), view.After(notes)
	return PublishedApp{view, facts}
}
