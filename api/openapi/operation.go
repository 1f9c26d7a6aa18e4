package openapi

// Schema is a JSON Schema (2020-12).
type Schema = map[string]any

// Operation describes one route.
type Operation struct {
	Method, Path string
	// Tag is the name of the operation's group.
	Tag     string
	Summary string
	// Who says who may use the operation. Open is set if the operation requires no authentication.
	Who        string
	Open       bool
	Parameters []Parameter
	// Body is nil for an operation without a body.
	Body *Body
	// Answers are the successful answers; Errors are the statuses of errors.
	Answers []Answer
	Errors  []int
}

// Parameter is a variable of the path, a query parameter or a header.
type Parameter struct {
	Name string `json:"name"`
	// In is path, query or header.
	In       string `json:"in"`
	About    string `json:"description"`
	Required bool   `json:"required,omitempty"`
	Schema   Schema `json:"schema"`
	Example  any    `json:"example,omitempty"`
}

// Body is the body of a request.
type Body struct {
	Optional bool
	Content  []Content
}

// Answer is the answer with one status.
type Answer struct {
	Status  int
	About   string
	Content []Content
	Headers []Header
}

// Content is a body in one media type. Its schema is that of the Go type of the value Type, or Schema if Type is nil.
type Content struct {
	Media   string
	Type    any
	Schema  Schema
	Example any
}

// Header is a header of an answer. Always is set if every such answer has the header.
type Header struct {
	Name   string `json:"-"`
	About  string `json:"description"`
	Always bool   `json:"required,omitempty"`
	Schema Schema `json:"schema"`
}
