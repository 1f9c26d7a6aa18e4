// Package openapi builds an OpenAPI 3.1 document of a REST API. The caller describes the operations, with values of
// the Go types that requests and answers have:
//
//	operations ──New──▶ Document ── JSON ──▶ GET /api/openapi.json
//	types      ──reflection──▶ schemas (schema.go)
//	           ──a value with every field filled──▶ examples (example.go)
//
// The document contains no text from Go comments. The package depends on no other package of this repository.
package openapi
