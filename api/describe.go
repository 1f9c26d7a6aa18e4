package api

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

func does(summary string) description { return description{summary: summary} }

// with is a header of requests.
func (d description) with(header openapi.Parameter) description {
	d.headers = append(d.headers, header)
	return d
}

// reads is the body that it needs, mayRead one that may be left out.
func (d description) reads(content ...openapi.Content) description {
	d.body = &openapi.Body{Content: content}
	return d
}

func (d description) mayRead(content ...openapi.Content) description {
	d.body = &openapi.Body{Content: content, Optional: true}
	return d
}

// gives is a value of the type that it answers with as JSON.
func (d description) gives(value any, headers ...openapi.Header) description {
	d.answer = openapi.Answer{Status: http.StatusOK, About: "Success.", Headers: headers,
		Content: []openapi.Content{{Media: jsonMedia, Type: value}}}
	return d
}

// givesSchema is for answers that are schemas themselves.
func (d description) givesSchema() description {
	d.answer = openapi.Answer{Status: http.StatusOK, About: "The schema.",
		Content: []openapi.Content{{Media: jsonMedia,
			Schema: openapi.Schema{"type": "object", "description": "A JSON Schema (2020-12)."}}}}
	return d
}

// streams is for answers that are no JSON.
func (d description) streams(media, about string, example any, headers ...openapi.Header) description {
	d.answer = openapi.Answer{Status: http.StatusOK, About: about, Headers: headers,
		Content: []openapi.Content{{Media: media, Schema: openapi.Schema{"type": "string"}, Example: example}}}
	return d
}

// orGives is another media type of the same answer.
func (d description) orGives(media string) description {
	d.answer.Content = append(d.answer.Content,
		openapi.Content{Media: media, Schema: openapi.Schema{"type": "string"}})
	return d
}

// redirects is for answers that send a browser elsewhere.
func (d description) redirects(status int) description {
	d.answer = openapi.Answer{Status: status, About: "Go there.",
		Headers: []openapi.Header{{Name: "Location", About: "Where to go.", Always: true,
			Schema: openapi.Schema{"type": "string"}}, cookieHeader}}
	return d
}

// fails are statuses of errors that its row does not imply.
func (d description) fails(statuses ...int) description {
	d.errors = statuses
	return d
}

var pathVariable = regexp.MustCompile(`\{(\w+)\}`)

// operation is the route as its row has it.
func (r route) operation() openapi.Operation {
	o := openapi.Operation{Method: r.method, Path: r.path, Tag: r.tag, Summary: r.does.summary, Who: r.rule.String(),
		Open: r.scope == open,
		Body: r.does.body, Answers: []openapi.Answer{r.does.answer}, Errors: r.errors()}
	for _, found := range pathVariable.FindAllStringSubmatch(r.path, -1) {
		o.Parameters = append(o.Parameters, pathParameter(found[1]))
	}
	for _, one := range r.takes {
		o.Parameters = append(o.Parameters, one.Described())
	}
	o.Parameters = append(o.Parameters, r.does.headers...)
	return o
}

func pathParameter(name string) openapi.Parameter {
	p := openapi.Parameter{Name: name, In: "path", Required: true, About: pathVariables[name].about,
		Schema: openapi.Schema{"type": "string"}}
	p.Example = pathVariables[name].example
	return p
}

// errors are the statuses of errors: those that its row implies, and its own.
func (r route) errors() []int {
	list := append([]int{http.StatusForbidden, http.StatusInternalServerError}, r.does.errors...)
	if r.answer != nil && !r.anyQuery || len(r.takes) > 0 || r.scope != open {
		list = append(list, http.StatusBadRequest)
	}
	if r.scope != open {
		list = append(list, http.StatusUnauthorized, http.StatusServiceUnavailable)
		if r.method != http.MethodGet {
			list = append(list, http.StatusConflict)
		}
	}
	if pathVariable.MatchString(r.path) {
		list = append(list, http.StatusNotFound)
	}
	if r.method != http.MethodGet {
		list = append(list, http.StatusRequestEntityTooLarge) // whether the body is read or not
	}
	if r.does.body != nil {
		list = append(list, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity)
	}
	slices.SortFunc(list, cmp.Compare[int])
	return slices.Compact(list)
}
