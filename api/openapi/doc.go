// Package openapi builds an OpenAPI 3.1 document of a REST API. The caller describes the operations, with values of
// the Go types that requests and answers have:
//
//	operations ──New──▶ Document ── JSON ──▶ GET /api/openapi.json
//	types      ──reflection──▶ schemas (schema.go)
//	           ──a value with every field filled──▶ examples (example.go)
//
// It reads nothing from comments and depends on no type of this repository.
package openapi
