// Package api is the scheduler's REST interface. It and its parts are the only packages that know HTTP servers: they
// turn requests into calls of the scheduler, and what comes back into JSON.
//
// The way of a request, and the package that does each step:
//
//	observe   headers of every answer, log, metrics                     observe.go metrics
//	prove     what a follower says of a request that it forwards        admission
//	admit     who asks, from where, and whether the route is for them   admission route
//	route     the table of all routes, which each resource has its      routes.go route
//	          part of
//	forward   to the leader, where this server isn't it                 forward
//	read      query, name in the path, document in the body             request
//	scope     of the scheduler, what is of the caller's apps            caller
//	call      the scheduler, or agents for the output of tasks          apps jobs runs logs history access cluster
//	answer    JSON, or the one form that all errors have                answer failure
//
// A new route is one entry in the Routes of its resource, and one function.
//
// A document is read by the package that owns it (app, jobs), and its rules are
// checked here, before anything is changed; the reserved names among these
// rules are computed from the route table [D05]. A change of a stored document
// is a function that the scheduler calls with the newest version.
//
// Every error has the form
//
//	{"error":{"code":"…","message":"…","fields":[{"field":"…","value":"…","message":"…"}]}}
//
// and a status that says whose turn it is: 400 the request cannot be read, 422 it can, and its fields break rules (all
// of them are listed), 404, 405, 409, 410, 413, 415 as HTTP means them, 401 nobody knows who asks, 403 they may not,
// 429 the same was asked a moment ago, or too many logins have failed, 500 a fault of this server with an id that is
// in the log, 503 not now. A 503 with the code outcome_unknown means that the change may have been done (rule T3).
//
// Of several servers one leads. The others forward requests to it, each change once: a change that was
// sent and not answered may have been done, and the answer says so. When the lead changes meanwhile, a
// follower stops waiting for the former leader. Routes that the table marks as local are
// answered by every server itself.
//
// Who may do what Access says (package auth), and the table says what each route needs: a role, for all apps or for
// some. A route without a rule lets nobody in. As long as there are no users, requests to a loopback address are an
// admin's, if no web page sends them through a browser; other addresses have open routes only. A grant for some apps
// is a Scope of the scheduler, in which there are no others.
package api
