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

// ofAnotherApp replaces an id that the caller may not see, so that answers read "execution of another app" or "task of
// another app".
const ofAnotherApp = "of another app"

// Redactor returns a function that copies an answer, or a part of one, and hides in it what the caller of the request
// may not see. The reason why a job waits may involve an app outside the caller's grant, and the scheduler's texts
// name it by the ids of executions, tasks and executors. The function replaces those ids in every text of the answer,
// so that a new field or a new sentence is covered without a change here. Documents are copied unchanged, because
// users wrote their texts and send them back.
//
// The function fails if the scheduler could not say whether the caller may see a job. Otherwise the answer would hide
// ids that the caller may see.
func Redactor(ctx context.Context, s Scheduler) func(any) (any, error) {
	who := Of(ctx)
	if !who.IsAuthenticated() || who.Unrestricted() {
		return func(answer any) (any, error) { return answer, nil }
	}
	h := redactor{scheduler: s, ctx: ctx, who: who, jobs: map[string]bool{}}
	return func(answer any) (any, error) {
		if answer == nil {
			return nil, nil
		}
		shown := h.value(reflect.ValueOf(answer)).Interface()
		return shown, h.err
	}
}

// RedactError returns err with the ids hidden that the caller may not see. Errors that are not refusals of the
// scheduler are returned unchanged.
func RedactError(ctx context.Context, s Scheduler, err error) error {
	if refused := new(problem.Error); errors.As(err, &refused) {
		answer, failure := Redactor(ctx, s)(*refused)
		if failure != nil {
			return fmt.Errorf("redact a refusal: %w", failure)
		}
		shown, _ := answer.(problem.Error)
		return &shown
	}
	return err
}

// redactor hides ids from the caller of one request.
type redactor struct {
	scheduler Scheduler
	ctx       context.Context
	who       Caller
	jobs      map[string]bool // whether the caller may see a job, for the jobs looked up so far
	err       error           // the first failed look-up
}

// shown reports whether the caller may see an app or a job. If the look-up fails, it returns false and records the
// error in err.
func (h *redactor) shown(name string, isApp bool) bool {
	if isApp {
		return h.who.Covers(name)
	}
	shown, known := h.jobs[name]
	if !known {
		_, err := ReadWith(h.ctx, h.scheduler, explain.Reader.Job, name)
		if err != nil && failure.Refusal(err).Kind != problem.NotFound {
			h.err = cmp.Or(h.err, err) // the first
		}
		shown = err == nil
		h.jobs[name] = shown
	}
	return shown
}

func (h *redactor) text(text string) string { return jobs.HideIDs(text, ofAnotherApp, h.shown) }

// value returns a copy of a value with the ids hidden in all its texts.
func (h *redactor) value(v reflect.Value) reflect.Value {
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
		hidden.SetString(h.text(v.String()))
	case reflect.Pointer:
		hidden.Set(reflect.New(v.Type().Elem()))
		hidden.Elem().Set(h.value(v.Elem()))
	case reflect.Interface:
		hidden.Set(h.value(v.Elem()))
	case reflect.Slice:
		hidden.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			hidden.Index(i).Set(h.value(v.Index(i)))
		}
	case reflect.Map:
		hidden.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for entry := v.MapRange(); entry.Next(); {
			hidden.SetMapIndex(h.value(entry.Key()), h.value(entry.Value()))
		}
	case reflect.Struct:
		hidden.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				hidden.Field(i).Set(h.value(v.Field(i)))
			}
		}
	}
	return hidden
}

// documentTypes are the types whose texts users wrote. Byte slices, which hold documents as JSON, count as documents
// too.
var documentTypes = []reflect.Type{
	reflect.TypeFor[app.Config](), reflect.TypeFor[jobs.Config](), reflect.TypeFor[jobs.Overrides](),
}

func isDocument(t reflect.Type) bool {
	return slices.Contains(documentTypes, t) || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}
