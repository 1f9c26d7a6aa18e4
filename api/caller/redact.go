package caller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// ofAnotherApp replaces an id that the caller may not see. A text then reads "execution of another app", for example.
const ofAnotherApp = "of another app"

// Redactor returns a function that returns a copy of an answer, or of a part of it, in which the ids of apps outside
// the caller's grant are hidden. The reason why a job waits may involve such an app, and the scheduler's texts then
// contain ids of its executions, tasks and executors. The function replaces these ids in every text of the answer. So
// new fields and new sentences require no change here. Documents are copied unchanged, because users wrote their texts
// and send them back.
//
// The function fails if the scheduler could not say whether the caller may see a job. Otherwise the answer might hide
// ids that the caller may see.
func Redactor(ctx context.Context, s Scheduler) func(any) (any, error) {
	who := Of(ctx)
	if !who.IsAuthenticated() || who.Unrestricted() {
		return func(answer any) (any, error) { return answer, nil }
	}
	r := redactor{scheduler: s, ctx: ctx, who: who, visibleJobs: map[string]bool{}}
	return func(answer any) (any, error) {
		if answer == nil {
			return nil, nil
		}
		redacted := r.value(reflect.ValueOf(answer)).Interface()
		return redacted, r.err
	}
}

// RedactError hides the ids that the caller may not see in an error of the scheduler. It returns any other error
// unchanged.
func RedactError(ctx context.Context, s Scheduler, err error) error {
	if refusal := new(problem.Error); errors.As(err, &refusal) {
		answer, lookupErr := Redactor(ctx, s)(*refusal)
		if lookupErr != nil {
			return fmt.Errorf("redact a refusal: %w", lookupErr)
		}
		redacted, _ := answer.(problem.Error)
		return &redacted
	}
	return err
}

// redactor hides ids from the caller of one request.
type redactor struct {
	scheduler   Scheduler
	ctx         context.Context
	who         Caller
	visibleJobs map[string]bool // whether the caller may see a job, by name, for the jobs looked up so far
	err         error           // the first error of a look-up
}

// maySee reports whether the caller may see an app or a job. If the look-up of a job fails, it returns false and
// records the error in err.
func (r *redactor) maySee(name string, isApp bool) bool {
	if isApp {
		return r.who.Covers(name)
	}
	visible, found := r.visibleJobs[name]
	if !found {
		_, err := ReadWith(r.ctx, r.scheduler, explain.Reader.Job, name)
		if err != nil && failure.Refusal(err).Kind != problem.NotFound {
			r.err = cmp.Or(r.err, err)
		}
		visible = err == nil
		r.visibleJobs[name] = visible
	}
	return visible
}

func (r *redactor) text(text string) string { return jobs.HideIDs(text, ofAnotherApp, r.maySee) }

// value returns a copy of a value in which the ids are hidden in all texts. Unexported fields are copied unchanged.
func (r *redactor) value(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.String, reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map, reflect.Struct:
	default:
		return v
	}
	if isDocument(v.Type()) || v.Kind() != reflect.String && v.Kind() != reflect.Struct && v.IsNil() {
		return v
	}
	hidden := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		hidden.SetString(r.text(v.String()))
	case reflect.Pointer:
		hidden.Set(reflect.New(v.Type().Elem()))
		hidden.Elem().Set(r.value(v.Elem()))
	case reflect.Interface:
		hidden.Set(r.value(v.Elem()))
	case reflect.Slice:
		hidden.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			hidden.Index(i).Set(r.value(v.Index(i)))
		}
	case reflect.Map:
		hidden.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for entry := v.MapRange(); entry.Next(); {
			hidden.SetMapIndex(r.value(entry.Key()), r.value(entry.Value()))
		}
	case reflect.Struct:
		hidden.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				hidden.Field(i).Set(r.value(v.Field(i)))
			}
		}
	}
	return hidden
}

// documentTypes are the types of documents, whose texts were written by users. isDocument adds the byte slices, which
// hold documents as JSON.
var documentTypes = []reflect.Type{
	reflect.TypeFor[app.Config](), reflect.TypeFor[jobs.Config](), reflect.TypeFor[jobs.Overrides](),
}

func isDocument(t reflect.Type) bool {
	return slices.Contains(documentTypes, t) || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}
