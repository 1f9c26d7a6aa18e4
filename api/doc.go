// Package api is the scheduler's REST interface. Together with the packages below it, it turns HTTP requests into
// calls of the scheduler, and results into JSON.
//
// These are the steps of a request, with the files and packages that do them:
//
//	observe   headers of every answer, log, metrics                     observe.go metrics
//	prove     the signature of a request that a follower forwards       admission
//	admit     the caller, the origin and the rule of the route          admission route
//	route     the table of all routes; each resource adds its routes    routes.go route
//	forward   to the leader, if this server does not lead               forward
//	read      query, name in the path, document in the body             request
//	scope     the part of the state that the caller may see             caller
//	call      the scheduler, or agents for the output of tasks          apps jobs runs logs history access cluster
//	answer    JSON, or the common form of all errors                    answer failure
//
// A new route requires one entry in the Routes of its resource, and one function.
//
// Packages app and jobs parse their documents. Before anything is changed, the API checks the rules of a document. One
// rule is that a name must not be reserved; the reserved names are computed from the route table [D05]. A change of a
// stored document is a function that the scheduler calls with the newest version.
//
// Every error has the form
//
//	{"error":{"code":"…","message":"…","fields":[{"field":"…","value":"…","message":"…"}]}}
//
// The status tells the client what is wrong:
//
//	400  the request cannot be read
//	401  the caller is not authenticated
//	403  the caller may not do this
//	422  the request can be read, but its fields break rules; the answer lists all of them
//	429  too many requests at the same time or in a short time, or too many failed logins
//	500  a fault of this server; the message has an id that is also in the log
//	503  temporarily unavailable. With the code outcome_unknown, the change may have been made (rule T3)
//
// 404, 405, 409, 410, 413 and 415 have the meanings that HTTP defines.
//
// One of several servers leads. The others forward requests to the leader. A follower sends a write only once: if the
// leader does not answer, the leader may have carried out the write, and the follower tells the client so. If the
// leader changes meanwhile, the follower stops waiting for the former leader. Every server answers local routes
// itself.
//
// Package auth knows what each caller may do, and the route table says what each route requires: a role, for all apps
// or for some. A route without a rule admits no caller. While there are no users, requests from this machine over a
// loopback address have an admin's rights, unless a browser sends them on behalf of another web page; over other
// addresses only public routes work. A grant for some apps becomes a Scope of the scheduler, in which the other apps
// do not exist.
package api
