// Package openapi describes a REST API: from its operations it makes an OpenAPI 3.1 document. Which operations there
// are, and what they take and give, whoever has the table of routes says, by values of the very types that are sent:
//
//	operations ──New──▶ Document ── JSON ──▶ GET /api/openapi.json
//	types      ──reflection──▶ schemas (schema.go)
//	           ──a value with every field filled──▶ examples (example.go)
//
// Nothing in it is read from comments, and it knows none of this repository's types.
package openapi
