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

// ofAnotherApp stands in answers where an id is that the caller may not see: "execution of another app", "task of
// another app".
const ofAnotherApp = "of another app"

// Hiding makes of answers, or of their parts, what the caller may read. Why something waits may have to do with
// an app that the caller's grant does not cover, and the scheduler says so with the ids of executions, tasks and
// executors. Whatever texts an answer has, those ids are hidden in all of them: no field is left out because nobody
// thought of it, and no sentence because it is new. Documents are left as they are: their texts are what people have
// written, and are sent back. The error is that of a look at whether a job may be seen: without it the answer would
// hide what the caller may read.
func Hiding(ctx context.Context, s Scheduler) func(any) (any, error) {
	who := Of(ctx)
	if !who.LetIn() || who.Unrestricted() {
		return func(answer any) (any, error) { return answer, nil }
	}
	h := hiding{scheduler: s, ctx: ctx, who: who, jobs: map[string]bool{}}
	return func(answer any) (any, error) {
		if answer == nil {
			return nil, nil
		}
		shown := h.value(reflect.ValueOf(answer)).Interface()
		return shown, h.err
	}
}

// HideInError is what the scheduler refuses a request with, as the caller may read it.
func HideInError(ctx context.Context, s Scheduler, err error) error {
	if refused := new(problem.Error); errors.As(err, &refused) {
		answer, failure := Hiding(ctx, s)(*refused)
		if failure != nil {
			return fmt.Errorf("look at who may read why this was refused: %w", failure)
		}
		shown, _ := answer.(problem.Error)
		return &shown
	}
	return err
}

// hiding hides what the caller of one request may not see.
type hiding struct {
	scheduler Scheduler
	ctx       context.Context
	who       Caller
	jobs      map[string]bool // whether they may be seen, of those that were asked about
	err       error           // of the first of them that could not be looked at
}

// shown reports whether the caller may see an app or a job. What can't be found out is not shown,
// and err says why.
func (h *hiding) shown(name string, isApp bool) bool {
	if isApp {
		return h.who.Covers(name)
	}
	shown, known := h.jobs[name]
	if !known {
		_, err := SeeOf(h.ctx, h.scheduler, explain.Reader.Job, name)
		if err != nil && failure.Refusal(err).Kind != problem.NotFound {
			h.err = cmp.Or(h.err, err) // the first
		}
		shown = err == nil
		h.jobs[name] = shown
	}
	return shown
}

func (h *hiding) text(text string) string { return jobs.HideIDs(text, ofAnotherApp, h.shown) }

// value is a copy of a value with hidden ids in all texts that an answer has of it.
func (h *hiding) value(v reflect.Value) reflect.Value {
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

// documentTypes are those whose texts people have written, and bytes, which are JSON of documents.
var documentTypes = []reflect.Type{
	reflect.TypeFor[app.Config](), reflect.TypeFor[jobs.Config](), reflect.TypeFor[jobs.Overrides](),
}

func isDocument(t reflect.Type) bool {
	return slices.Contains(documentTypes, t) || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}
