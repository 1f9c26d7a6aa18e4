// Package conformance checks what this repository publishes against the rules of others, with their own libraries:
// docker-compose.yml against Compose, the pods of shards against Kubernetes' pod security standards, and the API's
// description against OpenAPI and JSON Schema.
//
// The package is a separate module. Only it needs these libraries, so that importing a package of the product's
// module does not require them.
package conformance
