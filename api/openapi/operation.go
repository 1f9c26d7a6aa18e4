package openapi

// Schema is a JSON Schema (2020-12).
type Schema = map[string]any

// Operation is one route.
type Operation struct {
	Method, Path string
	// Tag is the group that people find it in.
	Tag     string
	Summary string
	// Who says who may use it. Open is set where that is everybody.
	Who        string
	Open       bool
	Parameters []Parameter
	// Body is nil for an operation that takes none.
	Body *Body
	// Answers are those that are no errors, Errors the statuses of the others.
	Answers []Answer
	Errors  []int
}

// Parameter is a part of a path, a query or the headers.
type Parameter struct {
	Name string
	// In is path, query or header.
	In       string
	About    string
	Required bool
	Schema   Schema
	Example  any
}

// Body is what is sent with a request.
type Body struct {
	Optional bool
	Content  []Content
}

// Answer is what is answered with one status.
type Answer struct {
	Status  int
	About   string
	Content []Content
	Headers []Header
}

// Content is a body of one media type. Its schema is that of Type's type or, where that is nil, Schema.
type Content struct {
	Media   string
	Type    any
	Schema  Schema
	Example any
}

// Header is one of an answer. Always says that no such answer is without it.
type Header struct {
	Name, About string
	Always      bool
	Schema      Schema
}
