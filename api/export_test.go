package api

// RouteNames are all rows of the route table as "METHOD /path".
func RouteNames() []string {
	var names []string
	for _, r := range (&Server{}).routes() {
		names = append(names, r.method+" "+r.path)
	}
	return names
}

// ReservedAppNames are the names that no app may have: routes of the API have
// them in the place of an app's name [D05].
func ReservedAppNames() []string { return reservedNames((&Server{}).routes(), "appName") }

// ReservedJobNames are the names that no job may have, for the same reason [D05].
func ReservedJobNames() []string { return reservedNames((&Server{}).routes(), "jobName") }
