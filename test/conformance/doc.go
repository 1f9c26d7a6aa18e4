// Package conformance holds what this repository publishes against the rules of others, as their own libraries have
// them: docker-compose.yml against Compose, the pods of shards against Kubernetes' pod security standards, and the
// API's description against OpenAPI and JSON Schema.
//
// The package is a module of its own. Nothing else needs these libraries, and so whoever imports a package of the
// product's module requires none of them.
package conformance
