package route

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"

	"github.com/elasticjob-go/elasticjob/api/openapi"
)

// Description is the entry of a route in the API's description, without its rule and its parameters.
type Description struct {
	summary string
	headers []openapi.Parameter
	body    *openapi.Body
	answer  openapi.Answer
	// errors are the statuses of the route's errors that Route.errors does not derive from the route's row.
	errors []int
}

// Does returns a description with only a summary: a verb and what the route does. The methods below add the rest.
func Does(summary string) Description { return Description{summary: summary} }

// With adds a request header.
func (d Description) With(header openapi.Parameter) Description {
	d.headers = append(d.headers, header)
	return d
}

// Reads sets the required body of the request.
func (d Description) Reads(content ...openapi.Content) Description {
	d.body = &openapi.Body{Content: content}
	return d
}

// MayRead sets an optional body of the request.
func (d Description) MayRead(content ...openapi.Content) Description {
	d.body = &openapi.Body{Content: content, Optional: true}
	return d
}

// Gives sets the answer: JSON of the value's type.
func (d Description) Gives(value any, headers ...openapi.Header) Description {
	d.answer = openapi.Answer{Status: http.StatusOK, About: "Success.", Headers: headers,
		Content: []openapi.Content{{Media: JSON, Type: value}}}
	return d
}

// GivesSchema sets the answer: a JSON Schema.
func (d Description) GivesSchema() Description {
	d.answer = openapi.Answer{Status: http.StatusOK, About: "The schema.",
		Content: []openapi.Content{{Media: JSON,
			Schema: openapi.Schema{"type": "object", "description": "A JSON Schema (2020-12)."}}}}
	return d
}

// Streams sets the answer: a text whose media type is not JSON.
func (d Description) Streams(media, about string, example any, headers ...openapi.Header) Description {
	d.answer = openapi.Answer{Status: http.StatusOK, About: about, Headers: headers,
		Content: []openapi.Content{{Media: media, Schema: openapi.Schema{"type": "string"}, Example: example}}}
	return d
}

// OrGives adds another media type in which the route can answer.
func (d Description) OrGives(media string) Description {
	d.answer.Content = append(d.answer.Content,
		openapi.Content{Media: media, Schema: openapi.Schema{"type": "string"}})
	return d
}

// Redirects sets the answer: a redirect with the status.
func (d Description) Redirects(status int) Description {
	d.answer = openapi.Answer{Status: status, About: "A redirect.",
		Headers: []openapi.Header{{Name: "Location", About: "The target of the redirect.", Always: true,
			Schema: openapi.Schema{"type": "string"}}, CookieHeader}}
	return d
}

// Fails sets the statuses of the errors that Route.errors does not derive from the route's row.
func (d Description) Fails(statuses ...int) Description {
	d.errors = statuses
	return d
}

var pathVariable = regexp.MustCompile(`\{(\w+)\}`)

// Operation returns the route's entry in the API's description.
func (r Route) Operation() openapi.Operation {
	o := openapi.Operation{Method: r.Method, Path: r.Path, Tag: r.tag, Summary: r.Does.summary, Who: r.Rule.String(),
		Open: r.Scope == ScopePublic,
		Body: r.Does.body, Answers: []openapi.Answer{r.Does.answer}, Errors: r.errors()}
	for _, found := range pathVariable.FindAllStringSubmatch(r.Path, -1) {
		o.Parameters = append(o.Parameters, pathParameter(found[1]))
	}
	for _, p := range r.Takes {
		o.Parameters = append(o.Parameters, p.Described())
	}
	o.Parameters = append(o.Parameters, r.Does.headers...)
	return o
}

func pathParameter(name string) openapi.Parameter {
	p := openapi.Parameter{Name: name, In: "path", Required: true, About: pathVariables[name].about,
		Schema: openapi.Schema{"type": "string"}}
	p.Example = pathVariables[name].example
	return p
}

// errors returns the statuses of all errors of the route, in ascending order: those of its description, and those that
// follow from its method, path, scope, parameters and body.
func (r Route) errors() []int {
	list := append([]int{http.StatusForbidden, http.StatusInternalServerError}, r.Does.errors...)
	if r.Answer != nil && !r.AnyQuery || len(r.Takes) > 0 || r.Scope != ScopePublic {
		list = append(list, http.StatusBadRequest)
	}
	if r.Scope != ScopePublic {
		list = append(list, http.StatusUnauthorized, http.StatusServiceUnavailable)
		if r.Method != http.MethodGet {
			list = append(list, http.StatusConflict)
		}
	}
	if pathVariable.MatchString(r.Path) {
		list = append(list, http.StatusNotFound)
	}
	if r.Method != http.MethodGet {
		list = append(list, http.StatusRequestEntityTooLarge) // also where the handler does not read the body
	}
	if r.Does.body != nil {
		list = append(list, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity)
	}
	slices.SortFunc(list, cmp.Compare[int])
	return slices.Compact(list)
}

// JSON is the media type of JSON bodies and answers.
const JSON = "application/json"

// JSONBody returns a JSON body with a schema of the API's description, referred to by its name.
func JSONBody(schema string, example any) openapi.Content {
	return openapi.Content{Media: JSON, Schema: openapi.Ref(schema), Example: example}
}

// BodyOf returns a JSON body of the value's type.
func BodyOf(value any) openapi.Content { return openapi.Content{Media: JSON, Type: value} }

// NameBody is a body that contains only a job's name.
var NameBody = []openapi.Content{
	{Media: "text/plain", Schema: openapi.Schema{"type": "string"}, Example: "my_job"},
	{Media: JSON, Schema: openapi.Schema{"type": "string"}, Example: "my_job"},
}

// Answer returns the answer to a successful request.
func (d *Description) Answer() openapi.Answer { return d.answer }
