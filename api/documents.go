package api

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

// secretive is a document with secrets, which answers hide, and which a change that has them hidden keeps.
type secretive[C any] interface {
	WithoutSecrets() C
	KeepSecrets(stored C) (C, document.Violations)
}

// documents answers the routes that apps and jobs have alike. C is the document, V is
// what the scheduler says of one.
type documents[C secretive[C], V any] struct {
	kind   string // "app" or "job"
	schema *document.Schema[C]
	// check applies all rules to what was read, and has notes on it.
	check func(C) (document.Violations, []string)

	server *Server
	add    func(context.Context, explain.Scope, C) (V, error)
	change func(context.Context, explain.Scope, string, func(C) (C, error)) (V, error)
	// all gives them in the order of their names.
	all         func(explain.Reader) []V
	one         func(explain.Reader, string) (V, error)
	setDisabled func(context.Context, explain.Scope, string, bool) (V, error)

	config func(V) C
	name   func(V) string
	// answer is what a command is answered with: the document's own fields, and what is not part of it. The notes
	// of reading the document come before those of the view.
	answer func(view V, notes []string) any
}

func (d *documents[C, V]) register(c *gin.Context) (any, error) {
	body, err := request.Body(c)
	if err != nil {
		return nil, err
	}
	config, notes, err := d.read(body, d.schema.Default())
	if err != nil {
		return nil, err
	}
	ctx := c.Request.Context()
	view, err := d.add(ctx, caller.ScopeOf(ctx), config)
	return d.answer(view, notes), err
}

// changeBody is the body of a change, and the name of the stored document that it is about.
func (d *documents[C, V]) changeBody(c *gin.Context) (body []byte, name string, err error) {
	if body, err = request.Body(c); err != nil {
		return nil, "", err
	}
	if name, err = d.schema.Name(body); err != nil {
		return nil, "", err
	}
	if err := app.CheckName(d.kind+"Name", name, nil).OrNil(); err != nil {
		return nil, "", err
	}
	request.SetSubject(c, d.kind, name)
	return body, name, nil
}

func (d *documents[C, V]) update(c *gin.Context) (any, error) {
	body, name, err := d.changeBody(c)
	if err != nil {
		return nil, err
	}
	var notes []string
	ctx := c.Request.Context()
	view, err := d.change(ctx, caller.ScopeOf(ctx), name, func(stored C) (changed C, err error) {
		changed, notes, err = d.read(body, stored)
		return changed, err
	})
	return d.answer(view, notes), err
}

// What lists of documents take. Without any they have all.
var (
	listAfter = request.Text("after", "Those whose names come after this one, such as the last one of a page.").WithExample("my_job")
	listLimit = request.Number("limit", "How many are listed at most.", mostListed, 1, mostListed)
	listTakes = []request.Declared{listAfter, listLimit}
)

// mostListed is more documents than there can be.
const mostListed = 1_000_000

// list gives the documents by their names, all or a page of them.
func (d *documents[C, V]) list(c *gin.Context) (any, error) {
	q := request.QueryOf(c)
	after, limit := listAfter.Of(q), listLimit.Of(q)
	if err := q.Err(); err != nil {
		return nil, err
	}
	views, err := caller.List(c.Request.Context(), d.server.opts.Scheduler, d.all)
	if err != nil {
		return nil, err
	}
	byName := func(v V, name string) int { return strings.Compare(d.name(v), name) }
	from, found := slices.BinarySearchFunc(views, after, byName)
	if found {
		from++
	}
	if views = views[from:]; len(views) > limit {
		views = views[:limit]
		c.Header("Link", answer.NextPage(c.Request.URL, "after", d.name(views[limit-1])))
	}
	return answer.Each(views, nil, d.config)
}

func (d *documents[C, V]) get(c *gin.Context) (any, error) {
	view, err := d.find(c)
	return d.config(view), err
}

func (d *documents[C, V]) find(c *gin.Context) (view V, err error) {
	name, err := request.PathName(d.kind)(c)
	if err != nil {
		return view, err
	}
	return caller.SeeOf(c.Request.Context(), d.server.opts.Scheduler, d.one, name)
}

// disable makes the handler that disables or enables.
func (d *documents[C, V]) disable(disabled bool) route.Handler {
	return d.command(request.PathName(d.kind), func(ctx context.Context, scope explain.Scope, name string) (V, error) {
		return d.setDisabled(ctx, scope, name, disabled)
	})
}

// command is a handler that does something to the app or job that is named.
func (d *documents[C, V]) command(
	name request.Naming, do func(ctx context.Context, scope explain.Scope, name string) (V, error),
) route.Handler {
	return func(c *gin.Context) (any, error) {
		name, err := name(c)
		if err != nil {
			return nil, err
		}
		ctx := c.Request.Context()
		view, err := do(ctx, caller.ScopeOf(ctx), name)
		return d.answer(view, nil), err
	}
}

// read merges a body into base, and joins what could not be read with the rules that the rest breaks. Secrets that
// the body leaves out, and those that it has as answers show them, are treated alike.
func (d *documents[C, V]) read(body []byte, base C) (C, []string, error) {
	c, notes, err := d.schema.Decode(body, base.WithoutSecrets())
	unread, ok := err.(document.Violations)
	if err != nil && !ok {
		return c, nil, err
	}
	c, moved := c.KeepSecrets(base)
	rules, hints := d.check(c)
	return c, append(notes, hints...), unread.And(moved).And(rules).OrNil()
}
