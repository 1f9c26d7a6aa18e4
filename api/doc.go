// Package api is the scheduler's REST interface. It and its parts turn HTTP requests into calls of the scheduler, and
// results into JSON.
//
// These are the steps of a request and the packages that do them:
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
// A new route takes one entry in the Routes of its resource, and one function.
//
// The package that owns a document (app, jobs) parses it. The API then checks its rules before anything is changed;
// the reserved names among these rules are computed from the route table [D05]. A change of a stored document is a
// function that the scheduler calls with the newest version.
//
// Every error has the form
//
//	{"error":{"code":"…","message":"…","fields":[{"field":"…","value":"…","message":"…"}]}}
//
// The status says what the client should do: 400 the request cannot be read; 422 it can be read, and its fields break
// rules, all of which are listed; 404, 405, 409, 410, 413 and 415 as HTTP defines them; 401 the caller is not
// authenticated; 403 the caller may not do this; 429 the same was requested a moment ago, or too many logins have
// failed; 500 a fault of this server, with an id that is also in its log; 503 temporarily unavailable. A 503 with the
// code outcome_unknown means that the change may have been made (rule T3).
//
// One of several servers leads. The others forward requests to it. They send each write only once: if the leader does
// not answer, it may have carried out the write, and the answer to the client says so. If the leader changes meanwhile,
// a follower stops waiting for the former leader. Every server answers the routes marked as Local itself.
//
// Access (package auth) says what each caller may do, and the route table says what each route needs: a role, for all
// apps or for some. A route without a rule admits no caller. While there are no users, requests to a loopback address
// have an admin's rights, unless they come from a browser on behalf of another web page; on other addresses only open
// routes work. A grant for some apps becomes a Scope of the scheduler, in which the other apps do not exist.
package api
