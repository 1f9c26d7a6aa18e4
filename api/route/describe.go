package route

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"

	"github.com/elasticjob-go/elasticjob/api/openapi"
)

// description is what the API's description says of a route, beside its rule and its parameters.
type description struct {
	summary string
	headers []openapi.Parameter
	body    *openapi.Body
	answer  openapi.Answer
	// errors are statuses that the route's row does not imply.
	errors []int
}

func Does(summary string) description { return description{summary: summary} }

// with is a header of requests.
func (d description) With(header openapi.Parameter) description {
	d.headers = append(d.headers, header)
	return d
}

// reads is the body that it needs, mayRead one that may be left out.
func (d description) Reads(content ...openapi.Content) description {
	d.body = &openapi.Body{Content: content}
	return d
}

func (d description) MayRead(content ...openapi.Content) description {
	d.body = &openapi.Body{Content: content, Optional: true}
	return d
}

// gives is a value of the type that it answers with as JSON.
func (d description) Gives(value any, headers ...openapi.Header) description {
	d.answer = openapi.Answer{Status: http.StatusOK, About: "Success.", Headers: headers,
		Content: []openapi.Content{{Media: JSON, Type: value}}}
	return d
}

// givesSchema is for answers that are schemas themselves.
func (d description) GivesSchema() description {
	d.answer = openapi.Answer{Status: http.StatusOK, About: "The schema.",
		Content: []openapi.Content{{Media: JSON,
			Schema: openapi.Schema{"type": "object", "description": "A JSON Schema (2020-12)."}}}}
	return d
}

// streams is for answers that are no JSON.
func (d description) Streams(media, about string, example any, headers ...openapi.Header) description {
	d.answer = openapi.Answer{Status: http.StatusOK, About: about, Headers: headers,
		Content: []openapi.Content{{Media: media, Schema: openapi.Schema{"type": "string"}, Example: example}}}
	return d
}

// orGives is another media type of the same answer.
func (d description) OrGives(media string) description {
	d.answer.Content = append(d.answer.Content,
		openapi.Content{Media: media, Schema: openapi.Schema{"type": "string"}})
	return d
}

// redirects is for answers that send a browser elsewhere.
func (d description) Redirects(status int) description {
	d.answer = openapi.Answer{Status: status, About: "Go there.",
		Headers: []openapi.Header{{Name: "Location", About: "Where to go.", Always: true,
			Schema: openapi.Schema{"type": "string"}}, CookieHeader}}
	return d
}

// fails are statuses of errors that its row does not imply.
func (d description) Fails(statuses ...int) description {
	d.errors = statuses
	return d
}

var pathVariable = regexp.MustCompile(`\{(\w+)\}`)

// operation is the route as its row has it.
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

// jsonBody is a body whose schema is among documentSchemas.
func JSONBody(schema string, example any) openapi.Content {
	return openapi.Content{Media: JSON, Schema: openapi.Ref(schema), Example: example}
}

// bodyOf is a body of a value's type.
func BodyOf(value any) openapi.Content { return openapi.Content{Media: JSON, Type: value} }

// nameBody is a name that is a body of its own.
var NameBody = []openapi.Content{
	{Media: "text/plain", Schema: openapi.Schema{"type": "string"}, Example: "my_job"},
	{Media: JSON, Schema: openapi.Schema{"type": "string"}, Example: "my_job"},
}

// Answer is the answer.
func (d *description) Answer() openapi.Answer { return d.answer }
