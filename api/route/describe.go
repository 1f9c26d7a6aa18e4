package route

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"

	"github.com/elasticjob-go/elasticjob/api/openapi"
)

// Description is what the API's description says of a route, beside its rule and its parameters.
type Description struct {
	summary string
	headers []openapi.Parameter
	body    *openapi.Body
	answer  openapi.Answer
	// errors are statuses that the route's row does not imply.
	errors []int
}

// Does begins the description of a route with what it does, in a few words.
func Does(summary string) Description { return Description{summary: summary} }

// With is a header of requests.
func (d Description) With(header openapi.Parameter) Description {
	d.headers = append(d.headers, header)
	return d
}

// Reads is the body that it needs.
func (d Description) Reads(content ...openapi.Content) Description {
	d.body = &openapi.Body{Content: content}
	return d
}

// MayRead is a body that may be left out.
func (d Description) MayRead(content ...openapi.Content) Description {
	d.body = &openapi.Body{Content: content, Optional: true}
	return d
}

// Gives is a value of the type that it answers with as JSON.
func (d Description) Gives(value any, headers ...openapi.Header) Description {
	d.answer = openapi.Answer{Status: http.StatusOK, About: "Success.", Headers: headers,
		Content: []openapi.Content{{Media: JSON, Type: value}}}
	return d
}

// GivesSchema is for answers that are schemas themselves.
func (d Description) GivesSchema() Description {
	d.answer = openapi.Answer{Status: http.StatusOK, About: "The schema.",
		Content: []openapi.Content{{Media: JSON,
			Schema: openapi.Schema{"type": "object", "description": "A JSON Schema (2020-12)."}}}}
	return d
}

// Streams is for answers that are no JSON.
func (d Description) Streams(media, about string, example any, headers ...openapi.Header) Description {
	d.answer = openapi.Answer{Status: http.StatusOK, About: about, Headers: headers,
		Content: []openapi.Content{{Media: media, Schema: openapi.Schema{"type": "string"}, Example: example}}}
	return d
}

// OrGives is another media type of the same answer.
func (d Description) OrGives(media string) Description {
	d.answer.Content = append(d.answer.Content,
		openapi.Content{Media: media, Schema: openapi.Schema{"type": "string"}})
	return d
}

// Redirects is for answers that send a browser elsewhere.
func (d Description) Redirects(status int) Description {
	d.answer = openapi.Answer{Status: status, About: "Go there.",
		Headers: []openapi.Header{{Name: "Location", About: "Where to go.", Always: true,
			Schema: openapi.Schema{"type": "string"}}, CookieHeader}}
	return d
}

// Fails are statuses of errors that its row does not imply.
func (d Description) Fails(statuses ...int) Description {
	d.errors = statuses
	return d
}

var pathVariable = regexp.MustCompile(`\{(\w+)\}`)

// Operation is the route as its row has it.
func (r Route) Operation() openapi.Operation {
	o := openapi.Operation{Method: r.Method, Path: r.Path, Tag: r.tag, Summary: r.Does.summary, Who: r.Rule.String(),
		Open: r.Scope == Open,
		Body: r.Does.body, Answers: []openapi.Answer{r.Does.answer}, Errors: r.errors()}
	for _, found := range pathVariable.FindAllStringSubmatch(r.Path, -1) {
		o.Parameters = append(o.Parameters, pathParameter(found[1]))
	}
	for _, one := range r.Takes {
		o.Parameters = append(o.Parameters, one.Described())
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

// errors are the statuses of errors: those that its row implies, and its own.
func (r Route) errors() []int {
	list := append([]int{http.StatusForbidden, http.StatusInternalServerError}, r.Does.errors...)
	if r.Answer != nil && !r.AnyQuery || len(r.Takes) > 0 || r.Scope != Open {
		list = append(list, http.StatusBadRequest)
	}
	if r.Scope != Open {
		list = append(list, http.StatusUnauthorized, http.StatusServiceUnavailable)
		if r.Method != http.MethodGet {
			list = append(list, http.StatusConflict)
		}
	}
	if pathVariable.MatchString(r.Path) {
		list = append(list, http.StatusNotFound)
	}
	if r.Method != http.MethodGet {
		list = append(list, http.StatusRequestEntityTooLarge) // whether the body is read or not
	}
	if r.Does.body != nil {
		list = append(list, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity)
	}
	slices.SortFunc(list, cmp.Compare[int])
	return slices.Compact(list)
}

const JSON = "application/json"

// JSONBody is a body whose schema is among documentSchemas.
func JSONBody(schema string, example any) openapi.Content {
	return openapi.Content{Media: JSON, Schema: openapi.Ref(schema), Example: example}
}

// BodyOf is a body of a value's type.
func BodyOf(value any) openapi.Content { return openapi.Content{Media: JSON, Type: value} }

// NameBody is a name that is a body of its own.
var NameBody = []openapi.Content{
	{Media: "text/plain", Schema: openapi.Schema{"type": "string"}, Example: "my_job"},
	{Media: JSON, Schema: openapi.Schema{"type": "string"}, Example: "my_job"},
}

// Answer is the answer.
func (d *Description) Answer() openapi.Answer { return d.answer }
