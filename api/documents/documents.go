// Package documents handles the routes that apps and jobs share: register, change, list and get a document.
package documents

import (
	"context"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// withSecrets is a document that may have secrets. WithoutSecrets hides the secrets, for answers. KeepSecrets replaces
// the hidden secrets in a changed document with the stored ones.
type withSecrets[C any] interface {
	WithoutSecrets() C
	KeepSecrets(stored C) (C, document.Violations)
}

// Handlers handles the routes that apps and jobs share. C is the type of the documents, V that of the scheduler's
// views.
type Handlers[C withSecrets[C], V any] struct {
	Kind   string // "app" or "job"
	Schema *document.Schema[C]
	// Check applies all rules to a document that is to replace base. It returns the violations, and notes for the
	// user.
	Check func(changed, base C) (document.Violations, []string)

	Scheduler caller.Scheduler
	Add       func(context.Context, explain.Scope, C) (V, error)
	Change    func(context.Context, explain.Scope, string, func(C) (C, error)) (V, error)
	// All returns all views, sorted by name.
	All         func(explain.Reader) []V
	One         func(explain.Reader, string) (V, error)
	SetDisabled func(context.Context, explain.Scope, string, bool) (V, error)

	Config func(V) C
	Name   func(V) string
	// Answer returns the answer to a command: the fields of the document and those of the view. The parameter notes has
	// the notes about the body of the request, which come before the notes of the view.
	Answer func(view V, notes []string) any
}

// Register adds the document in the body. Fields that the body lacks get their defaults.
func (d *Handlers[C, V]) Register(c *gin.Context) (any, error) {
	body, err := request.Body(c)
	if err != nil {
		return nil, err
	}
	config, notes, err := d.Read(body, d.Schema.Default())
	if err != nil {
		return nil, err
	}
	ctx := c.Request.Context()
	view, err := d.Add(ctx, caller.ScopeOf(ctx), config)
	return d.Answer(view, notes), err
}

// ChangeBody returns the body of a change and the name of the changed document. It records the name as the subject of
// the request.
func (d *Handlers[C, V]) ChangeBody(c *gin.Context) (body []byte, name string, err error) {
	if body, err = request.Body(c); err != nil {
		return nil, "", err
	}
	if name, err = d.Schema.Name(body); err != nil {
		return nil, "", err
	}
	if err := app.CheckName(d.Kind+"Name", name, nil).OrNil(); err != nil {
		return nil, "", err
	}
	request.SetSubject(c, d.Kind, name)
	return body, name, nil
}

// Update changes those fields of a stored document that the body has.
func (d *Handlers[C, V]) Update(c *gin.Context) (any, error) {
	body, name, err := d.ChangeBody(c)
	if err != nil {
		return nil, err
	}
	var notes []string
	ctx := c.Request.Context()
	view, err := d.Change(ctx, caller.ScopeOf(ctx), name, func(stored C) (changed C, err error) {
		changed, notes, err = d.Read(body, stored)
		return changed, err
	})
	return d.Answer(view, notes), err
}

// These are the parameters of lists of documents. Without any, a list has all documents.
var (
	listAfter = request.Text("after", "Documents whose names come after this one, such as the last one of a page.").
			WithExample("my_job")
	listLimit = request.Number("limit", "Maximum number of rows.", maxListed, 1, maxListed)
	ListTakes = []request.Declared{listAfter, listLimit}
)

// maxListed exceeds the number of documents that can exist.
const maxListed = 1_000_000

// List returns the documents sorted by name: all of them, or a page.
func (d *Handlers[C, V]) List(c *gin.Context) (any, error) {
	q := request.QueryOf(c)
	after, limit := listAfter.Of(q), listLimit.Of(q)
	if err := q.Err(); err != nil {
		return nil, err
	}
	views, err := caller.ReadList(c.Request.Context(), d.Scheduler, d.All)
	if err != nil {
		return nil, err
	}
	byName := func(v V, name string) int { return strings.Compare(d.Name(v), name) }
	from, found := slices.BinarySearchFunc(views, after, byName)
	if found {
		from++
	}
	if views = views[from:]; len(views) > limit {
		views = views[:limit]
		c.Header("Link", answer.NextPage(c.Request.URL, "after", d.Name(views[limit-1])))
	}
	return answer.Each(views, nil, d.Config)
}

// Get returns one document.
func (d *Handlers[C, V]) Get(c *gin.Context) (any, error) {
	view, err := d.Find(c)
	return d.Config(view), err
}

// Find returns the scheduler's view of the document named in the path.
func (d *Handlers[C, V]) Find(c *gin.Context) (view V, err error) {
	name, err := request.PathName(d.Kind)(c)
	if err != nil {
		return view, err
	}
	return caller.ReadWith(c.Request.Context(), d.Scheduler, d.One, name)
}

// Disable returns the handler that disables or enables a document.
func (d *Handlers[C, V]) Disable(disabled bool) route.Handler {
	return d.Command(request.PathName(d.Kind), func(ctx context.Context, scope explain.Scope, name string) (V, error) {
		return d.SetDisabled(ctx, scope, name, disabled)
	})
}

// Command returns a handler that calls do with the name of an app or job, which it reads with the NameReader.
func (d *Handlers[C, V]) Command(
	name request.NameReader, do func(ctx context.Context, scope explain.Scope, name string) (V, error),
) route.Handler {
	return func(c *gin.Context) (any, error) {
		name, err := name(c)
		if err != nil {
			return nil, err
		}
		ctx := c.Request.Context()
		view, err := do(ctx, caller.ScopeOf(ctx), name)
		return d.Answer(view, nil), err
	}
}

// Read returns base with the changes in the body, and notes for the user. Its error has all violations: fields that
// cannot be read, secrets that cannot be kept, and rules that the document breaks.
func (d *Handlers[C, V]) Read(body []byte, base C) (C, []string, error) {
	c, notes, err := d.Schema.Decode(body, base.WithoutSecrets())
	undecoded, ok := err.(document.Violations)
	if err != nil && !ok {
		return c, nil, err
	}
	c, unkept := c.KeepSecrets(base)
	broken, checkNotes := d.Check(c, base)
	return c, append(notes, checkNotes...), undecoded.And(unkept).And(broken).OrNil()
}

// UpdateFlag is a query parameter of the routes that only check a document. With it, the body is checked as an update
// of the stored document.
var UpdateFlag = request.Flag("update", "The body has the fields that change in the stored document, as in an update.")
